"""Takes apart the links in what a call says to people, before anybody permits it."""

from bot.agent.taint import known_taint
from bot.tools.base import Arguments, Tool, ToolContext
from security.taint.links import Links


class SpeechGate:
    """Fulfils `bot.tools.base.Gate`; stands before the one that approves, so that what is sent was seen."""

    def __init__(self, links: Links) -> None:
        self._links = links

    def waves_through(self, tool: Tool, arguments: Arguments, context: ToolContext) -> bool:
        """See the protocol."""
        turn = known_taint()
        return not tool.says or turn is None or not turn.foreign

    async def judge(self, tool: Tool, arguments: Arguments, context: ToolContext) -> Arguments:
        """See the protocol; nothing is denied."""
        changed = {name: self._shown(arguments[name]) for name in tool.says if name in arguments}
        return (
            {**arguments, **changed}
            if any(changed[name] != arguments[name] for name in changed)
            else arguments
        )

    def _shown(self, value: object) -> object:
        match value:
            case str():
                return self._links.redact(value)
            case list() | tuple():
                return [self._shown(inner) for inner in value]
            case _:
                return value
