"""The bill of one turn: what its model calls have used, and what is set aside for those that run."""

import asyncio
import logging
from typing import Final, Protocol

import msgspec
from msgspec.structs import replace

from bot.agent.accounts import Account, Accounts, Books, Calendar, Payer, Scope
from bot.agent.estimate import Calibration
from bot.agent.history import estimate_tokens
from bot.agent.prices import Prices
from bot.agent.refusals import Shortage
from bot.agent.store import Spent
from bot.backends.base import TokenUsageEvent
from bot.errors import BudgetSpent, StoreError
from bot.models.base import ModelRequest

log = logging.getLogger(__name__)

LEAST_OUTPUT: Final = 256  # tokens; a budget that leaves fewer for an answer refuses the call
WRITE_SECONDS = 30.0
MAX_NAME = 200  # characters of a model's name, which servers may make up
SAMPLE = 1_000_000  # tokens, to learn from a calibration by how much a guess may be off


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """What the bills of a bot have in common."""

    prices: Prices
    accounts: Accounts
    books: Books
    calendar: Calendar
    calibration: Calibration
    currency: str


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """A model call that is under way.

    Attributes:
        day: On which it began.
        guess: Our estimate of the prompt, in tokens; `None` where no budget needs it.
        prompt: What was set aside for the prompt, in tokens.
        cost: What was set aside for all of it.
    """

    request: ModelRequest
    day: str
    guess: int | None = None
    prompt: int = 0
    cost: int = 0

    @property
    def tokens(self) -> int:
        """What was set aside for prompt and answer."""
        return self.prompt + self.request.max_completion_tokens


class Strand(Protocol):
    """Model calls that come one after another."""

    def close(self) -> None:
        """Settle the one that still runs."""


