"""The data directory: one process at a time, and how others find that process."""

import fcntl
import os
import time
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from bot.errors import ConfigError, HomeInUse
from bot.messages import Frozen

LOCK = "lock"
PRIVATE = 0o077  # the bits that new files and directories do not get
HOLDER_BYTES = 512  # the note about the holder, filled up with blanks


class Holder(Frozen, frozen=True, kw_only=True):
    """The process that works on a data directory, and where it listens."""

    pid: int
    url: str | None = None


class Home:
    """Holds the lock of a data directory; the system lets go of it when the process dies.

    From then on what this process writes is for its user alone, whoever writes it: the mask for new files
    belongs to the process as a whole, and no moment is safe to put it back.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None

    def __enter__(self) -> Self:
        """Make the directory and take the lock.

        Raises:
            HomeInUse: Another process has it.
            ConfigError: It can't be made or written.
        """
        try:
            self._path.mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor = os.open(self._path / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise ConfigError(f"BOT_HOME={self._path} can't be used: {error.strerror}") from error
        if not _take(descriptor):
            os.close(descriptor)
            holder = read_holder(self._path)
            who = f"process {holder.pid}" if holder else "another process"
            raise HomeInUse(
                f"{self._path} is in use by {who}: stop it, or set BOT_HOME to another directory",
                pid=holder.pid if holder else None,
            )
        self._file = descriptor
        os.umask(os.umask(PRIVATE) | PRIVATE)
        self.announce(None)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            os.ftruncate(self._file, 0)
            os.close(self._file)
            self._file = None

    def announce(self, url: str | None) -> None:
        """Write down who we are and where we listen, for `read_holder`."""
        if self._file is None:
            raise HomeInUse(f"{self._path} is not ours to announce: enter it first")
        text = msgspec.json.encode(Holder(pid=os.getpid(), url=url))
        os.pwrite(self._file, text.ljust(HOLDER_BYTES), 0)  # in one go: who reads sees the old or the new


def read_holder(path: Path) -> Holder | None:
    """Who works on this directory now; `None` where nobody does."""
    try:
        with (path / LOCK).open("rb") as file:
            if _is_free(file.fileno()):
                return None
            return msgspec.json.decode(file.read(), type=Holder)
    except (FileNotFoundError, msgspec.DecodeError):
        return None


def _take(descriptor: int) -> bool:
    """Lock for ourselves; tried more than once, since `read_holder` holds it for a moment to look."""
    for _ in range(5):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.02)
        else:
            return True
    return False


def _is_free(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    return True
