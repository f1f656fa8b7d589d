"""What persons, sessions, channels and all together may use, have used, and have set aside."""

import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Literal, Protocol, TypeAlias
from zoneinfo import ZoneInfo

from bot.agent.prices import COIN, UNLIMITED, Rate
from bot.agent.store import Spent
from bot.messages import Frozen, InboundMessage, Role, SessionKey
from bot.settings.spending import BudgetSettings, BudgetsSettings

Kind: TypeAlias = Literal["person", "session", "channel", "all"]

MAX_IDLE = 10_000  # accounts that are kept though nothing runs on them; the store has the others


class Payer(Frozen, frozen=True, kw_only=True):
    """Whose accounts model calls go to.

    Attributes:
        person: As `channel:id`.
        is_guest: A budget for guests holds in place of a person's.
    """

    person: str
    session: SessionKey
    channel: str
    is_guest: bool = False


def payer_of(message: InboundMessage) -> Payer:
    """Who pays for the answer to a message: who has sent it."""
    channel = message.address.channel
    return Payer(
        person=f"{channel}:{message.sender.id}",
        session=message.session,
        channel=channel,
        is_guest=message.sender.role is Role.GUEST,
    )


class Scope(Frozen, frozen=True):
    """What a budget is for: `name` is empty for all together, `day` is `None` for a session."""

    kind: Kind
    name: str
    day: str | None


class Amount(Frozen, frozen=True):
    """So many tokens, and their cost in billionths of the currency."""

    tokens: int = 0
    cost: int = 0


class Books(Protocol):
    """Keeps over a restart what was used."""

    async def used(self, scopes: Sequence[Scope]) -> Sequence[Amount]:
        """What was used in each scope."""

    async def add(self, spent: Sequence[Spent]) -> None:
        """Write down what no turn's end does."""


class NoBooks:
    """Forgets everything."""

    async def used(self, scopes: Sequence[Scope]) -> Sequence[Amount]:
        """Nothing."""
        return [Amount() for _ in scopes]

    async def add(self, spent: Sequence[Spent]) -> None:
        """Nothing is written."""


class Calendar:
    """Tells the day in a time zone, and when it ends; looked up once a day.

    Args:
        zone: As in `Europe/Berlin`.
        now: Seconds since 1970.
    """

    def __init__(self, zone: str, now: Callable[[], float] = time.time) -> None:
        self.zone = zone
        self._zone = ZoneInfo(zone)
        self._now = now
        self._day = ""
        self._begin = self._end = 0.0

    def today(self) -> str:
        """The day, as `2031-05-17`."""
        if not self._begin <= self._now() < self._end:
            self._turn_over()
        return self._day

    def days_ago(self, days: int) -> str:
        """An earlier day."""
        return str(datetime.fromisoformat(self.today()).date() - timedelta(days=days))

    def seconds_left(self) -> float:
        """Until the next day begins."""
        self.today()
        return self._end - self._now()

    def _turn_over(self) -> None:
        day = datetime.fromtimestamp(self._now(), self._zone).date()
        begin, end = (
            datetime(each.year, each.month, each.day, tzinfo=self._zone).timestamp()
            for each in (day, day + timedelta(days=1))
        )
        self._day, self._begin, self._end = str(day), begin, end


