"""A tab on the bill of a turn, for model calls that come one after another."""

from types import TracebackType
from typing import Self

from msgspec.structs import replace

from bot.agent.billing import Bill, Call
from bot.agent.estimate import Meter
from bot.backends.base import (
    AgentEvent,
    DoneEvent,
    ErrorEvent,
    MessageEvent,
    RetryEvent,
    ThinkingEvent,
    TokenUsageEvent,
    ToolUseEvent,
)
from bot.errors import ModelError
from bot.models.base import ModelRequest

OVER = "This turn is over."


class Tab:
    """The model calls of one strand, one after another; fulfils `bot.backends.base.Oversight`.

    Whoever reads the backend's events shows each of them to `note`, before anything else is done with it.

    Attributes:
        bill: What it is a part of.
    """

    def __init__(self, bill: Bill) -> None:
        bill.join(self)
        self.bill = bill
        self._call: Call | None = None
        self._said: list[str] = []
        self._meter = Meter()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def look(self, request: ModelRequest, step: int) -> ModelRequest:
        """See the protocol; without a budget, it only remembers the request.

        Raises:
            BudgetSpent: A budget leaves no room for it.
        """
        bill = self.bill
        self._end(is_due=False)
        if bill.has_budgets:
            await bill.ready()
        if bill.is_closed:
            raise ModelError(OVER)
        if bill.has_budgets:
            self._call = bill.reserve(request, self._measure(request))
        else:
            self._call = Call(request=request, day=bill.today())
        return self._call.request

    def note(self, event: AgentEvent) -> None:
        """Take in an event of the backend.

        Raises:
            BudgetSpent: A call that failed is about to be made again, and a budget leaves no room for that:
                the reader has to stop.
        """
        if self.bill.is_closed:
            return
        match event:
            case MessageEvent(content=text) | ThinkingEvent(content=text):
                if self._call is not None:
                    self._said.append(text)
            case ToolUseEvent(call=call):
                if self._call is not None:
                    self._said.append(call.function.name + call.function.arguments)
            case TokenUsageEvent():
                self._settle(event)
            case RetryEvent(model=model):
                self._repeat(model)
            case ErrorEvent():
                self._end(is_due=False)
            case DoneEvent():
                self._end(is_due=True)

    def close(self) -> None:
        """Settle what still runs: a call that is cut short costs its prompt and what came of the answer."""
        self._end(is_due=True)
        self.bill.drop(self)

    def _measure(self, request: ModelRequest) -> int:
        return self._meter.measure(request.messages, request.tools, window=1).total

    def _settle(self, usage: TokenUsageEvent) -> None:
        if not usage.prompt and not usage.completion:
            return  # a server that does not count
        call, self._call = self._call, None
        self._said.clear()
        if call is None:
            self.bill.charge(usage)
        else:
            self.bill.settle(call, usage)

    def _repeat(self, model: str) -> None:
        """A call has failed and is made again, by another model perhaps."""
        if (call := self._call) is None:
            return
        self._end(is_due=False)
        request = replace(call.request, model=model)
        if call.guess is None:
            self._call = Call(request=request, day=call.day)
        else:
            self._call = self.bill.reserve(request, call.guess, is_fixed=True)

    def _end(self, *, is_due: bool) -> None:
        """End a call of which there are no figures; one that gave nothing costs nothing, unless it is due."""
        if (call := self._call) is None:
            return
        said = "".join(self._said)
        self._call = None
        self._said.clear()
        if said or is_due:
            guess = call.guess if call.guess is not None else self._measure(call.request)
            self.bill.settle_guess(call, guess, said)
        else:
            self.bill.give_back(call)
