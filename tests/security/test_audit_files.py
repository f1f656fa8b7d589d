"""The files of the audit log over days, restarts and crashes: none is lost, and none is continued blindly."""

import asyncio
import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from security.audit import AuditLog, Rotation, check_log
from tests.security.test_audit import MemoryPointer, event, lines, names_in, only_file

ROOT = Path(__file__).parent.parent.parent
CHILD = """
import asyncio, sys
from pathlib import Path
from security.audit import AuditLog
from tests.security.test_audit import MemoryPointer, event

async def main():
    audit = AuditLog(Path(sys.argv[1]), MemoryPointer())
    async def one(number):
        if await audit.keep(event(str(number))):
            print(number, flush=True)
    for start in range(0, 1_000_000, 10):
        await asyncio.gather(*(one(number) for number in range(start, start + 10)))

asyncio.run(main())
"""


@pytest.fixture
def directory(home: Path) -> Path:
    return home / "audit"


class Days:
    """A clock that the test turns."""

    def __init__(self) -> None:
        self.now = datetime(2026, 11, 21, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


async def test_a_day_that_is_over_is_closed_by_a_checkpoint(directory: Path) -> None:
    clock = Days()
    audit = AuditLog(directory, MemoryPointer(), clock=clock)
    await audit.record(event("one"))
    await audit.record(event("two"))
    clock.now += timedelta(days=1)
    await audit.record(event("three"))
    await audit.record(event("four"))
    await audit.aclose()

    one, two, checkpoint, *rest = lines(directory)
    assert (checkpoint["action"], checkpoint["target"]) == ("checkpoint", "2026-11-21")
    assert checkpoint["context"] == {"lines": 2, "hash": two["hash"]}
    assert [line["action"] for line in (one, *rest)] == ["one", "three", "four"]


async def test_a_new_file_begins_by_size_and_by_days_and_old_ones_go_with_a_line_that_says_so(
    directory: Path,
) -> None:
    clock, pointer = Days(), MemoryPointer()
    rotation = Rotation(max_bytes=1_000, days=2, keep_days=5)
    audit = AuditLog(directory, pointer, clock=clock, rotation=rotation)
    for _ in range(10):
        await audit.record(event())
        clock.now += timedelta(days=1)
    cut = await audit.cut_files()
    await audit.aclose()

    names = names_in(directory)
    assert names[0] > "00001"
    assert len(names) > 2
    findings = check_log(directory, pointer.counts)
    assert (findings.faults, findings.notes, cut) == ((), (), [])
    assert {line["target"] for line in every_line(directory) if line["action"] == "file removed"} < set(
        pointer.counts
    )


def every_line(directory: Path) -> list[dict[str, object]]:
    return [
        json.loads(line) for path in sorted(directory.iterdir()) for line in path.read_text().splitlines()
    ]


@pytest.mark.parametrize("rest", [b'{"number":2,"id":"01', b'{"number":2}\n', b"\0\0\0"])
async def test_after_a_line_that_is_not_whole_a_new_file_goes_on(directory: Path, rest: bytes) -> None:
    pointer = MemoryPointer()
    first = AuditLog(directory, pointer)
    await first.record(event("first"))
    await first.aclose()
    cut_file = only_file(directory)
    cut_file.write_bytes(cut_file.read_bytes() + rest)
    second = AuditLog(directory, pointer)
    await second.record(event("second"))
    await second.aclose()

    findings = check_log(directory, pointer.counts)
    begun = next(line for line in every_line_that_is_whole(directory) if line.get("action") == "file begun")
    assert begun["severity"] == "alert"
    assert len(names_in(directory)) == 2
    if rest.endswith(b"\n"):
        assert [(fault.line, fault.file[:5]) for fault in findings.faults] == [(2, "00001")]
    else:
        assert findings.faults == ()
        assert "cut by a crash" in findings.notes[0]


def every_line_that_is_whole(directory: Path) -> list[dict[str, object]]:
    raw = [line for path in sorted(directory.iterdir()) for line in path.read_bytes().splitlines()]
    return [json.loads(line) for line in raw if line.endswith(b"}")]


async def test_what_a_crash_kept_from_being_counted_is_counted_by_the_next_process(directory: Path) -> None:
    pointer = MemoryPointer()
    first = AuditLog(directory, MemoryPointer())
    await first.record(event("first"))
    await first.aclose()
    second = AuditLog(directory, pointer)
    await second.record(event("second"))
    await second.aclose()

    assert pointer.counts == {only_file(directory).name: only_file(directory).stat().st_size}


async def test_a_file_that_was_cut_between_two_processes_is_noticed_however_long_it_grows(
    directory: Path,
) -> None:
    pointer = MemoryPointer()
    first = AuditLog(directory, pointer)
    for _ in range(3):
        await first.record(event())
    await first.aclose()
    cut = only_file(directory)
    cut.write_bytes(b"".join(cut.read_bytes().splitlines(keepends=True)[:2]))
    second = AuditLog(directory, pointer)
    for _ in range(5):
        await second.record(event())
    await second.aclose()

    assert await second.cut_files() == [cut.name]
    assert check_log(directory, pointer.counts).faults[0].file == cut.name


async def test_a_log_that_was_removed_between_two_processes_is_noticed(directory: Path) -> None:
    pointer = MemoryPointer()
    for _ in range(2):
        audit = AuditLog(directory, pointer)
        await audit.record(event())
        await audit.aclose()
        gone = directory / names_in(directory)[0]
        gone.unlink()
    third = AuditLog(directory, pointer)
    for _ in range(9):
        await third.record(event())
    await third.aclose()

    assert gone.name not in names_in(directory)
    assert len(check_log(directory, pointer.counts).faults) >= 2


async def test_a_file_that_was_removed_under_a_running_bot_is_noticed(
    directory: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pointer = MemoryPointer()
    audit = AuditLog(directory, pointer)
    await audit.record(event("first"))
    gone = only_file(directory)
    gone.unlink()
    await audit.record(event("second"))
    await audit.aclose()

    assert [line["action"] for line in every_line(directory)] == ["file begun", "second"]
    assert [fault.file for fault in check_log(directory, pointer.counts).faults] == [gone.name]
    assert "audit file was changed by others" in caplog.messages


@pytest.mark.parametrize("count", [1, 23, 57])
async def test_a_process_that_is_killed_loses_nothing_that_it_was_told_is_written(
    directory: Path, count: int
) -> None:
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", CHILD, str(directory)), cwd=ROOT, stdout=asyncio.subprocess.PIPE
    )
    assert child.stdout is not None
    async with asyncio.timeout(30):
        told = [await child.stdout.readline() for _ in range(count)]
        child.kill()
        told += (await child.stdout.read()).splitlines()
        await child.wait()
    pointer = MemoryPointer()
    audit = AuditLog(directory, pointer)
    await audit.record(event("after the crash"))
    await audit.aclose()

    assert check_log(directory, pointer.counts).faults == ()
    written = {line["action"] for line in every_line_that_is_whole(directory)}
    assert {str(int(number)) for number in told} | {"after the crash"} <= written
