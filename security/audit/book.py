"""The audit log for who reads it, beside a running bot."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec

from bot.agent.audit import AuditEntry, Damaged, Findings
from bot.errors import StoreError
from security.audit.checking import check_log
from security.audit.files import list_readable
from security.audit.line import MAX_LINE, decode_entry


class AuditBook:
    """Fulfils `bot.operations.audit.Book`; not safe for two threads.

    Args:
        lengths: Asks how many bytes each file has at least.
    """

    def __init__(self, directory: Path, *, lengths: Callable[[], Mapping[str, int]]) -> None:
        self._directory = directory
        self._lengths = lengths
        self._read: dict[str, tuple[int, int]] = {}  # bytes and lines of each file that were given out

    def check(self) -> Findings:
        """Check all of the log.

        Raises:
            StoreError: It can't be read.
        """
        lengths = self._lengths()  # first: what is written meanwhile must not look like a cut
        return check_log(self._directory, lengths)

    def read_new(self) -> Iterator[AuditEntry | Damaged]:
        """What was written since the last time, the oldest first; the first time, everything.

        Raises:
            StoreError: A file can't be read.
        """
        try:
            for path in list_readable(self._directory):
                yield from self._read_file(path)
        except OSError as error:
            raise StoreError(f"the audit log in {self._directory} can't be read: {error}") from error

    def _read_file(self, path: Path) -> Iterator[AuditEntry | Damaged]:
        offset, count = self._read.get(path.name, (0, 0))
        if path.stat().st_size == offset:
            return
        with path.open("rb") as file:
            file.seek(offset)
            while raw := file.readline(MAX_LINE):
                if not raw.endswith(b"\n") and len(raw) < MAX_LINE:
                    return  # it is being written, or was cut by a crash
                offset, count = offset + len(raw), count + 1
                self._read[path.name] = offset, count
                yield _entry(raw) or Damaged(file=path.name, line=count)


def _entry(raw: bytes) -> AuditEntry | None:
    try:
        return decode_entry(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
