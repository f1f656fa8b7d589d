"""`python -m bot audit`: what an operator sees of the log, and what a script can rely on."""

import asyncio
import csv
import json
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.agent.audit import AuditEntry, AuditEvent, Damaged, Severity
from bot.agent.audit_query import Query
from bot.errors import ConfigError
from bot.messages import SessionKey
from bot.operations.audit import (
    audit_export,
    audit_search,
    audit_tail,
    audit_verify,
    make_query,
    read_time,
)
from security.audit import AuditBook, AuditLog, Rotation
from tests.security.test_audit import MemoryPointer

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
Out = pytest.CaptureFixture[str]


def event(action: str, severity: Severity = "info", **changes: str) -> AuditEvent:
    return AuditEvent(
        severity=severity,
        actor=changes.get("actor", "telegram:42"),
        action=action,
        target=changes.get("target", "c1"),
        status="ok",
        session=SessionKey(changes.get("session", "telegram:default:1")),
        context=(("command", changes.get("command", "ls")),),
    )


class Library:
    """A log with an event an hour, and the book that reads it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.pointer = MemoryPointer()
        self.now = NOON
        self.log = AuditLog(directory, self.pointer, clock=lambda: self.now, rotation=Rotation(max_bytes=900))
        self.book = AuditBook(directory, lengths=lambda: self.pointer.counts)

    async def write(self, *events: AuditEvent) -> None:
        for one in events:
            await self.log.record(one)
            self.now += timedelta(hours=1)


@pytest.fixture
async def library(home: Path) -> AsyncIterator[Library]:
    """With five events of several files."""
    made = Library(home / "audit")
    await made.write(
        event("tool attempt exec", command="rm -rf Build"),
        event("kill_session", "warning", actor="web:ann"),
        event("login", "alert", actor="web:eve", session="web:default:main"),
        event("access", "warning", target="a\x1b[31m\nb"),
        event("tool attempt write", "critical"),
    )
    yield made
    await made.log.aclose()


def actions(out: str) -> list[str]:
    found = [json.loads(line) for line in out.splitlines()]
    return [line["action"] for line in found if line["actor"] != "audit"]


async def test_a_whole_log_is_verified_with_exit_code_0(library: Library, capsys: Out) -> None:
    assert audit_verify(library.book) == 0
    assert capsys.readouterr().out.startswith("The audit log is whole: ")


async def test_a_changed_log_is_told_with_its_first_bad_line_and_exit_code_1(
    library: Library, capsys: Out
) -> None:
    path = next(path for path in library.directory.glob("*.jsonl") if b"web:eve" in path.read_bytes())
    path.write_bytes(path.read_bytes().replace(b"web:eve", b"web:bob"))

    assert audit_verify(library.book) == 1
    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith(f"fault  {path.name}, line ")
    assert "NOT whole" in out[-1]


async def test_the_last_events_are_shown_newest_last(library: Library, capsys: Out) -> None:
    assert audit_tail(library.book, 2, is_json=True) == 0
    assert actions(capsys.readouterr().out)[-1] == "tool attempt write"
    audit_tail(AuditBook(library.directory, lengths=dict), 1)
    (second,) = capsys.readouterr().out.splitlines()
    assert "2026-11-21 16:00:00 critical telegram:42  tool attempt write  c1  ok" in second
    assert "session=telegram:default:1" in second
    assert "command=ls" in second


async def test_nothing_that_a_terminal_would_obey_is_shown(library: Library, capsys: Out) -> None:
    audit_tail(library.book, 100)

    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "a\\u001b[31m\\nb" in out


async def test_following_shows_what_another_process_writes(library: Library, capsys: Out) -> None:
    stop, seen = threading.Event(), threading.Event()

    class Watched(AuditBook):
        """Tells when it was read for the second time, and ends when it has seen the new line."""

        def read_new(self) -> Iterator[AuditEntry | Damaged]:
            for item in super().read_new():
                if isinstance(item, AuditEntry) and item.action == "new":
                    stop.set()
                yield item
            seen.set()

    book = Watched(library.directory, lengths=dict)
    following = asyncio.create_task(asyncio.to_thread(audit_tail, book, 1, stop=stop, is_json=True))
    async with asyncio.timeout(10):
        await asyncio.to_thread(seen.wait, 10)
        await library.write(event("new"))
        assert await following == 0

    assert actions(capsys.readouterr().out) == ["tool attempt write", "new"]


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        (make_query(actor="web:*"), ["kill_session", "login"]),
        (make_query(action="tool attempt *"), ["tool attempt exec", "tool attempt write"]),
        (make_query(severity="critical"), ["login", "tool attempt write"]),
        (make_query(session="web:default:main"), ["login"]),
        (make_query(text="RF BUILD"), ["tool attempt exec"]),
        (make_query(since="2026-11-21T14:00"), ["login", "access", "tool attempt write"]),
        (make_query(until="2026-11-21T15:00+02:00"), ["tool attempt exec"]),
        (make_query(since="2026-11-21T13:00", until="2026-11-21T14:00Z"), ["kill_session"]),
        (make_query(actor="telegram:42", severity="warning", text="c1"), ["tool attempt write"]),
    ],
    ids=str,
)
async def test_search_finds_by(library: Library, capsys: Out, query: Query, wanted: list[str]) -> None:
    code = audit_search(library.book, query, 100, is_json=True)

    assert actions(capsys.readouterr().out) == wanted
    assert code == 0


async def test_a_search_that_finds_nothing_says_so_with_exit_code_1(library: Library, capsys: Out) -> None:
    assert audit_search(library.book, make_query(actor="nobody"), 10) == 1
    assert capsys.readouterr().out == "No event in the audit log matches.\n"


async def test_a_search_shows_the_last_ones_and_how_many_there_are(library: Library, capsys: Out) -> None:
    audit_search(library.book, make_query(actor="telegram:*"), 1)

    out = capsys.readouterr().out.splitlines()
    assert "tool attempt write" in out[0]
    assert out[1] == "These are the last 1 of 3: --limit shows more."


async def test_an_export_is_for_its_owner_alone_and_never_overwrites(
    library: Library, tmp_path: Path, capsys: Out
) -> None:
    file = tmp_path / "out.jsonl"

    assert audit_export(library.book, file, "jsonl", make_query(severity="warning")) == 0
    assert actions(file.read_text()) == ["kill_session", "login", "access", "tool attempt write"]
    assert file.stat().st_mode & 0o777 == 0o600
    with pytest.raises(ConfigError, match="is there already"):
        audit_export(library.book, file, "jsonl", Query())
    with pytest.raises(ConfigError, match="there are jsonl and csv"):
        audit_export(library.book, tmp_path / "new", "xml", Query())
    assert not (tmp_path / "new").exists()


async def test_a_table_has_a_row_an_event_and_no_formula(library: Library, tmp_path: Path) -> None:
    await library.write(event("formula", target='=cmd|"x"', actor="@sum"))
    file = tmp_path / "out.csv"
    audit_export(library.book, file, "csv", Query(severity=None, actor="*"))

    with file.open(encoding="utf-8", newline="") as opened:
        rows = list(csv.DictReader(opened))
    (row,) = (row for row in rows if row["action"] == "formula")
    assert (row["target"], row["actor"]) == ('\'=cmd|"x"', "'@sum")
    assert json.loads(row["context"]) == {"command": "ls"}
    assert [row["number"] for row in rows] == [str(number) for number in range(1, len(rows) + 1)]


async def test_a_line_that_cannot_be_read_is_passed_over_and_told(library: Library, capsys: Out) -> None:
    path = min(library.directory.glob("*.jsonl"))
    path.write_bytes(b"\xff{\n" + path.read_bytes())

    audit_tail(library.book, 100)
    assert f"(line 1 of {path.name} can't be read" in capsys.readouterr().out
    assert audit_search(AuditBook(library.directory, lengths=dict), Query(), 100, is_json=True) == 0
    assert len(actions(capsys.readouterr().out)) == 5


async def test_files_from_before_the_chain_are_read_too(library: Library, capsys: Out) -> None:
    old = {"id": "x", "at": "2026-01-01T00:00:00Z", "severity": "info", "target": "t", "status": "s"}
    line = json.dumps({**old, "actor": "a", "action": "ancient", "session": None, "run": None})
    (library.directory / "2026-01.jsonl").write_text(line + "\n")

    audit_search(library.book, make_query(action="ancient"), 10, is_json=True)
    assert actions(capsys.readouterr().out) == ["ancient"]
    assert audit_verify(library.book) == 0


def test_a_log_that_has_not_begun_is_empty(tmp_path: Path, capsys: Out) -> None:
    book = AuditBook(tmp_path / "audit", lengths=dict)

    assert (audit_tail(book, 10), audit_verify(book)) == (0, 0)
    assert capsys.readouterr().out == "The audit log is whole: 0 lines in 0 files.\n"


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2026-11-21", datetime(2026, 11, 21, tzinfo=UTC)),
        ("2026-11-21T10:30", datetime(2026, 11, 21, 10, 30, tzinfo=UTC)),
        ("2026-11-21T10:30+02:00", datetime(2026, 11, 21, 8, 30, tzinfo=UTC)),
        ("90m", NOON - timedelta(minutes=90)),
        ("7d", NOON - timedelta(days=7)),
    ],
)
def test_times_are_read_as_people_write_them(text: str, time: datetime) -> None:
    assert read_time(text, NOON) == time


@given(text=st.text() | st.from_regex(r"\d{1,7}[smhdwy]", fullmatch=True))
def test_what_is_no_time_is_refused_in_plain_words(text: str) -> None:
    with suppress(ConfigError):
        assert read_time(text, NOON).tzinfo is not None


def test_a_severity_that_is_none_is_refused_with_those_there_are() -> None:
    with pytest.raises(ConfigError, match="there are info, warning, critical, alert"):
        make_query(severity="fatal")
