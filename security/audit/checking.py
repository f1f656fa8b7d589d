"""Checks the audit log as a whole: every line, the chain through all files, their seals and their lengths."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from bot.agent.audit import AuditEntry, Fault, Findings
from bot.errors import StoreError
from security.audit.files import AuditFile, list_files, size_of
from security.audit.line import (
    ACTOR,
    BEGUN,
    MAX_LINE,
    REMOVED,
    START,
    Read,
    hash_of,
    is_sealed,
    key_path,
    read_key,
    read_line,
)

MAX_FAULTS: Final = 50


def check_log(directory: Path, lengths: Mapping[str, int]) -> Findings:
    """Look at all of it; it may be written to meanwhile.

    Args:
        lengths: How many bytes each file has at least, asked for before this is called.

    Raises:
        StoreError: A file can't be read.
    """
    scan = _Scan(directory, lengths)
    try:
        scan.run()
    except OSError as error:
        raise StoreError(f"the audit log in {directory} can't be read: {error}") from error
    return Findings(
        files=scan.files, lines=scan.lines, faults=tuple(scan.faults[:MAX_FAULTS]), notes=tuple(scan.notes)
    )


@dataclass(slots=True)
class _Scan:
    """A walk through the files; `last` is the file of the last line, `hash` and `number` are that line's."""

    directory: Path
    lengths: Mapping[str, int]
    key: bytes | None = None
    hash: str = START
    number: int = 0
    last: AuditFile | None = None
    files: int = 0
    lines: int = 0
    faults: list[Fault] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    removed: set[str] = field(default_factory=set)
    absent: list[Fault] = field(default_factory=list)

    def run(self) -> None:
        """Walk through all files, then see which ones are missing."""
        files = list_files(self.directory)
        self._take_key(has_files=bool(files))
        for file in files:
            self._check_file(file)
            self.last = file
            self.files += 1
        present = {file.name for file in files}
        faults = [fault for fault in self.absent if fault.file not in self.removed]
        known = {fault.file for fault in faults} | self.removed | present
        gone = [name for name in sorted(self.lengths) if name not in known]
        for name in gone:
            faults += self._short(name, size_of(self.directory / name))
        self.faults[:0] = faults
        if files and not self.lengths:
            self.notes.append("The store knows no length of these files: a cut at their end goes unnoticed.")

    def _take_key(self, *, has_files: bool) -> None:
        path = key_path(self.directory)
        try:
            self.key = read_key(self.directory)
        except StoreError as error:
            self._blame(path.name, None, f"the seals can't be checked: {error}")
            return
        if self.key is None:
            if has_files:
                self._blame(path.name, None, "the key is gone, so that no seal can be checked")
        elif path.stat().st_mode & 0o077:
            self.notes.append(f"Others may read the key {path}: chmod 600 is what it should have.")

    def _check_file(self, file: AuditFile) -> None:
        """Check each line; `start` is where it begins in the file."""
        must_have, start, count = self.lengths.get(file.name, 0), 0, 0
        if self.last is not None and file.number == self.last.number:
            self._blame(file.name, None, "there are two files of this number")
        for count, raw in enumerate(_lines(self.directory / file.name), 1):
            if raw.endswith(b"\n"):
                self._check_line(file, count, raw)
            elif start >= must_have:
                self.notes.append(f"{file.name}, line {count}: begun, and cut by a crash.")
            else:
                self._blame(file.name, count, "is not whole, though it once was")
            start += len(raw)
        if count == 0 and file.number > 1:
            self._compare_before(file, None)
        self.faults += self._short(file.name, start)

    def _check_line(self, file: AuditFile, line: int, raw: bytes) -> None:
        self.lines += 1
        read = read_line(raw)
        if read is None:
            self._blame(file.name, line, "is no line of the log, or was changed")
            self.number += 1
            return
        is_first = line == 1 and file.number > 1
        previous, number = self._said(read) if is_first else (self.hash, self.number)
        is_good = False
        if hash_of(read.body, previous) != read.hash:
            self._blame(file.name, line, _why(read, number))
        elif self.key is not None and not is_sealed(read, self.key):
            self._blame(file.name, line, "has a seal that was not made with our key")
        else:
            is_good = True
        if is_first:
            self._compare_before(file, read.entry if is_good else None)
        if is_good and read.entry.actor == ACTOR and read.entry.action == REMOVED:
            self.removed.add(read.entry.target)
        self.hash, self.number = read.hash, read.entry.number  # what follows may be whole

    def _said(self, first: Read) -> tuple[str, int]:
        """The hash and the number behind which a file was begun, by its own first line."""
        if not _is_opening(first.entry):
            return self.hash, self.number
        lines = first.entry.context.get("lines")
        return str(first.entry.context.get("hash")), lines if isinstance(lines, int) else self.number

    def _compare_before(self, file: AuditFile, first: AuditEntry | None) -> None:
        """Whether what stands before a file is what its first line, if it can be trusted, says."""
        has_gap = file.number != (self.last.number if self.last else 0) + 1
        if first is None or not _is_opening(first):
            if has_gap:
                self._blame(file.name, None, "a file in front of it is missing")
            return
        before, hash_ = str(first.context.get("file")), first.context.get("hash")
        is_next = self.last is not None and self.last.name == before
        if not is_next:
            self.absent.append(Fault(file=before, line=None, text=f"is missing in front of {file.name}"))
        elif has_gap:
            self._blame(file.name, None, "a file in front of it is missing")
        if is_next and hash_ != self.hash:
            lines = first.context.get("lines")
            self._blame(before, None, f"ends with line {self.number} of the log, and once had line {lines}")

    def _short(self, name: str, size: int) -> list[Fault]:
        """Whether a file is shorter than it once was."""
        length = self.lengths.get(name, 0)
        if size >= length:
            return []
        text = f"was cut: {size} bytes are left of {length}" if size else f"is gone, with {length} bytes"
        return [Fault(file=name, line=None, text=text)]

    def _blame(self, file: str, line: int | None, text: str) -> None:
        if len(self.faults) < MAX_FAULTS:
            self.faults.append(Fault(file=file, line=line, text=text))


def _is_opening(entry: AuditEntry) -> bool:
    return entry.actor == ACTOR and entry.action == BEGUN


def _why(read: Read, number: int) -> str:
    """In which way a line does not fit behind line `number` of the log."""
    if read.entry.number == number + 1:
        return "was changed, or the line before it was"
    return f"has number {read.entry.number} where {number + 1} belongs: lines were removed, added or moved"


def _lines(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while raw := file.readline(MAX_LINE):
            yield raw
