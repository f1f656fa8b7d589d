"""Looks at what tools give before the model does: where it comes from, and what it says."""

from collections.abc import Sequence
from typing import Final

from bot.agent.taint import Carried, Source, Taint, known_taint, restriction
from bot.tools.base import Arguments, Status, Tool
from security.injection import wrap_untrusted
from security.taint.places import Places, named
from security.taint.texts import TextScreen

SEVERAL: Final = "several sources"


class ResultScreen:
    """Fulfils `bot.tools.base.Screen`."""

    def __init__(self, texts: TextScreen, places: Places) -> None:
        self._texts = texts
        self._places = places

    async def take_in(
        self,
        tool: Tool,
        arguments: Arguments,
        text: str,
        *,
        status: Status,
        origins: tuple[tuple[Source, str], ...] = (),
    ) -> str:
        """See the protocol."""
        turn = known_taint()
        if turn is None:
            return text
        if tool.place is not None and tool.place.writes:
            await self._note_written(tool, arguments, turn, is_done=status == "ok")
            return text
        marks = [] if tool.place is None else self._places.marks_of(tool.place, arguments)
        is_private = "reads_private" in tool.effects
        turn.is_private = turn.is_private or is_private or any(mark.is_private for mark in marks)
        read = [*self._read(tool, arguments), *_read_of(marks), *origins]
        is_obeyed = tool.place is not None and self._places.is_obeyed(tool.place, arguments)
        if not read and not is_obeyed:
            turn.keep(text, is_quotable=False, is_private=is_private)
            return text
        if is_obeyed and not marks:
            return await self._vet(text, _origin(tool, arguments), turn)
        for source, origin in read:
            turn.add(source, origin)
        is_quotable = not marks and not origins and _is_quotable(tool, arguments)
        turn.keep(text, is_quotable=is_quotable, is_private=is_private)
        return await self._texts.label(text, _shown(read), turn)

    async def _vet(self, text: str, origin: str, turn: Taint) -> str:
        """A text that is to be obeyed; one that reads like an attack is as foreign as any file."""
        vetted = await self._texts.vet(text, origin)
        if vetted != text:
            turn.add("file", origin)
            turn.restrict(restriction(origin))
        return vetted

    def _read(self, tool: Tool, arguments: Arguments) -> Sequence[tuple[Source, str]]:
        if "reads_untrusted" not in tool.effects:
            return ()
        if tool.place is not None and self._places.is_obeyed(tool.place, arguments):
            return ()
        return ((tool.source, _origin(tool, arguments)),)

    async def _note_written(self, tool: Tool, arguments: Arguments, turn: Taint, *, is_done: bool) -> None:
        """Mark what a turn has written; a guarded file was permitted by somebody who saw it."""
        assert tool.place is not None
        if not is_done or self._places.is_guarded(tool.place, arguments):
            return
        await self._places.wrote(tool.place, arguments, turn.carried() if turn.foreign else None)


class LabelScreen:
    """Fulfils `bot.tools.base.Screen` where taint is off: marks what others wrote, files aside."""

    async def take_in(
        self,
        tool: Tool,
        arguments: Arguments,
        text: str,
        *,
        status: Status,
        origins: tuple[tuple[Source, str], ...] = (),
    ) -> str:
        """See the protocol."""
        if "reads_untrusted" not in tool.effects or tool.source == "file":
            return text
        return wrap_untrusted(text, f"{tool.source} {_origin(tool, arguments)}")


def _origin(tool: Tool, arguments: Arguments) -> str:
    """What a call has read, for people: a page, a file, or the tool itself."""
    where = "" if tool.place is None else named(tool.place, arguments)
    if tool.place is not None and tool.place.kind in ("url", "file") and where:
        return where
    return f"{tool.name} {where}".strip()


def _read_of(marks: Sequence[Carried]) -> list[tuple[Source, str]]:
    return [pair for mark in marks for pair in mark.origins]


def _shown(read: Sequence[tuple[Source, str]]) -> str:
    names = list(dict.fromkeys(f"{source} {origin}".strip() for source, origin in read))
    return names[0] if len(names) == 1 else f"{SEVERAL}: {names[0]}"


def _is_quotable(tool: Tool, arguments: Arguments) -> bool:
    """Whether addresses in a result are as others wrote them: what a tool is given it may give back."""
    match tool.source:
        case "web" | "file":
            return True
        case "mcp":
            return not any("//" in value or "www." in value for value in texts_of(arguments))
        case _:
            return False


def _texts(value: object) -> list[str]:
    """All texts in the arguments of a call, however deep."""
    match value:
        case str():
            return [value]
        case dict():
            return [text for inner in value.values() for text in _texts(inner)]
        case list() | tuple():
            return [text for inner in value for text in _texts(inner)]
        case _:
            return []


def texts_of(arguments: Arguments) -> list[str]:
    """All texts in the arguments of a call, however deep."""
    return _texts(dict(arguments))
