"""All that a turn needs to call tools, put together for the person who asked."""

from collections.abc import Callable, Sequence

from bot.hooks.registry import Hooks
from bot.messages import InboundMessage
from bot.tools.base import UNWATCHED, Gate, Ledger, ToolContext, Watch
from bot.tools.calls import DEFAULT_LIMITS, CallLimits, ToolCalls
from bot.tools.jobs import Jobs
from bot.tools.registry import ToolRegistry
from bot.tools.results import Results


class ToolBox:
    """Fulfils `bot.agent.seams.ToolSource`.

    Args:
        is_admin: Whether the sender of a message may steer the bot as a whole.
        gates: Those that change arguments first, those that approve them last.
        watch: Who looks at results and denials.
    """

    def __init__(
        self,
        registry: ToolRegistry,
        *,
        results: Results,
        jobs: Jobs,
        is_admin: Callable[[InboundMessage], bool],
        hooks: Hooks | None = None,
        gates: Sequence[Gate] = (),
        limits: CallLimits = DEFAULT_LIMITS,
        watch: Watch = UNWATCHED,
    ) -> None:
        self._registry = registry
        self._results = results
        self._jobs = jobs
        self._is_admin = is_admin
        self._hooks = hooks
        self._gates = gates
        self._limits = limits
        self._watch = watch

    def tools_for(self, message: InboundMessage, ledger: Ledger | None, *, depth: int = 0) -> ToolCalls:
        """See the protocol.

        Args:
            depth: See `ToolContext`.
        """
        calls = ToolCalls(
            self._registry.offer_for(message),
            ToolContext(message=message, is_admin=self._is_admin(message), depth=depth),
            results=self._results,
            jobs=self._jobs,
            ledger=ledger,
            hooks=self._hooks,
            gates=self._gates,
            limits=self._limits,
        )
        calls.watch = self._watch
        return calls
