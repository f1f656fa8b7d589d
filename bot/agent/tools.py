"""The ledger of one run: each tool call written down, so that none of unknown outcome is repeated."""

from typing import Literal

from bot.agent.run import Run
from bot.agent.store import ToolLedger
from bot.models.base import ToolCall


class RunLedger:
    """Fulfils `bot.tools.base.Ledger` for an attempt at a run."""

    def __init__(self, ledger: ToolLedger, run: Run) -> None:
        self._ledger = ledger
        self._run = run

    async def begin(self, call: ToolCall) -> bool:
        """See the protocol."""
        return await self._ledger.tool_started(self._run.id, self._run.attempt, call)

    async def end(self, call: ToolCall, *, status: Literal["ok", "error"], result: str, rounds: int) -> None:
        """See the protocol."""
        await self._ledger.tool_ended(
            self._run.id, self._run.attempt, call, status=status, result=result, rounds=rounds
        )