class Account:
    """One scope with its budget: arithmetic without a wait, and so exact however many calls run at once.

    Attributes:
        tokens: Used; `None` stands for no limit in `most_tokens`. Costs are in billionths of the currency.
        held_tokens: Set aside for calls that run.
        is_loaded: What the store knows is included.
        holders: Turns that may use it.
    """

    __slots__ = (
        "cost",
        "held_cost",
        "held_tokens",
        "holders",
        "is_loaded",
        "most_cost",
        "most_tokens",
        "scope",
        "tokens",
    )

    def __init__(self, scope: Scope, budget: BudgetSettings) -> None:
        self.scope = scope
        self.limit(budget)
        self.tokens = self.cost = 0
        self.held_tokens = self.held_cost = 0
        self.holders = 0
        self.is_loaded = False

    def limit(self, budget: BudgetSettings) -> None:
        """Hold to a budget from now on."""
        self.most_tokens = budget.tokens
        self.most_cost = None if budget.cost is None else round(budget.cost * COIN)

    def load(self, used: Amount) -> None:
        """Begin with what the store knows; what a second reader brings changes nothing."""
        if not self.is_loaded:
            self.tokens += used.tokens
            self.cost += used.cost
            self.is_loaded = True

    def room(self, prompt: int, rate: Rate | None, *, is_alone: bool = False) -> int:
        """The most tokens of an answer that can be paid beside a prompt; below zero where that can't.

        Args:
            is_alone: As if no other call ran.
        """
        held_tokens, held_cost = (0, 0) if is_alone else (self.held_tokens, self.held_cost)
        room = UNLIMITED
        if self.most_tokens is not None:
            room = self.most_tokens - self.tokens - held_tokens - prompt
        if self.most_cost is not None:
            left = self.most_cost - self.cost - held_cost
            room = min(room, rate.most_completion(left, prompt) if rate is not None else -1)
        return room

    @property
    def is_used_up(self) -> bool:
        """Whether nothing is left, whatever becomes of the calls that run."""
        return (self.most_tokens is not None and self.tokens >= self.most_tokens) or (
            self.most_cost is not None and self.cost >= self.most_cost
        )

    def hold(self, tokens: int, cost: int) -> None:
        """Set something aside; with what was held, negated, give it back."""
        self.held_tokens += tokens
        self.held_cost += cost

    def charge(self, tokens: int, cost: int) -> None:
        """Note what was used."""
        self.tokens += tokens
        self.cost += cost


class Accounts:
    """The accounts that have a budget; those on which nothing runs are forgotten, the oldest first.

    One process owns the store, so what is in memory is never behind it: an account is forgotten only when all
    that was charged to it is written.

    Args:
        account_of: The name of a person's account; those who are one and the same share it.
    """

    def __init__(
        self,
        budgets: BudgetsSettings,
        books: Books,
        *,
        most_idle: int = MAX_IDLE,
        account_of: Callable[[str], str] = str,
    ) -> None:
        each: dict[Kind, BudgetSettings] = {
            "person": budgets.person,
            "session": budgets.session,
            "channel": budgets.channel,
            "all": budgets.all,
        }
        self._budgets = {kind: budget for kind, budget in each.items() if budget.is_set}
        self._guest = budgets.guest if budgets.guest.is_set else None
        self._books = books
        self._most_idle = most_idle
        self._account_of = account_of
        self._held: dict[Scope, Account] = {}
        self._idle: dict[Scope, Account] = {}

    @property
    def is_empty(self) -> bool:
        """Whether there is no budget at all."""
        return not self._budgets and self._guest is None

    def __len__(self) -> int:
        return len(self._held) + len(self._idle)

    def hold(self, payer: Payer, day: str) -> tuple[Account, ...]:
        """The accounts of a payer on a day; they stay in memory until `release`."""
        return tuple(self._hold(scope, budget) for scope, budget in self._scopes(payer, day))

    def _scopes(self, payer: Payer, day: str) -> Iterator[tuple[Scope, BudgetSettings]]:
        person = self._account_of(payer.person)
        names = {"person": person, "session": payer.session, "channel": payer.channel, "all": ""}
        budgets = self._budgets
        if payer.is_guest and self._guest is not None:
            budgets = {**budgets, "person": self._guest}
        for kind, budget in budgets.items():
            yield Scope(kind, names[kind], None if kind == "session" else day), budget

    def _hold(self, scope: Scope, budget: BudgetSettings) -> Account:
        account = self._held.get(scope) or self._idle.pop(scope, None)
        if account is None:
            account = Account(scope, budget)
        account.limit(budget)  # whoever was a guest may be a member now
        self._held[scope] = account
        account.holders += 1
        return account

    def forget(self, people: Sequence[str]) -> None:
        """Ask the store again what people have used, whose accounts were others meanwhile."""
        names = frozenset(people)
        for scope in [one for one in self._idle if one.kind == "person" and one.name in names]:
            del self._idle[scope]

    async def load(self, accounts: Sequence[Account]) -> None:
        """Read what was used before; several who ask for the same may read it at once."""
        fresh = [account for account in accounts if not account.is_loaded]
        if fresh:
            amounts = await self._books.used([account.scope for account in fresh])
            for account, amount in zip(fresh, amounts, strict=True):
                account.load(amount)

    def release(self, accounts: Sequence[Account]) -> None:
        """Let go of accounts, once what was charged to them is written."""
        for account in accounts:
            account.holders -= 1
            if account.holders:
                continue
            del self._held[account.scope]
            if account.is_loaded:
                self._idle[account.scope] = account
        while len(self._idle) > self._most_idle:
            del self._idle[next(iter(self._idle))]
