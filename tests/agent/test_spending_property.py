"""Budgets under a crowd: whatever runs side by side, none is passed, and the books have what was counted."""

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.agent.accounts import Payer, Scope
from bot.agent.billing import Bill
from bot.agent.estimate import estimate_prompt
from bot.agent.spending import Spending
from bot.agent.tab import Tab
from bot.backends.base import ErrorEvent
from bot.errors import BudgetSpent
from bot.messages import SessionKey
from bot.models.base import ModelRequest
from bot.settings.spending import BudgetSettings, BudgetsSettings
from memory.store import Store
from tests.agent.test_spending import NOON, PRICES, ask, usage

LIMITS = st.one_of(st.none(), st.integers(500, 30_000))
PAYERS = [
    Payer(person=f"{channel}:{who}", session=SessionKey(f"{channel}:default:{who}"), channel=channel)
    for channel in ("telegram", "slack")
    for who in ("ann", "ben")
]


@dataclass(slots=True)
class Crowd:
    """Turns that run side by side; what the server counts stays within what it was asked for.

    Attributes:
        told: By person, the tokens that the server has counted, and those of prompts that were cut short.
    """

    spending: Spending
    random: Random
    told: Counter[str] = field(default_factory=Counter)

    async def turn(self, payer: Payer) -> None:
        """Some calls, each of which may go well, break off or be killed."""
        async with self.spending.aside(payer) as bill:
            try:
                while not bill.is_closed and self.random.random() < 0.7:
                    await self._call(bill)
            except BudgetSpent:
                await self.look()

    async def _call(self, bill: Bill) -> None:
        model, prompt = self.random.choice(("gpt-mini", "gpt-large")), self.random.randint(0, 300)
        with Tab(bill) as tab:
            request = await tab.look(ask(prompt, model=model, most=self.random.randint(1, 2_000)), 1)
            for _ in range(self.random.randint(0, 4)):
                await asyncio.sleep(0)
            self._end(tab, bill, request)
        await self.look()

    def _end(self, tab: Tab, bill: Bill, request: ModelRequest) -> None:
        prompt, fate = estimate_prompt(request.messages), self.random.random()
        if fate < 0.6:
            completion = self.random.randint(1, request.max_completion_tokens)
            self.told[bill.payer.person] += prompt + completion
            tab.note(usage(prompt, completion, model=request.model))
        elif fate < 0.8:
            tab.note(ErrorEvent(content="gone"))
        else:
            self.told[bill.payer.person] += prompt
            bill.close()

    async def look(self) -> None:
        """See that no budget is passed."""
        for payer in PAYERS:
            for standing in await self.spending.standing(payer):
                assert standing.most_tokens is None or standing.tokens <= standing.most_tokens
                assert standing.most_cost is None or standing.cost <= standing.most_cost


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    limits=st.tuples(LIMITS, LIMITS, LIMITS, LIMITS),
    costs=st.tuples(LIMITS, LIMITS),
    turns=st.integers(1, 25),
)
async def test_calls_side_by_side_never_pass_a_budget_and_the_books_have_what_the_server_counted(
    tmp_path_factory: pytest.TempPathFactory,
    seed: int,
    limits: tuple[int | None, ...],
    costs: tuple[int | None, ...],
    turns: int,
) -> None:
    person, session, channel, everybody = limits
    budgets = BudgetsSettings(
        person=BudgetSettings(tokens=person, cost=costs[0] and costs[0] / 500_000),
        session=BudgetSettings(tokens=session),
        channel=BudgetSettings(tokens=channel),
        all=BudgetSettings(tokens=everybody, cost=costs[1] and costs[1] / 200_000),
    )
    random = Random(seed)
    async with Store(tmp_path_factory.mktemp("home"), synchronous="NORMAL") as store:
        crowd = Crowd(Spending(PRICES, budgets, books=store.usage, now=lambda: NOON), random)
        async with asyncio.TaskGroup() as group:
            for _ in range(turns):
                group.create_task(crowd.turn(random.choice(PAYERS)))

        for payer in PAYERS:
            (used,) = await store.usage.used([Scope("person", payer.person, "2031-05-17")])
            assert used.tokens == crowd.told[payer.person]
            again = Spending(PRICES, budgets, books=store.usage, now=lambda: NOON)
            assert await again.standing(payer) == await crowd.spending.standing(payer)
