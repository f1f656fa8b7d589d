"""Tools of a turn with every call written down, so that none of unknown outcome is repeated."""

from bot.agent.run import Run
from bot.agent.store import ToolLedger
from bot.backends.base import ToolResultEvent, Tools
from bot.models.base import ToolCall, ToolSchema

UNKNOWN = (
    "This call was begun before a restart and nobody knows whether it took effect. It was not made again: "
    "find out what happened before you repeat it."
)


class LedgerTools:
    """Wraps the tools of a turn: written down before, written down after."""

    def __init__(self, tools: Tools, ledger: ToolLedger, run: Run) -> None:
        self._tools = tools
        self._ledger = ledger
        self._run = run

    @property
    def schemas(self) -> tuple[ToolSchema, ...]:
        """See `Tools.schemas`."""
        return self._tools.schemas

    async def call(self, call: ToolCall) -> ToolResultEvent:
        """See `Tools.call`."""
        run = self._run
        is_fresh = await self._ledger.tool_started(run.id, run.attempt, call)
        if is_fresh:
            result = await self._tools.call(call)
        else:
            result = ToolResultEvent(call=call, content=UNKNOWN, status="error")
        await self._ledger.tool_ended(run.id, run.attempt, call, status=result.status, result=result.content)
        return result