class Bill:
    """Adds up what the model calls of a turn use, and sets aside beforehand what they can use.

    Whoever opens it closes it, has what was used written, and releases it then.

    Attributes:
        payer: Whose accounts they go to.
        refusal: The last call that was refused, `refused_by` the budget that has done so.
        is_closed: No more calls are made.
    """

    def __init__(self, terms: Terms, payer: Payer) -> None:
        self.payer = payer
        self.refusal: BudgetSpent | None = None
        self.refused_by: Scope | None = None
        self.is_closed = False
        self._terms = terms
        self._accounts: dict[str, tuple[Account, ...]] = {}  # by day
        self._day = ""
        self._spent: dict[tuple[str, str], Spent] = {}  # by day and model
        self._strands: list[Strand] = []

    @property
    def has_budgets(self) -> bool:
        """Whether anything has to be set aside."""
        return not self._terms.accounts.is_empty

    @property
    def spent(self) -> tuple[Spent, ...]:
        """What was used so far, in the order of the first calls."""
        return tuple(self._spent.values())

    def is_refused(self, text: str) -> bool:
        """Whether a failure that a person would be told of is that a budget refused a call."""
        return self.refusal is not None and str(self.refusal) in text

    def another(self) -> "Bill":
        """One more for the same payer, for what goes on when this one is closed."""
        return Bill(self._terms, self.payer)

    def today(self) -> str:
        """The day that calls go to which begin now."""
        return self._terms.calendar.today()

    def join(self, strand: Strand) -> None:
        """Have a strand of calls settled when the bill is closed."""
        self._strands.append(strand)

    def drop(self, strand: Strand) -> None:
        """Forget a strand that is settled."""
        if strand in self._strands:
            self._strands.remove(strand)

    async def ready(self) -> None:
        """Have the accounts of today at hand; they are read only where nobody has used them before."""
        day = self.today()
        if not self.has_budgets or self.is_closed:
            return
        if day not in self._accounts:
            self._accounts[day] = self._terms.accounts.hold(self.payer, day)
        await self._terms.accounts.load(self._accounts[day])
        self._day = day

    def check(self) -> None:
        """Refuse a turn for which nothing is left, whoever its backend asks.

        Raises:
            BudgetSpent: A budget is used up.
        """
        for account in self._accounts.get(self._day, ()):
            if account.is_used_up:
                raise self._refused(Shortage(account=account))

    def reserve(self, request: ModelRequest, guess: int, *, is_fixed: bool = False) -> Call:
        """Set aside the most that a call can use; its answer is shortened where that makes it fit.

        Args:
            guess: Our estimate of the prompt, in tokens.
            is_fixed: The request is on its way, so that its answer can't be shortened.

        Raises:
            BudgetSpent: It does not fit into a budget.
        """
        terms, accounts = self._terms, self._accounts[self._day]
        rate = terms.prices.of(request.model)
        prompt = self._cautious(guess, request.model)
        wanted = request.max_completion_tokens
        least = wanted if is_fixed else min(LEAST_OUTPUT, wanted)
        room, tightest = min(
            ((account.room(prompt, rate), account) for account in accounts), key=lambda pair: pair[0]
        )
        if room < least:
            raise self._refused(
                Shortage(account=tightest, model=request.model, prompt=prompt, least=least, rate=rate)
            )
        if room < wanted:
            request = replace(request, max_completion_tokens=room)
        cost = rate.cost(prompt, request.max_completion_tokens) if rate is not None else 0
        call = Call(request=request, day=self._day, guess=guess, prompt=prompt, cost=cost)
        for account in accounts:
            account.hold(call.tokens, call.cost)
        return call

    def _cautious(self, guess: int, model: str) -> int:
        """What a prompt takes at most, as far as the server's counts have shown."""
        return -(-guess * SAMPLE // self._terms.calibration.budget(model, SAMPLE))

    def _refused(self, shortage: Shortage) -> BudgetSpent:
        self.refusal = BudgetSpent(shortage.tell(self._terms.calendar, self._terms.currency))
        self.refused_by = shortage.account.scope
        log.info("model call refused", extra={"budget": shortage.account.scope.kind})
        return self.refusal

    def give_back(self, call: Call) -> None:
        """Free what was set aside for a call."""
        for account in self._accounts.get(call.day, ()):
            account.hold(-call.tokens, -call.cost)

    def settle(self, call: Call, usage: TokenUsageEvent) -> None:
        """Put the server's figures in the place of what was set aside."""
        self.give_back(call)
        if call.guess is not None and usage.prompt:
            self._terms.calibration.note(call.request.model, call.guess, usage.prompt)
        self.charge(usage, call)

    def settle_guess(self, call: Call, guess: int, said: str) -> None:
        """Do so with our own estimate, where the server gives no figures.

        Args:
            guess: Of the prompt, in tokens.
            said: What came of the answer.
        """
        self.give_back(call)
        model = call.request.model
        prompt = round(guess * self._terms.calibration.factor(model))
        if call.guess is not None:
            prompt = min(prompt, call.prompt)
        completion = min(estimate_tokens(said), call.request.max_completion_tokens) if said else 0
        self.charge(TokenUsageEvent(model=model, prompt=prompt, completion=completion), call)

    def charge(self, usage: TokenUsageEvent, call: Call | None = None) -> None:
        """Note what a call has used, known to us beforehand or not."""
        day = call.day if call is not None else self._day or self.today()
        asked = call.request.model if call is not None else ""
        model = (usage.model or asked or "unknown")[:MAX_NAME]
        rate = self._terms.prices.of(model) or self._terms.prices.of(asked)
        cost = rate.cost(usage.prompt, usage.completion, usage.cached) if rate is not None else 0
        for account in self._accounts.get(day, ()):
            account.charge(usage.prompt + usage.completion, cost)
        known = self._spent.get((day, model)) or self._nothing(day, model)
        self._spent[day, model] = replace(
            known,
            calls=known.calls + 1,
            prompt=known.prompt + usage.prompt,
            completion=known.completion + usage.completion,
            cached=known.cached + usage.cached,
            cost=known.cost + cost,
        )

    def _nothing(self, day: str, model: str) -> Spent:
        payer = self.payer
        return Spent(
            day=day,
            person=payer.person,
            channel=payer.channel,
            session=payer.session,
            model=model,
            calls=0,
            prompt=0,
            completion=0,
        )

    def close(self) -> tuple[Spent, ...]:
        """Settle what still runs and let no more begin; gives what was used."""
        for strand in tuple(self._strands):
            strand.close()
        self.is_closed = True
        return self.spent

    async def write(self) -> None:
        """Write what a closed bill comes to, where no end of a turn does; one that can't be is logged."""
        if not self._spent:
            return
        try:
            async with asyncio.timeout(WRITE_SECONDS):
                await self._terms.books.add(self.spent)
        except (StoreError, TimeoutError) as error:
            log.error("usage not written", extra={"cause": str(error)})

    def release(self) -> None:
        """Let go of the accounts, once what was used is written."""
        accounts, self._accounts = self._accounts, {}
        for held in accounts.values():
            self._terms.accounts.release(held)
