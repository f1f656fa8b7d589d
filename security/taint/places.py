"""Where calls read and write, and what is known of who has written there."""

import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import Final, Protocol

from bot.agent.taint import Carried
from bot.tools.base import Arguments, Place, ToolFault
from bot.tools.workspace import Jail

NOTES: Final = "notes"
SKILLS: Final = "skills"
OBEYED: Final = frozenset({"heartbeat.md", "skill.md"})  # beside those that say who the bot is
FILES, NOTE = "file:", "note:"


class Marks(Protocol):
    """Remembers what was written by turns that had read something foreign."""

    def of(self, key: str) -> Carried | None:
        """What a place keeps of the turn that wrote it."""

    def under(self, prefix: str) -> Sequence[Carried]:
        """The same of all places whose keys begin so."""

    async def put(self, key: str, carried: Carried) -> None:
        """Mark a place, on top of what it keeps already."""

    async def drop(self, key: str) -> None:
        """Forget a place: nothing foreign is left in it."""


class Places:
    """Names places in one way, whatever spelling a call uses."""

    def __init__(self, workspace: Path, marks: Marks) -> None:
        self._jail = Jail(workspace)
        self._marks = marks

    def is_guarded(self, place: Place, arguments: Arguments) -> bool:
        """Whether a file is one that later turns obey; never a place without a name."""
        path = named(place, arguments)
        if place.kind != "file" or not path:
            return False
        parts = self._parts(path)
        return bool(parts) and (
            self._jail.is_identity(path) or parts[-1] in OBEYED or (parts[0] == SKILLS and len(parts) > 1)
        )

    def is_obeyed(self, place: Place, arguments: Arguments) -> bool:
        """Whether what is read there is the operator's own word: a skill, or a guarded file at the top."""
        path = named(place, arguments)
        if place.kind != "file" or not self.is_guarded(place, arguments):
            return False
        parts = self._parts(path)
        return parts[0] == SKILLS or len(parts) == 1

    def marks_of(self, place: Place, arguments: Arguments) -> list[Carried]:
        """What is known of who has written what a call reads; a note is a file as well."""
        match place.kind:
            case "note":
                title = named(place, arguments)
                notes = [self._marks.of(NOTE + _flat(title))] if title else self._marks.under(NOTE)
                return [*_known(notes), *self._marks.under(f"{FILES}{NOTES}/")]
            case "file":
                parts = self._parts(named(place, arguments) or ".")
                key = FILES + "/".join(parts)
                found = [*_known([self._marks.of(key)]), *self._marks.under(f"{key}/" if parts else key)]
                if parts[:1] in ((), (NOTES,)):
                    found += self._marks.under(NOTE)
                return found
            case _:
                return []

    async def wrote(self, place: Place, arguments: Arguments, carried: Carried | None) -> None:
        """Note that a call has written, and what the turn had read; `None` for nothing foreign."""
        name = named(place, arguments)
        if not place.writes or not name or place.kind not in ("file", "note"):
            return
        key = NOTE + _flat(name) if place.kind == "note" else FILES + "/".join(self._parts(name))
        if carried is not None:
            await self._marks.put(key, carried)
        elif place.writes == "whole":
            await self._marks.drop(key)

    def _parts(self, path: str) -> tuple[str, ...]:
        try:
            located = self._jail.locate(path)
        except ToolFault:  # leads out: nothing is there for the call either
            located = PurePosixPath(path)
        return tuple(_flat(part) for part in located.parts)


def named(place: Place, arguments: Arguments) -> str:
    """The place that a call names; empty where it names none."""
    value = arguments.get(place.argument) if place.argument else None
    return value if isinstance(value, str) else ""


def _flat(name: str) -> str:
    """What spellings have in common that some file system, or the list of notes, takes for the same."""
    seen = "".join(char for char in name if unicodedata.category(char) != "Cf")
    return unicodedata.normalize("NFKC", " ".join(seen.split())).casefold()


def _known(found: Iterable[Carried | None]) -> list[Carried]:
    return [one for one in found if one is not None]
