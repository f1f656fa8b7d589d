"""Appends lines to the audit files; runs in the log's own thread."""

import logging
import os
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from pathlib import Path

import msgspec
from msgspec.structs import replace

from bot.agent.audit import AuditEntry, Severity, Value
from bot.messages import new_id
from security.audit.files import AuditFile, Rotation, is_due, list_files, outdated, parse_name
from security.audit.line import (
    ACTOR,
    BEGUN,
    CHECKPOINT,
    MAX_LINE,
    REMOVED,
    START,
    is_sealed,
    make_key,
    read_line,
    write_line,
)

log = logging.getLogger(__name__)


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where the log ends.

    Attributes:
        file: The last file; `None` where there is none.
        size: Its bytes, up to the end of the last whole line.
        lines: The number of the last line; `hash` is its hash, `day` that on which it was written.
        damage: What is wrong with the file, so that it can't be continued.
    """

    file: AuditFile | None = None
    size: int = 0
    lines: int = 0
    hash: str = START
    day: date | None = None
    damage: str = ""


class Writer:
    """Knows where the log ends; one at a time on a directory, called by one thread.

    Args:
        is_synced: Wait until lines are on the disk; they then survive a power cut, and not only a crash.

    Attributes:
        lengths: The bytes that each file must have; to be set before the first `append`.
    """

    def __init__(self, directory: Path, *, rotation: Rotation, is_synced: bool) -> None:
        self._directory = directory
        self._rotation = rotation
        self._is_synced = is_synced
        self._key = b""
        self._place: Place | None = None
        self.lengths: Mapping[str, int] = {}

    def append(self, entries: Sequence[AuditEntry]) -> tuple[str, int]:
        """Write entries in this order, numbered; all of them or none.

        Returns:
            The name of the file that they are in, and how many bytes it has of whole lines now.

        Raises:
            OSError: They could not be written.
            StoreError: The key can't be used.
        """
        place = self._open() if self._place is None else self._place
        place = self._look_again(place)
        now = entries[0].at
        batch = [*_checkpoint(place, now), *entries]
        leaving: list[AuditFile] = []
        file, size = place.file, place.size
        is_new = file is None or bool(place.damage) or is_due(file, size, now.date(), self._rotation)
        if file is None or is_new:
            file, size = AuditFile(self._last_number(file) + 1, now.date()), 0
            leaving = outdated([*list_files(self._directory), file], now.date(), self._rotation)
            batch = [*_opening(place, file, now), *(_removal(old, now) for old in leaving), *batch]
        lines, end = self._chained(batch, place)
        size = self._write(file, size, lines, is_new=is_new)
        self._place = replace(end, file=file, size=size)
        self._remove(leaving)
        return file.name, size

    def _last_number(self, file: AuditFile | None) -> int:
        """The highest number that a file has or had: none is ever given twice."""
        counted = [one for name in self.lengths if (one := parse_name(name)) is not None]
        there = [*list_files(self._directory), *counted, *([file] if file else [])]
        return max((one.number for one in there), default=0)

    def _open(self) -> Place:
        """Find the end of what an earlier process has written."""
        self._directory.mkdir(mode=0o700, exist_ok=True)
        self._key = make_key(self._directory)
        files = list_files(self._directory)
        found = Place()
        for file in reversed(files):
            found = _end_of(self._directory, file, self._key)
            if found.lines:
                break
        if not files:
            return found
        if found.file != files[-1]:
            found = replace(found, file=files[-1], damage="there is no line in it that is ours")
        elif found.size < self.lengths.get(files[-1].name, 0):
            found = replace(found, damage="it was cut")
        elif self._last_number(None) > files[-1].number:
            found = replace(found, damage="a file that came after it is gone")
        if found.damage:
            log.error("audit file is left as it is", extra={"file": files[-1].name, "cause": found.damage})
        return found

    def _look_again(self, place: Place) -> Place:
        """Nobody else writes: a file that has another size than we left it with is not continued."""
        if place.file is None or place.damage:
            return place
        try:
            size = (self._directory / place.file.name).stat().st_size
        except FileNotFoundError:
            size = 0
        if size == place.size:
            return place
        log.critical("audit file was changed by others", extra={"file": place.file.name})
        return replace(place, damage=f"it has {size} bytes, and not the {place.size} that were written")

    def _chained(self, batch: Sequence[AuditEntry], place: Place) -> tuple[bytes, Place]:
        lines, number, hash_ = bytearray(), place.lines, place.hash
        for entry in batch:
            number += 1
            line, hash_ = write_line(msgspec.structs.replace(entry, number=number), hash_, self._key)
            lines += line
        return bytes(lines), Place(lines=number, hash=hash_, day=batch[-1].at.date())

    def _write(self, file: AuditFile, size: int, lines: bytes, *, is_new: bool) -> int:
        """Append to a file; gives its size."""
        path = self._directory / file.name
        self._directory.mkdir(mode=0o700, exist_ok=True)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(path, flags | (os.O_CREAT | os.O_EXCL if is_new else 0), 0o600)
        try:
            _write_all(descriptor, lines)
            if self._is_synced:
                os.fdatasync(descriptor)
            if self._is_synced and is_new:
                _sync_directory(self._directory)
        except OSError:  # all or nothing: half a line would spoil the next one
            if is_new:
                path.unlink()
            else:
                os.ftruncate(descriptor, size)
            raise
        finally:
            os.close(descriptor)
        return size + len(lines)

    def _remove(self, files: Sequence[AuditFile]) -> None:
        """Delete files whose removal is on record."""
        for file in files:
            try:
                (self._directory / file.name).unlink()
            except OSError as error:  # it is tried again with the next file
                log.error("old audit file stays", extra={"file": file.name, "cause": str(error)})


def _write_all(descriptor: int, lines: bytes) -> None:
    rest = memoryview(lines)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _end_of(directory: Path, file: AuditFile, key: bytes) -> Place:
    """The end of a file, by its last line that has our seal; without a line where there is none."""
    with (directory / file.name).open("rb") as opened:
        size = opened.seek(0, os.SEEK_END)
        opened.seek(max(0, size - MAX_LINE))
        tail = opened.read()
    damage, end = "", size
    for raw in reversed(tail.splitlines(keepends=True)):
        read = read_line(raw)
        if read is not None and is_sealed(read, key):
            day = read.entry.at.date()
            return Place(file=file, size=end, lines=read.entry.number, hash=read.hash, day=day, damage=damage)
        end -= len(raw)
        damage = "its last line is not whole" if not raw.endswith(b"\n") else "its last line is not ours"
    return Place()


def _checkpoint(place: Place, now: datetime) -> list[AuditEntry]:
    """The line that closes a day, in front of the first one of another day."""
    if place.day is None or place.day == now.date():
        return []
    log.info("audit day closed", extra={"day": str(place.day), "lines": place.lines, "hash": place.hash})
    context: dict[str, Value] = {"lines": place.lines, "hash": place.hash}
    return [_own(now, CHECKPOINT, str(place.day), "sealed", context=context)]


def _opening(place: Place, file: AuditFile, now: datetime) -> list[AuditEntry]:
    """The first line of a file that follows another: it says where the chain came from."""
    if place.file is None:
        return []
    context: dict[str, Value] = {"file": place.file.name, "lines": place.lines, "hash": place.hash}
    if place.damage:
        context["damage"] = place.damage
    status = "last file damaged" if place.damage else "last file complete"
    severity: Severity = "alert" if place.damage else "info"
    return [_own(now, BEGUN, file.name, status, severity=severity, context=context)]


def _removal(file: AuditFile, now: datetime) -> AuditEntry:
    return _own(now, REMOVED, file.name, "kept long enough", context={})


def _own(
    at: datetime,
    action: str,
    target: str,
    status: str,
    *,
    context: dict[str, Value],
    severity: Severity = "info",
) -> AuditEntry:
    """A line that the log writes about itself."""
    return AuditEntry(
        id=new_id(),
        at=at,
        severity=severity,
        actor=ACTOR,
        action=action,
        target=target,
        status=status,
        context=context,
    )
