"""All that a turn needs to call tools, put together for the person who asked."""

from collections.abc import Callable, Sequence

from bot.messages import InboundMessage
from bot.tools.base import Gate, Ledger, ToolContext
from bot.tools.calls import BATCH_SECONDS, GATE_SECONDS, ToolCalls
from bot.tools.jobs import Jobs
from bot.tools.registry import ToolRegistry
from bot.tools.results import Results


class ToolBox:
    """Fulfils `bot.agent.seams.ToolSource`.

    Args:
        is_admin: Whether the sender of a message may steer the bot as a whole.
        gates: Those that change arguments first, those that approve them last.
    """

    def __init__(
        self,
        registry: ToolRegistry,
        *,
        results: Results,
        jobs: Jobs,
        is_admin: Callable[[InboundMessage], bool],
        gates: Sequence[Gate] = (),
        batch_seconds: float = BATCH_SECONDS,
        gate_seconds: float = GATE_SECONDS,
    ) -> None:
        self._registry = registry
        self._results = results
        self._jobs = jobs
        self._is_admin = is_admin
        self._gates = gates
        self._batch_seconds = batch_seconds
        self._gate_seconds = gate_seconds

    def tools_for(self, message: InboundMessage, ledger: Ledger) -> ToolCalls:
        """See the protocol."""
        return ToolCalls(
            self._registry.tools_for(message),
            ToolContext(message=message, is_admin=self._is_admin(message)),
            results=self._results,
            jobs=self._jobs,
            ledger=ledger,
            gates=self._gates,
            batch_seconds=self._batch_seconds,
            gate_seconds=self._gate_seconds,
        )
