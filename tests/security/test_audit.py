"""The audit log: one line a decision, for the owner's eyes, and a cut is noticed."""

import asyncio
import json
import logging
import resource
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal

import msgspec
import pytest

from bot.agent.audit import AuditEvent
from bot.messages import RunId, SessionKey, utc_now
from memory.store import Store
from security.audit import AuditLog, check_log


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
        context=(("waiting", 3),),
    )


@pytest.fixture
def directory(home: Path) -> Path:
    return home / "audit"


@pytest.fixture
async def audit(directory: Path, store: Store) -> AsyncIterator[AuditLog]:
    log = AuditLog(directory, store.audit_pointer)
    yield log
    await log.aclose()


def only_file(directory: Path) -> Path:
    (file,) = directory.iterdir()
    return file


def names_in(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


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
    assert [len(str(line.pop(name))) for name in ("hash", "seal")] == [64, 32]
    assert line == {
        "number": 1,
        "severity": "warning",
        "actor": "telegram:42",
        "action": "kill_session",
        "target": "web:default:main",
        "status": "cancelled",
        "session": "telegram:default:1",
        "run": "r1",
        "context": {"waiting": 3},
    }
    assert only_file(directory).name == f"00001-{at:%Y-%m-%d}.jsonl"


async def test_a_field_that_is_empty_is_written_too(audit: AuditLog, directory: Path) -> None:
    await audit.record(AuditEvent(severity="info", actor="a", action="b", target="c", status="d"))

    (line,) = lines(directory)
    assert (line["session"], line["run"], line["context"]) == (None, None, {})


@pytest.mark.parametrize("severity", ["info", "warning", "critical", "alert"])
async def test_every_severity_is_kept(
    audit: AuditLog, directory: Path, severity: Literal["info", "warning", "critical", "alert"]
) -> None:
    await audit.record(event(severity=severity))

    assert [line["severity"] for line in lines(directory)] == [severity]


async def test_only_the_owner_may_read_the_log(audit: AuditLog, directory: Path) -> None:
    await audit.record(event())

    key = directory.with_name("audit.key")
    assert [mode(path) for path in (only_file(directory), directory, key)] == [0o600, 0o700, 0o600]


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
    told: list[str] = []
    audit = AuditLog(home / "audit", MemoryPointer(), on_failure=told.append)

    await audit.record(event())
    await audit.aclose()

    assert not audit.is_writable
    assert len(told) == 1
    (record,) = caplog.records
    assert (record.levelno, record.getMessage()) == (logging.CRITICAL, "audit line lost")
    assert vars(record)["action"] == "kill_session"


async def test_a_store_that_is_closed_is_told_and_stops_nobody(
    directory: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = Store(tmp_path)

    log = AuditLog(directory, store.audit_pointer)
    await log.record(event())
    await log.aclose()

    assert {record.levelname for record in caplog.records} == {"CRITICAL"}
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


async def test_a_line_that_fits_only_in_part_spoils_no_other_and_its_loss_is_on_record(
    directory: Path, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[str] = []
    pointer = MemoryPointer()
    audit = AuditLog(directory, pointer, on_failure=told.append)
    await audit.record(event("first"))
    with no_file_longer_than(only_file(directory).stat().st_size + 20):
        await audit.record(event("gone"))
        await audit.record(event("gone, too"))
    assert not audit.is_writable
    await audit.record(event("last"))
    await audit.aclose()

    assert audit.is_writable
    assert len(told) == 1
    assert [line["action"] for line in lines(directory)] == ["first", "lines lost", "last"]
    assert lines(directory)[1]["context"] == {"count": 2}
    assert [record.getMessage() for record in caplog.records] == [
        *["audit line lost"] * 2,
        "audit log is written again",
    ]
    assert check_log(directory, pointer.counts).faults == ()


async def test_content_is_redacted_before_it_is_written_and_ids_are_kept(directory: Path) -> None:
    audit = AuditLog(directory, MemoryPointer(), redact=lambda text: text.replace("secret", "[hidden]"))
    key = SessionKey("web:default:secret")
    told = AuditEvent(
        severity="info",
        actor="web:secret",
        action="tool exec",
        target="the secret",
        status="a secret",
        session=key,
        context=(("command", "echo secret"),),
    )
    await audit.record(told)
    await audit.record(msgspec.structs.replace(told, target=key))
    await audit.aclose()

    first, second = lines(directory)
    assert (first["target"], first["status"]) == ("the [hidden]", "a [hidden]")
    assert first["context"] == {"command": "echo [hidden]"}
    assert (first["actor"], first["session"], second["target"]) == ("web:secret", key, key)


async def test_redacting_is_the_work_of_the_thread_that_writes(directory: Path) -> None:
    threads: set[int] = set()

    def redact(text: str) -> str:
        threads.add(threading.get_ident())
        return text

    log = AuditLog(directory, MemoryPointer(), redact=redact)
    log.note(event())
    await log.record(event())
    await log.aclose()

    assert threads
    assert threading.get_ident() not in threads


async def test_what_is_noted_is_written_before_what_is_recorded_after_it(directory: Path) -> None:
    log = AuditLog(directory, MemoryPointer())
    log.note(event("noted"))
    await log.record(event("recorded"))
    await log.aclose()

    assert [line["action"] for line in lines(directory)] == ["noted", "recorded"]


async def test_what_is_noted_is_written_though_nobody_asks_for_it(directory: Path) -> None:
    taken, loop = asyncio.Event(), asyncio.get_running_loop()

    def redact(text: str) -> str:
        loop.call_soon_threadsafe(taken.set)
        return text

    log = AuditLog(directory, MemoryPointer(), redact=redact)
    await log.open()
    log.note(event())

    async with asyncio.timeout(10):
        await taken.wait()
    await log.aclose()


async def test_an_event_has_the_time_at_which_it_was_handed_in(directory: Path) -> None:
    times = iter([utc_now() - timedelta(seconds=2), utc_now() - timedelta(seconds=1)])
    log = AuditLog(directory, MemoryPointer(), clock=lambda: next(times))
    first, second = event("first"), event("second")
    log.note(first)
    log.note(second)
    await log.aclose()

    one, two = (datetime.fromisoformat(str(line["at"])) for line in lines(directory))
    assert timedelta(seconds=0.5) < two - one < timedelta(seconds=1.5)


async def test_an_event_that_cannot_be_redacted_is_kept_without_its_texts(
    directory: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(text: str) -> str:
        raise ValueError(text[:0])

    audit = AuditLog(directory, MemoryPointer(), redact=broken)
    await audit.record(event())
    await audit.aclose()

    (line,) = lines(directory)
    assert "web:default:main" not in json.dumps(line)
    assert line["action"] == "kill_session"
    assert [record.levelname for record in caplog.records] == ["ERROR"]


async def test_long_and_odd_texts_are_cut_and_written(directory: Path) -> None:
    audit = AuditLog(directory, MemoryPointer())
    long = AuditEvent(
        severity="info",
        actor="x" * 10_000,
        action="a",
        target="\ud800",
        status="",
        context=tuple((f"name{number}", "y" * 1_000_000) for number in range(30)),
    )
    await audit.record(long)
    await audit.aclose()

    assert only_file(directory).stat().st_size < 50_000
    assert lines(directory)[0]["target"] == "?"


async def test_what_is_noted_is_written_in_order_and_nothing_is_lost_at_the_end(directory: Path) -> None:
    pointer = MemoryPointer()
    audit = AuditLog(directory, pointer)
    for number in range(0, 1_000, 2):
        audit.note(event(str(number)))
        audit.note(event(str(number + 1)))
    await audit.aclose()

    assert [line["action"] for line in lines(directory)] == [str(number) for number in range(1_000)]
    assert pointer.counts == {only_file(directory).name: only_file(directory).stat().st_size}


async def test_a_full_queue_refuses_what_is_noted_and_says_how_much(
    directory: Path, caplog: pytest.LogCaptureFixture
) -> None:
    audit = AuditLog(directory, MemoryPointer(), max_waiting=10)
    for number in range(15):
        audit.note(event(str(number)))
    assert not audit.is_writable
    await audit.aclose()

    assert [line["action"] for line in lines(directory)] == ["lines lost", *map(str, range(10))]
    assert lines(directory)[0]["context"] == {"count": 5}
    assert [record.levelname for record in caplog.records] == [*["CRITICAL"] * 5, "WARNING"]


async def test_callers_wait_where_the_queue_is_full(directory: Path) -> None:
    audit = AuditLog(directory, MemoryPointer(), max_waiting=2)
    await asyncio.gather(*(audit.record(event(str(number))) for number in range(40)))
    await audit.aclose()

    assert sorted(str(line["action"]) for line in lines(directory)) == sorted(map(str, range(40)))


async def test_a_caller_that_is_cancelled_leaves_its_line_and_the_chain_whole(directory: Path) -> None:
    pointer = MemoryPointer()
    audit = AuditLog(directory, pointer)
    await audit.record(event("first"))
    tasks = [asyncio.create_task(audit.record(event(str(number)))) for number in range(20)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    for task in tasks[::2]:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await audit.aclose()

    written = [line["action"] for line in lines(directory)]
    assert {str(number) for number in range(1, 20, 2)} < set(written)
    assert check_log(directory, pointer.counts).faults == ()


async def test_a_closed_log_takes_nothing_and_says_so(
    directory: Path, caplog: pytest.LogCaptureFixture
) -> None:
    audit = AuditLog(directory, MemoryPointer())
    await audit.aclose()

    assert not await audit.keep(event())
    assert [record.levelname for record in caplog.records] == ["CRITICAL"]


async def test_records_from_everywhere_at_once_make_one_chain(directory: Path) -> None:
    pointer = MemoryPointer()
    audit = AuditLog(directory, pointer)

    async def one(number: int) -> None:
        audit.note(event(f"note {number}"))
        await audit.record(event(f"record {number}"))

    await asyncio.gather(*(one(number) for number in range(300)))
    await audit.aclose()

    findings = check_log(directory, pointer.counts)
    assert (findings.lines, findings.faults, findings.notes) == (600, (), ())
    assert [line["number"] for line in lines(directory)] == list(range(1, 601))
