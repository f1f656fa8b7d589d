"""The names of the audit files, and which of them are old enough to go."""

import re
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Final

import msgspec

_NAME: Final = re.compile(r"(\d{5,9})-(\d{4}-\d\d-\d\d)\.jsonl")
_MONTH: Final = re.compile(r"\d{4}-\d\d\.jsonl")  # as they were before lines were chained


class Rotation(msgspec.Struct, frozen=True, kw_only=True):
    """When a new file begins, and how long old ones stay.

    Attributes:
        max_bytes: A file of this size gets no more batch; it may be longer by one.
        days: A file gets no lines of later days than this many after it was begun.
        keep_days: A file goes when all its lines are older; 0: never.
    """

    max_bytes: int = 16_000_000
    days: int = 30
    keep_days: int = 365


class AuditFile(msgspec.Struct, frozen=True, order=True):
    """A file of the log: the files count from 1, without a gap."""

    number: int
    day: date

    @property
    def name(self) -> str:
        """As it stands in the directory."""
        return f"{self.number:05}-{self.day}.jsonl"


def parse_name(name: str) -> AuditFile | None:
    """What a name says; `None` where it is not of the chain."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    try:
        file = AuditFile(int(match[1]), date.fromisoformat(match[2]))
    except ValueError:
        return None
    return file if file.name == name else None


def list_files(directory: Path) -> list[AuditFile]:
    """The files of the chain, in its order."""
    if not directory.is_dir():
        return []
    return sorted(file for path in directory.iterdir() if (file := parse_name(path.name)) is not None)


def list_readable(directory: Path) -> list[Path]:
    """All files with events, the oldest first; those from before there was a chain, too."""
    if not directory.is_dir():
        return []
    before = sorted(path for path in directory.iterdir() if _MONTH.fullmatch(path.name))
    return [*before, *(directory / file.name for file in list_files(directory))]


def is_due(file: AuditFile, size: int, today: date, rotation: Rotation) -> bool:
    """Whether a new file is to begin."""
    return size >= rotation.max_bytes or today >= file.day + timedelta(days=rotation.days)


def outdated(files: Sequence[AuditFile], today: date, rotation: Rotation) -> list[AuditFile]:
    """The files that may go: a file's lines are no younger than the day on which the next one was begun."""
    if rotation.keep_days == 0:
        return []
    last_day = today - timedelta(days=rotation.keep_days)
    return [file for file, after in pairwise(files) if after.day < last_day]


def find_cut(directory: Path, lengths: Mapping[str, int]) -> list[str]:
    """The files that are shorter than they must be, or gone; what lies before the first was removed."""
    files = list_files(directory)
    first = files[0].number if files else 0
    cut = (name for name, length in sorted(lengths.items()) if size_of(directory / name) < length)
    return [name for name in cut if (file := parse_name(name)) is None or file.number >= first]


def size_of(path: Path) -> int:
    """The bytes of a file; 0 where there is none."""
    return path.stat().st_size if path.exists() else 0
