"""Finds the AGENTS.md that holds for a folder: the nearest one, up to the top of its project."""

import asyncio
import codecs
import logging
import os
import time
from collections.abc import Awaitable, Callable, Hashable, Sequence
from pathlib import Path, PurePosixPath
from typing import Generic, TypeAlias, TypeVar

from bot.agent.taint import known_taint, restriction
from bot.messages import AgentsMdLoaded, Frozen, InboundMessage, SessionKey
from bot.tools.base import Arguments, Tool, ToolContext, ToolFault
from bot.tools.workspace import Entry, Jail, Missing

log = logging.getLogger(__name__)

NAME = "AGENTS.md"
HEADER = "# Project AGENTS.md Constraints"
MAX_BYTES = 32_768
MAX_LEVELS = 20
MAX_KEPT = 64  # texts
MAX_SESSIONS = 1_000
FRESH = 1.0  # seconds in which the disk is not asked again
FILE_TOOLS = frozenset({"read", "write", "edit"})

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

Vet: TypeAlias = Callable[[str, str], Awaitable[str]]


class Found(Frozen, frozen=True, kw_only=True):
    """What an AGENTS.md says, and where it is."""

    text: str
    path: Path


class Seen(Frozen, frozen=True, kw_only=True):
    """What was found for a folder, its section, and until when nobody looks again, on the clock.

    Attributes:
        is_order: It reads like an attack, and stands in the section as what others wrote.
    """

    found: Found | None
    text: str
    until: float
    is_order: bool = False


