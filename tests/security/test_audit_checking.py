"""Whatever is done to the files of the audit log, the check notices, and names the first bad line."""

import asyncio
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.agent.audit import AuditEvent, Findings
from bot.errors import StoreError
from security.audit import AuditBook, AuditLog, Rotation, check_log
from security.audit.line import START, read_line, write_line


class Counts:
    """A pointer in memory."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}

    async def lengths(self) -> dict[str, int]:
        return dict(self.counts)

    async def advance(self, file: str, count: int) -> None:
        self.counts[file] = self.counts.get(file, 0) + count


@dataclass(frozen=True)
class Whole:
    """A log as it was written: its files in order, its key, and how long each file must be."""

    files: dict[str, bytes]
    key: bytes
    lengths: dict[str, int]

    @property
    def size(self) -> int:
        return sum(map(len, self.files.values()))

    def at(self, position: int) -> tuple[str, int, int]:
        """The file, the offset in it, and the line that a byte of the log is in."""
        for name, data in self.files.items():
            if position < len(data):
                return name, position, data[:position].count(b"\n") + 1
            position -= len(data)
        raise AssertionError(position)


def event(number: int) -> AuditEvent:
    return AuditEvent(
        severity="info",
        actor="web:ann",
        action=f"act {number}",
        target="ü\n",
        status="ok",
        context=(("n", number),),
    )


async def write(directory: Path, pointer: Counts) -> None:
    day = [datetime(2026, 11, 1, tzinfo=UTC)]
    log = AuditLog(directory, pointer, rotation=Rotation(max_bytes=1_500), clock=lambda: day[0])
    for number in range(12):
        await log.record(event(number))
        day[0] += timedelta(hours=9)
    await log.aclose()


@lru_cache(maxsize=1)
def whole() -> Whole:
    """A log of several files and days, written once."""
    pointer = Counts()
    with tempfile.TemporaryDirectory() as place:
        directory = Path(place) / "audit"
        asyncio.run(write(directory, pointer))
        files = {path.name: path.read_bytes() for path in sorted(directory.iterdir())}
        key = (Path(place) / "audit.key").read_bytes()
    assert len(files) >= 4
    return Whole(files, key, pointer.counts)


@contextmanager
def laid_out(files: dict[str, bytes], key: bytes | None = None) -> Iterator[Path]:
    """A directory with these files, and the key beside it."""
    with tempfile.TemporaryDirectory() as place:
        directory = Path(place) / "audit"
        directory.mkdir()
        for name, data in files.items():
            (directory / name).write_bytes(data)
        path = Path(place) / "audit.key"
        path.write_bytes(whole().key if key is None else key)
        path.chmod(0o600)
        yield directory


def check(files: dict[str, bytes], lengths: dict[str, int] | None = None) -> Findings:
    with laid_out(files) as directory:
        return check_log(directory, whole().lengths if lengths is None else lengths)


def first(findings: Findings) -> tuple[str, int | None]:
    return findings.faults[0].file, findings.faults[0].line


def changed(name: str, change: Callable[[list[bytes]], list[bytes]]) -> dict[str, bytes]:
    """The log with the lines of one file changed."""
    return whole().files | {name: b"".join(change(whole().files[name].splitlines(keepends=True)))}


positions = st.integers(min_value=0, max_value=whole().size - 1)
names = st.sampled_from(list(whole().files))


def test_a_log_that_nobody_touched_is_whole() -> None:
    findings = check(whole().files)

    assert (findings.faults, findings.notes) == ((), ())
    assert findings.files == len(whole().files)
    assert findings.lines == sum(data.count(b"\n") for data in whole().files.values())


def test_an_empty_log_is_whole() -> None:
    with tempfile.TemporaryDirectory() as place:
        assert check_log(Path(place) / "audit", {}) == Findings(files=0, lines=0)


@given(position=positions, by=st.integers(min_value=1, max_value=255))
def test_every_changed_byte_is_noticed_with_its_line(position: int, by: int) -> None:
    name, offset, line = whole().at(position)
    data = bytearray(whole().files[name])
    data[offset] ^= by

    assert first(check(whole().files | {name: bytes(data)})) == (name, line)


@given(position=positions, data=st.binary(min_size=1, max_size=20))
def test_every_byte_that_was_put_in_is_noticed_with_its_line(position: int, data: bytes) -> None:
    name, offset, line = whole().at(position)
    old = whole().files[name]
    if (new := old[:offset] + data + old[offset:])[: len(old)] == old:
        return
    found = first(check(whole().files | {name: new}))

    assert found in ((name, line), (name, line + 1))


@given(name=names, number=st.integers(min_value=0, max_value=50))
def test_every_removed_line_is_noticed(name: str, number: int) -> None:
    lines = whole().files[name].count(b"\n")
    number %= lines

    findings = check(changed(name, lambda old: old[:number] + old[number + 1 :]))
    without_lengths = check(changed(name, lambda old: old[:number] + old[number + 1 :]), {})

    assert findings.faults
    assert first(findings)[0] == name or first(findings)[0] > name
    is_at_the_end = name == max(whole().files) and number == lines - 1
    assert bool(without_lengths.faults) != is_at_the_end


@given(name=names, one=st.integers(min_value=0, max_value=50), other=st.integers(min_value=0, max_value=50))
def test_every_swap_of_two_lines_is_noticed(name: str, one: int, other: int) -> None:
    def swap(lines: list[bytes]) -> list[bytes]:
        here, there = one % len(lines), other % len(lines)
        lines[here], lines[there] = lines[there], lines[here]
        return lines

    count = whole().files[name].count(b"\n")
    if one % count == other % count:
        return

    assert first(check(changed(name, swap), {})) == (name, min(one % count, other % count) + 1)


@given(name=names, left=st.integers(min_value=0, max_value=10_000))
def test_every_cut_is_noticed(name: str, left: int) -> None:
    data = whole().files[name]

    assert check(whole().files | {name: data[: left % len(data)]}).faults


@given(gone=st.sets(names, min_size=1))
def test_every_removed_file_is_noticed_and_named(gone: set[str]) -> None:
    findings = check({name: data for name, data in whole().files.items() if name not in gone})

    assert gone <= {fault.file for fault in findings.faults}


@given(gone=st.sets(st.sampled_from(list(whole().files)[:-1]), min_size=1))
def test_a_file_that_is_missing_before_others_is_noticed_without_the_store(gone: set[str]) -> None:
    assert check({name: data for name, data in whole().files.items() if name not in gone}, {}).faults


@given(name=names, number=st.integers(min_value=0, max_value=50), data=st.binary(max_size=60))
def test_a_line_that_was_added_is_noticed(name: str, number: int, data: bytes) -> None:
    added = data.replace(b"\n", b"") + b"\n"
    number %= whole().files[name].count(b"\n") + 1

    findings = check(changed(name, lambda old: [*old[:number], added, *old[number:]]))

    assert first(findings) == (name, number + 1)


def forge(lines: list[bytes], key: bytes) -> list[bytes]:
    """What somebody can make who knows how the chain goes, and has this key."""
    forged, previous = [], START
    for raw in lines:
        read = read_line(raw)
        assert read is not None
        line, previous = write_line(read.entry, previous, key)
        forged.append(line)
    return forged


def test_a_chain_that_was_made_anew_lacks_the_key() -> None:
    name = min(whole().files)

    def rewrite(lines: list[bytes]) -> list[bytes]:
        edited = [line.replace(b"web:ann", b"web:bob") for line in lines]
        return forge(edited, b"another key")

    findings = check(changed(name, rewrite))

    assert first(findings) == (name, 1)
    assert "key" in findings.faults[0].text


def test_the_same_chain_made_with_the_key_is_the_log_byte_for_byte() -> None:
    name = min(whole().files)

    assert changed(name, lambda lines: forge(lines, bytes.fromhex(whole().key.decode()))) == whole().files


def test_a_line_that_a_crash_has_cut_is_a_note_and_no_fault() -> None:
    name = max(whole().files)

    findings = check(whole().files | {name: whole().files[name] + b'{"number":99,"id":'})

    assert findings.faults == ()
    assert "cut by a crash" in findings.notes[0]


@pytest.mark.parametrize("key", [b"", b"zz" * 32, b"ab"])
def test_a_key_that_is_none_is_a_fault(key: bytes) -> None:
    with laid_out(whole().files, key) as directory:
        assert check_log(directory, whole().lengths).faults[0].file == "audit.key"


def test_a_key_that_is_gone_is_a_fault_and_one_that_others_may_read_a_note() -> None:
    with laid_out(whole().files) as directory:
        key = directory.with_name("audit.key")
        key.chmod(0o644)
        open_to_all = check_log(directory, whole().lengths)
        key.unlink()
        gone = check_log(directory, whole().lengths)

    assert open_to_all.faults == ()
    assert "chmod 600" in open_to_all.notes[0]
    assert gone.faults[0].file == "audit.key"


def test_a_store_that_knows_no_lengths_is_noted() -> None:
    assert "cut at their end" in check(whole().files, {}).notes[0]


def test_there_are_not_more_faults_told_than_anybody_reads() -> None:
    name = max(whole().files)

    assert len(check(changed(name, lambda lines: [*lines, *[b"x\n"] * 200])).faults) == 50


def test_a_directory_that_cannot_be_read_is_an_error_and_no_verdict(tmp_path: Path) -> None:
    directory = tmp_path / "audit"
    (directory / "00001-2026-11-01.jsonl").mkdir(parents=True)

    with pytest.raises(StoreError, match="can't be read"):
        AuditBook(directory, lengths=dict).check()
