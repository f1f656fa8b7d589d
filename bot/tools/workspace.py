"""The one way from what a model wrote to a file: inside the workspace, through no link, to nothing special.

Every directory on the way is opened from the one above it and without following links, so that a link which
is put there in between is refused as well.
"""

import errno
import os
import re
import secrets
import stat
import threading
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Literal, TypeAlias

from bot.messages import Frozen
from bot.tools.base import ToolFault

IDENTITY = frozenset({"soul.md", "identity.md", "agents.md", "user.md"})
CLOSED = frozenset({".git", ".venv", "node_modules", "__pycache__"})  # walked into only when named
MAX_NAME = 255  # bytes, as on most file systems
MAX_PATH = 4_096  # bytes
MAX_ENTRIES = 10_000  # of one directory
# Control characters, line separators, and what turns the direction of writing round: none of them can be seen
# by the person who is asked whether a file may be written.
UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")

DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

REASONS = {
    errno.ENOTDIR: "is not in a directory; links are not followed",
    errno.ELOOP: "is a link, and links are not followed",
    errno.EISDIR: "is a directory: name a file",
    errno.EACCES: "may not be used: its permissions forbid it",
    errno.EPERM: "may not be used: its permissions forbid it",
    errno.ENOSPC: "could not be written: the disk is full",
}

Kind: TypeAlias = Literal["file", "directory", "link", "special"]


class Missing(ToolFault):
    """There is nothing under a path."""


class Entry(Frozen, frozen=True, kw_only=True):
    """Something in the workspace.

    Attributes:
        path: From the root, as it is named on the disk.
        size: In bytes.
        modified: In nanoseconds since 1970.
    """

    path: str
    kind: Kind
    size: int
    modified: int

    @property
    def name(self) -> str:
        """The last part of the path."""
        return PurePosixPath(self.path).name

    @property
    def label(self) -> str:
        """The path on one line, whatever somebody has called the file."""
        text = self.path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
        return UNSEEN.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


class Jail:
    """Reads and writes below a root; all methods block, and so are for threads.

    Attributes:
        root: An absolute path; it is made by the first write, where it is missing.
        changing: Held by whoever reads a file in order to write it.
    """

    def __init__(self, root: Path) -> None:
        self.root = Path(os.path.abspath(root))
        self.changing = threading.RLock()
        self._names = (self.root, Path(os.path.realpath(root)))

    def locate(self, path: str) -> PurePosixPath:
        """Say where in the root a path leads, by its text alone; the root itself is `.`.

        Raises:
            ToolFault: It leads out, or is no path that a file could have.
        """
        _check(path)
        normal = PurePosixPath(os.path.normpath(path or "."))
        if normal.is_absolute():
            normal = PurePosixPath("/", *normal.parts[1:])  # POSIX lets `//` mean something else
            inside = (normal.relative_to(name) for name in self._names if normal.is_relative_to(name))
            place = next(inside, None)
        else:
            place = None if normal.parts[:1] == ("..",) else normal
        if place is None:
            raise ToolFault(f"{path!r} is outside of the workspace: name a path in it, like 'notes/plan.md'")
        return place

    def is_identity(self, path: str) -> bool:
        """Tell whether a path names a file that says who the bot is or how it has to work.

        At every level, since each folder may have its AGENTS.md; in every spelling that some file system
        takes for the same name. False for a path that leads nowhere: nothing will be written there.
        """
        try:
            name = self.locate(path).name
        except ToolFault:
            return False
        seen = "".join(char for char in name if unicodedata.category(char) != "Cf")
        return unicodedata.normalize("NFKC", seen).casefold() in IDENTITY

    def real(self, path: str) -> Path:
        """The path on the disk of what is there now and no link, for those who cannot take its bytes.

        Raises:
            ToolFault: There is nothing, or a link.
        """
        if self.stat(path).kind == "link":
            raise ToolFault(f"{path!r} {REASONS[errno.ELOOP]}")
        return self.root / self.locate(path)

    def stat(self, path: str) -> Entry:
        """Look at what a path names, without opening it.

        Raises:
            Missing: There is nothing.
            ToolFault: It cannot be looked at.
        """
        place = self.locate(path)
        with disk_faults(path), self._directory(place.parts[:-1]) as parent:
            status = os.stat(place.name or ".", dir_fd=parent, follow_symlinks=False)
        return _entry(str(place), status)

    def read(self, path: str, most: int) -> bytes:
        """Read the first bytes of a regular file.

        Args:
            most: How many bytes at most.

        Raises:
            Missing: There is nothing.
            ToolFault: It is no regular file, or cannot be read.
        """
        place = self.locate(path)
        with (
            disk_faults(path),
            self._directory(place.parts[:-1]) as parent,
            open(_open_regular(path, place.name or ".", parent), "rb") as file,
        ):
            return file.read(most)

    def write(self, path: str, data: bytes) -> bool:
        """Put a file in place, whole or not at all, with the directories above it; True where it is new.

        A file that was there keeps its permissions.

        Raises:
            ToolFault: What is there is no regular file or may not be changed, or the disk is full.
        """
        place = self.locate(path)
        if not place.name or path.endswith("/"):
            raise ToolFault(f"{path!r} is a directory: name a file")
        with disk_faults(path), self.changing, self._directory(place.parts[:-1], is_new=True) as parent:
            mode = _mode(path, place.name, parent)
            _replace(place.name, parent, data, 0o600 if mode is None else mode)
        return mode is None

    def entries(self, path: str, most: int = MAX_ENTRIES) -> list[Entry]:
        """What is in a directory, sorted by name.

        Raises:
            Missing: There is nothing.
            ToolFault: It is no directory, or cannot be read.
        """
        place = self.locate(path)
        found = []
        with disk_faults(path), self._directory(place.parts) as directory, os.scandir(directory) as scan:
            for entry in islice(scan, most):
                with suppress(FileNotFoundError):  # deleted since
                    found.append(_entry(str(place / entry.name), entry.stat(follow_symlinks=False)))
        return sorted(found, key=lambda entry: entry.path)

    def walk(self, path: str, depth: int) -> Iterator[Entry]:
        """What is in a directory and below it, each directory before what is in it.

        Args:
            depth: How many levels; 1 is the directory alone.

        Raises:
            ToolFault: The directory itself cannot be read; one below it that cannot is left out.
        """
        levels = [iter(self.entries(path))]
        while levels:
            entry = next(levels[-1], None)
            if entry is None:
                levels.pop()
                continue
            yield entry
            if entry.kind == "directory" and len(levels) < depth and entry.name not in CLOSED:
                with suppress(ToolFault):
                    levels.append(iter(self.entries(entry.path)))

    @contextmanager
    def _directory(self, parts: tuple[str, ...], *, is_new: bool = False) -> Iterator[int]:
        if is_new:
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        here = os.open(self.root, DIRECTORY)
        try:
            for part in parts:
                here = _enter(part, here, is_new=is_new)
            yield here
        finally:
            os.close(here)


