"""Finds the AGENTS.md that holds for a folder: the nearest one, up to the top of its project."""

import asyncio
import codecs
import logging
import os
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from bot.messages import Frozen
from bot.tools.base import ToolFault
from bot.tools.workspace import Entry, Jail, Missing

log = logging.getLogger(__name__)

NAME = "AGENTS.md"
HEADER = "# Project AGENTS.md Constraints"
MAX_BYTES = 32_768
MAX_LEVELS = 20
MAX_KEPT = 64  # texts


class Found(Frozen, frozen=True, kw_only=True):
    """What an AGENTS.md says, and where it is."""

    text: str
    path: Path

    @property
    def rendered(self) -> str:
        """The section for the prompt."""
        return f"{HEADER}\n{self.text}"


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
