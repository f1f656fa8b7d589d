"""What model calls use and cost, and the budgets that they have to stay within.

open      a turn opens a bill; nothing is read yet
reserve   before a call, the most that it can use is set aside in each account that has a budget
settle    when it ends, the server's figures take the place of that; where it gives none, our estimate
close     what still runs is settled, and the end of the turn is written together with what was used

A crash loses at most the figures of the attempts that were under way: the commit that ends one writes them.
"""

import time
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, nullcontext
from contextvars import ContextVar

from bot.agent.accounts import Accounts, Books, Calendar, Kind, NoBooks, Payer
from bot.agent.billing import Bill, Terms
from bot.agent.estimate import Calibration
from bot.agent.prices import Prices
from bot.agent.tab import Tab
from bot.messages import Frozen, SessionKey
from bot.settings.spending import BudgetsSettings, PriceSettings

NOBODY = Payer(person="", session=SessionKey(""), channel="")

_bill: ContextVar[Bill | None] = ContextVar("bill", default=None)


class Standing(Frozen, frozen=True, kw_only=True):
    """How much of a budget is used, answers under way not included; costs are in billionths of the currency.

    Attributes:
        most_tokens: `None` where there is no limit; `most_cost` too.
    """

    kind: Kind
    name: str
    tokens: int
    cost: int
    most_tokens: int | None
    most_cost: int | None


class Spending:
    """Opens the bills of turns; one instance a bot, which owns the store.

    Without a budget, a call costs a bill entry, and nothing is estimated or read.

    Args:
        prices: By name or pattern of a model.
        zone: The time zone of the days.
        books: Where what was used is kept.
        now: Seconds since 1970.
        account_of: See `Accounts`.

    Attributes:
        calendar: Tells the day.
        currency: Of prices and costs.
        prices: What models cost.
    """

    def __init__(
        self,
        prices: Mapping[str, PriceSettings] | None = None,
        budgets: BudgetsSettings | None = None,
        *,
        zone: str = "UTC",
        books: Books | None = None,
        now: Callable[[], float] = time.time,
        account_of: Callable[[str], str] = str,
    ) -> None:
        budgets = budgets or BudgetsSettings()
        self.calendar = Calendar(zone, now)
        self.currency = budgets.currency
        self.prices = Prices(prices or {})
        books = books or NoBooks()
        self._accounts = Accounts(budgets, books, account_of=account_of)
        self._terms = Terms(
            prices=self.prices,
            accounts=self._accounts,
            books=books,
            calendar=self.calendar,
            calibration=Calibration(),
            currency=self.currency,
        )

    def open(self, payer: Payer) -> Bill:
        """Open a bill."""
        return Bill(self._terms, payer)

    def forget(self, people: Sequence[str]) -> None:
        """See `Accounts.forget`."""
        self._accounts.forget(people)

    @asynccontextmanager
    async def aside(self, payer: Payer) -> AsyncGenerator[Bill]:
        """Pay for the model calls inside, which belong to no turn; they are written at the end."""
        async with _written(self.open(payer)) as bill:
            with paid_by(bill):
                yield bill

    async def standing(self, payer: Payer) -> list[Standing]:
        """How the budgets stand that hold for a payer now."""
        accounts = self._accounts.hold(payer, self.calendar.today())
        try:
            await self._accounts.load(accounts)
            return [
                Standing(
                    kind=account.scope.kind,
                    name=account.scope.name,
                    tokens=account.tokens,
                    cost=account.cost,
                    most_tokens=account.most_tokens,
                    most_cost=account.most_cost,
                )
                for account in accounts
            ]
        finally:
            self._accounts.release(accounts)


@asynccontextmanager
async def _written(bill: Bill) -> AsyncGenerator[Bill]:
    """Close a bill that no turn's end will close."""
    try:
        yield bill
    finally:
        bill.close()
        try:
            await bill.write()
        finally:
            bill.release()


@contextmanager
def paid_by(bill: Bill) -> Iterator[None]:
    """Have the model calls inside, those of tasks begun inside too, go onto a bill."""
    token = _bill.set(bill)
    try:
        yield
    finally:
        _bill.reset(token)


@asynccontextmanager
async def open_tab() -> AsyncGenerator[Tab]:
    """A tab for calls beside those of the turn that runs here: sub-agents, summaries.

    Work that outlives its turn pays by a bill of its own; what belongs to no turn at all is not counted.
    """
    bill = _bill.get() or Spending().open(NOBODY)
    async with nullcontext(bill) if not bill.is_closed else _written(bill.another()) as open_bill:
        await open_bill.ready()
        with Tab(open_bill) as tab:
            yield tab