@contextmanager
def disk_faults(path: str) -> Iterator[None]:
    """Turn what the disk says into words for the model."""
    try:
        yield
    except FileNotFoundError as error:
        raise Missing(f"{path!r} does not exist; `list` shows what does") from error
    except OSError as error:
        reason = REASONS.get(error.errno or 0, f"could not be used: {error.strerror}")
        raise ToolFault(f"{path!r} {reason}") from error


def _check(path: str) -> None:
    try:
        size = len(path.encode("utf-8"))
    except UnicodeEncodeError as error:
        raise ToolFault("a path has to be valid Unicode: spell it in other characters") from error
    if UNSEEN.search(path):
        raise ToolFault(f"{path!r} has characters that nobody can see: leave them out")
    if size > MAX_PATH or any(len(part.encode()) > MAX_NAME for part in path.split("/")):
        raise ToolFault(
            f"{path[:60]!r}… is too long: at most {MAX_NAME} bytes a name and {MAX_PATH:,} in all"
        )
    if path.startswith("~"):
        raise ToolFault(f"{path!r}: there is no ~ here; name a path in the workspace, like 'notes/plan.md'")


def _enter(name: str, parent: int, *, is_new: bool) -> int:
    """Open a directory and close the one above it; where this fails, that stays open."""
    if is_new:
        with suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=parent)
    below = os.open(name, DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
    os.close(parent)
    return below


def _open_regular(path: str, name: str, parent: int) -> int:
    """Open a regular file; looked at before, since to open a device can be an act, and after, for races."""
    _demand_regular(path, os.stat(name, dir_fd=parent, follow_symlinks=False))
    descriptor = os.open(name, FILE, dir_fd=parent)
    try:
        _demand_regular(path, os.fstat(descriptor))
    except ToolFault:
        os.close(descriptor)
        raise
    return descriptor


def _demand_regular(path: str, status: os.stat_result) -> None:
    match _kind(status):
        case "directory":
            raise ToolFault(f"{path!r} is a directory: name a file in it; `list` shows them")
        case "link":
            raise ToolFault(f"{path!r} {REASONS[errno.ELOOP]}")
        case "special":
            raise ToolFault(f"{path!r} is a device, a pipe or a socket: only regular files are used")


def _mode(path: str, name: str, parent: int) -> int | None:
    """The permissions of a file that may be replaced; `None` where there is none yet."""
    try:
        status = os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return None
    _demand_regular(path, status)
    if not status.st_mode & stat.S_IWUSR:
        raise ToolFault(f"{path!r} is read-only: write to another file")
    return stat.S_IMODE(status.st_mode) & 0o777


def _replace(name: str, parent: int, data: bytes, mode: int) -> None:
    temporary = f".{secrets.token_hex(8)}.tmp"
    descriptor = os.open(temporary, NEW_FILE, 0o600, dir_fd=parent)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(descriptor, mode)
            os.fsync(descriptor)
        os.replace(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=parent)
        raise


def _entry(path: str, status: os.stat_result) -> Entry:
    return Entry(path=path, kind=_kind(status), size=status.st_size, modified=status.st_mtime_ns)


def _kind(status: os.stat_result) -> Kind:
    mode = status.st_mode
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "directory"
    return "link" if stat.S_ISLNK(mode) else "special"