class Newest(Generic[K, V]):
    """Keeps the values that were put in last, and forgets the others."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        """The value of a key, where it is still known."""
        return self._kept.get(key)

    def put(self, key: K, value: V) -> None:
        """Keep a value, in place of the one that the key had."""
        self._kept.pop(key, None)
        while len(self._kept) >= self._most:
            del self._kept[next(iter(self._kept))]
        self._kept[key] = value


class AgentsFile:
    """Searches below a root and a few other folders, and never looks above them or through a link.

    Args:
        root: Where a folder that is not absolute begins.
        allowed: Other folders that may be searched.
    """

    def __init__(self, root: Path, allowed: Sequence[Path] = ()) -> None:
        self._root = root
        self._tops = (root, *allowed)
        self._kept: dict[tuple[Path, int, int], Found] = {}

    async def find(self, directory: Path) -> Found | None:
        """The nearest file, from a folder upwards to the first one with `.git`, or 20 levels.

        `None` where there is none, where it is empty, and where it cannot be read.
        """
        try:
            return await asyncio.to_thread(self._find, directory)
        except (ToolFault, OSError, ValueError) as error:
            log.debug("AGENTS.md not read", extra={"cause": str(error)})
            return None

    def _find(self, directory: Path) -> Found | None:
        start = Path(os.path.realpath(self._root / directory))
        tops = [Path(os.path.realpath(top)) for top in self._tops]
        top = min((top for top in tops if start.is_relative_to(top)), key=_depth, default=None)
        if top is None:
            return None
        jail = Jail(top)
        place = PurePosixPath(start.relative_to(top))
        for folder in (place, *place.parents)[:MAX_LEVELS]:
            if entry := _stat(jail, folder / NAME):
                return self._read(jail, entry)
            if _stat(jail, folder / ".git"):
                return None
        return None

    def _read(self, jail: Jail, entry: Entry) -> Found | None:
        path = jail.root / entry.path
        key = (path, entry.modified, entry.size)
        found = self._kept.get(key)
        if found is None:
            found = Found(text=_text(jail.read(entry.path, MAX_BYTES + 1)), path=path)
            if len(self._kept) >= MAX_KEPT:
                self._kept.clear()
            self._kept[key] = found
        return found if found.text else None


class Directories:
    """Knows in which folder the tools of each session were last at work, of the sessions that worked last.

    The last of the gates: it lets every call pass.
    """

    def __init__(self, most: int = MAX_SESSIONS) -> None:
        self._folders: Newest[SessionKey, Path] = Newest(most)

    def note(self, session: SessionKey, path: str) -> None:
        """A file was named, by a path from the workspace or an absolute one."""
        self._folders.put(session, Path(path).parent)

    def of(self, session: SessionKey) -> Path | None:
        """The folder of the last file; `None` where there was none."""
        return self._folders.get(session)

    def waves_through(self, tool: Tool, arguments: Arguments, context: ToolContext) -> bool:
        """Note the file of a call; what a sub-agent does counts for the talk it works for."""
        path = arguments.get("path")
        if tool.name in FILE_TOOLS and isinstance(path, str):
            self.note(context.talk, path)
        return True

    async def judge(self, tool: Tool, arguments: Arguments, context: ToolContext) -> Arguments:
        """It is never asked."""
        return arguments


class Constraints:
    """Gives each turn what the AGENTS.md of its folder says, and tells of each version once a session.

    Args:
        own: The file whose text is in every prompt anyway.
        emit: Told of a file that is part of a session's prompts from now on.
        vet: Gives the text of a file, labelled where it reads like an attack; told the path, too.
    """

    def __init__(
        self,
        files: AgentsFile,
        directories: Directories,
        *,
        own: Path,
        emit: Callable[[AgentsMdLoaded], None],
        vet: Vet | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._vet = vet
        self._files = files
        self._directories = directories
        self._own = Path(os.path.realpath(own.parent), own.name)
        self._emit = emit
        self._clock = clock
        self._seen: Newest[Path, Seen] = Newest(MAX_KEPT)
        self._told: Newest[tuple[SessionKey, Path, int], bool] = Newest(MAX_SESSIONS)

    async def section(self, message: InboundMessage, *, is_preview: bool = False) -> str:
        """The section for the prompt, the same object as long as nothing changes; empty where none holds.

        Args:
            is_preview: Nobody is told: no model will see it yet.
        """
        named = message.directory
        directory = self._directories.of(message.session) if named is None else Path(named)
        if directory is None:
            return ""
        seen = await self._look(directory)
        if seen.found is not None and not is_preview:
            self._tell(message, seen.found)
            _taint_with(seen.found, is_order=seen.is_order)
        return seen.text

    async def _look(self, directory: Path) -> Seen:
        seen = self._seen.get(directory)
        if seen is not None and self._clock() < seen.until:
            return seen
        found = await self._files.find(directory)
        if found is not None and found.path == self._own:
            found = None
        text, is_order = "", False
        if seen is not None and seen.found is found:
            text, is_order = seen.text, seen.is_order
        elif found is not None:
            vetted = found.text if self._vet is None else await self._vet(found.text, str(found.path))
            text, is_order = f"{HEADER}\n{vetted}", vetted != found.text
        seen = Seen(found=found, text=text, until=self._clock() + FRESH, is_order=is_order)
        self._seen.put(directory, seen)
        return seen

    def _tell(self, message: InboundMessage, found: Found) -> None:
        version = (message.session, found.path, hash(found.text))
        if self._told.get(version) is None:
            self._told.put(version, True)
            self._emit(AgentsMdLoaded(session=message.session, run=message.run, path=str(found.path)))


def _taint_with(found: Found, *, is_order: bool) -> None:
    """Whoever put the file there speaks in this turn: it came with a folder and is not the operator's."""
    turn = known_taint()
    if turn is None:
        return
    turn.add("file", str(found.path))
    if is_order:
        turn.restrict(restriction(str(found.path)))


def _depth(path: Path) -> int:
    return len(path.parts)


def _stat(jail: Jail, path: PurePosixPath) -> Entry | None:
    try:
        return jail.stat(str(path))
    except Missing:
        return None


def _text(data: bytes) -> str:
    """The text, cut before a character that would be cut through, and then a word about the cut."""
    is_whole = len(data) <= MAX_BYTES
    decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
    text = decoder.decode(data[:MAX_BYTES], final=is_whole).strip()
    return text if is_whole else f"{text}\n[… cut after {MAX_BYTES:,} bytes]"
