"""The audit log: one line a decision, for the owner's eyes, and a cut is noticed."""

import asyncio
import json
import logging
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal

import pytest

from bot.agent.audit import AuditEvent
from bot.messages import RunId, SessionKey, utc_now
from memory.store import Store
from security.audit import AuditLog


class MemoryPointer:
    """Counts in memory."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}

    async def lengths(self) -> dict[str, int]:
        return dict(self.counts)

    async def advance(self, file: str, count: int) -> None:
        self.counts[file] = self.counts.get(file, 0) + count


def event(
    action: str = "kill_session", severity: Literal["info", "warning", "critical", "alert"] = "warning"
) -> AuditEvent:
    return AuditEvent(
        severity=severity,
        actor="telegram:42",
        action=action,
        target="web:default:main",
        status="cancelled",
        session=SessionKey("telegram:default:1"),
        run=RunId("r1"),
    )


@pytest.fixture
def directory(home: Path) -> Path:
    return home / "audit"


@pytest.fixture
def audit(directory: Path, store: Store) -> AuditLog:
    return AuditLog(directory, store.audit_pointer)


def only_file(directory: Path) -> Path:
    (file,) = directory.iterdir()
    return file


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def lines(directory: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in only_file(directory).read_text("utf-8").splitlines()]


async def test_a_line_says_who_did_what_to_whom_when_and_how_it_went(
    audit: AuditLog, directory: Path
) -> None:
    await audit.record(event())

    (line,) = lines(directory)
    at = datetime.fromisoformat(str(line.pop("at")))
    assert abs(utc_now() - at) < timedelta(minutes=1)
    assert len(str(line.pop("id"))) == 36
    assert line == {
        "severity": "warning",
        "actor": "telegram:42",
        "action": "kill_session",
        "target": "web:default:main",
        "status": "cancelled",
        "session": "telegram:default:1",
        "run": "r1",
    }
    assert only_file(directory).name == f"{at:%Y-%m}.jsonl"


async def test_a_field_that_is_empty_is_written_too(audit: AuditLog, directory: Path) -> None:
    await audit.record(AuditEvent(severity="info", actor="a", action="b", target="c", status="d"))

    (line,) = lines(directory)
    assert (line["session"], line["run"]) == (None, None)


@pytest.mark.parametrize("severity", ["info", "warning", "critical", "alert"])
async def test_every_severity_is_kept(
    audit: AuditLog, directory: Path, severity: Literal["info", "warning", "critical", "alert"]
) -> None:
    await audit.record(event(severity=severity))

    assert [line["severity"] for line in lines(directory)] == [severity]


async def test_only_the_owner_may_read_the_log(audit: AuditLog, directory: Path) -> None:
    await audit.record(event())

    assert [mode(path) for path in (only_file(directory), directory)] == [0o600, 0o700]


async def test_lines_written_at_once_do_not_mix(audit: AuditLog, directory: Path) -> None:
    await asyncio.gather(*(audit.record(event(str(number))) for number in range(50)))

    assert [line["action"] for line in lines(directory)] == [str(number) for number in range(50)]
    assert await audit.cut_files() == []


async def test_a_text_with_line_breaks_stays_one_line(audit: AuditLog, directory: Path) -> None:
    await audit.record(event("a\nb\u2028c"))

    assert only_file(directory).read_bytes().count(b"\n") == 1


@pytest.mark.parametrize("left", [0, 1, 100])
async def test_a_file_that_was_cut_is_noticed(audit: AuditLog, directory: Path, left: int) -> None:
    await audit.record(event())
    file = only_file(directory)
    with file.open("r+b") as opened:
        opened.truncate(left)

    assert await audit.cut_files() == [file.name]


async def test_a_file_that_is_gone_is_noticed(audit: AuditLog, directory: Path) -> None:
    await audit.record(event())
    file = only_file(directory)
    file.unlink()

    assert await audit.cut_files() == [file.name]


async def test_writing_on_does_not_hide_a_cut(audit: AuditLog, directory: Path) -> None:
    await audit.record(event())
    file = only_file(directory)
    file.write_bytes(b"")
    for _ in range(3):
        await audit.record(event())

    assert await audit.cut_files() == [file.name]


async def test_a_log_that_is_whole_is_not_suspected_after_a_restart(home: Path, directory: Path) -> None:
    for _ in range(2):
        async with Store(home, synchronous="NORMAL") as store:
            audit = AuditLog(directory, store.audit_pointer)
            assert await audit.cut_files() == []
            await audit.record(event())


async def test_a_line_that_cannot_be_written_is_told_and_stops_nobody(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (home / "audit").write_text("a file where the directory should be", "utf-8")
    audit = AuditLog(home / "audit", MemoryPointer())

    await audit.record(event())

    (record,) = caplog.records
    assert (record.levelno, record.getMessage()) == (logging.CRITICAL, "audit line lost")
    assert vars(record)["action"] == "kill_session"


async def test_a_store_that_is_closed_is_told_and_stops_nobody(
    directory: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = Store(tmp_path)

    await AuditLog(directory, store.audit_pointer).record(event())

    assert [record.levelname for record in caplog.records] == ["CRITICAL"]
    assert len(lines(directory)) == 1


@contextmanager
def no_file_longer_than(size: int) -> Iterator[None]:
    """Let the system refuse to write beyond a size, as it does when the disk is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def test_a_line_that_fits_only_in_part_spoils_no_other(
    directory: Path, caplog: pytest.LogCaptureFixture
) -> None:
    audit = AuditLog(directory, MemoryPointer())
    await audit.record(event("first"))
    with no_file_longer_than(only_file(directory).stat().st_size + 20):
        await audit.record(event("lost"))
    await audit.record(event("last"))

    assert [line["action"] for line in lines(directory)] == ["first", "last"]
    assert [record.getMessage() for record in caplog.records] == ["audit line lost"]
    assert await audit.cut_files() == []
