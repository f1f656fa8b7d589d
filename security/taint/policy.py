"""Decides what a turn may still do, by what it has read."""

from collections.abc import Iterator
from typing import Final, Literal, TypeAlias

from bot.agent.taint import Source, Taint, known_taint
from bot.settings.taint import Answer, SourceRules, TaintSettings
from bot.tools.approval import Doubt, Mode, one_line
from bot.tools.base import Arguments, Tool, ToolContext
from security.taint.links import Links
from security.taint.places import Places
from security.taint.screen import texts_of

Deed: TypeAlias = Literal["acts", "writes", "guarded", "leaves"]

MODES: Final[dict[Answer, Mode]] = {"allow": "auto", "ask": "confirm", "deny": "deny"}
ORDER: Final[tuple[Mode, ...]] = ("auto", "confirm", "deny")
MAX_SHOWN: Final = 5  # sources in a question
MAX_SHOWN_ORIGIN: Final = 120  # characters
DEEDS: Final[dict[Deed, str]] = {
    "acts": "The demand may come from what this turn has read",
    "writes": "What is written may come from what this turn has read",
    "guarded": "Later turns obey this file, and the text may come from what this turn has read",
    "leaves": "What this turn has read may leave with this call",
}


class TaintPolicy:
    """Fulfils `bot.tools.approval.Suspicion`."""

    def __init__(self, settings: TaintSettings, links: Links, places: Places) -> None:
        self._rules: dict[Source, SourceRules] = {
            "member": settings.member,
            "stranger": settings.stranger,
            "web": settings.web,
            "file": settings.file,
            "mcp": settings.mcp,
            "tool": settings.tool,
        }
        self._is_on = settings.enabled
        self._links = links
        self._places = places

    def doubt(self, tool: Tool, arguments: Arguments, context: ToolContext) -> Doubt | None:
        """See the protocol."""
        turn = known_taint()
        if turn is None or not self._is_on:
            return None
        foreign = turn.foreign
        if not foreign and turn.restriction is None:
            return None
        deed = self._deed(tool, arguments, context, turn)
        if deed is None:
            return None
        answers = [getattr(self._rules[source], deed) for source in foreign if source in self._rules]
        modes: list[Mode] = [MODES[answer] for answer in answers]
        if turn.restriction is not None and deed != "writes":
            modes.append("confirm" if context.is_admin else "deny")
        mode: Mode = max(modes, key=ORDER.index, default="auto")
        if mode == "auto":
            return None
        return Doubt(mode=mode, told=_told(deed, turn), may_last=turn.restriction is None)

    def _deed(self, tool: Tool, arguments: Arguments, context: ToolContext, turn: Taint) -> Deed | None:
        """The worst that a call would do."""
        if "acts" in tool.effects and (tool.acts_if is None or tool.acts_if(arguments, context)):
            return "acts"
        if tool.place is not None and tool.place.writes:
            return "guarded" if self._places.is_guarded(tool.place, arguments) else "writes"
        if "reads_untrusted" in tool.effects and self._links.leaves(texts_of(arguments), turn):
            return "leaves"
        return None


def _told(deed: Deed, turn: Taint) -> str:
    """Words for who is asked; what others wrote can't pass for more than a name in them."""
    read = ", ".join(_sources(turn)) or "nothing foreign"
    more = "" if turn.restriction is None else f" Caution: {one_line(turn.restriction, MAX_SHOWN_ORIGIN)}."
    return f"{DEEDS[deed]}: {read}.{more}"


def _sources(turn: Taint) -> Iterator[str]:
    found = [source for source in turn.origins if source in turn.foreign]
    for source in found[:MAX_SHOWN]:
        origin = one_line(turn.origins[source], MAX_SHOWN_ORIGIN)
        yield f"{source} `{origin}`" if origin else source
