"""`/usage`: what is shown to whom, what it cost, and what budgets leave."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.agent.prices import COIN
from bot.agent.spending import Spending
from bot.commands.call import Answer
from bot.commands.registry import Commands
from bot.commands.usage import UsageCommands
from bot.messages import Sender
from bot.settings.spending import BudgetSettings, BudgetsSettings, PriceSettings
from memory.store import Store
from tests.commands.desk import ANN, BOSS, GUILD_ADMIN, Desk, Notes, message

NOON = datetime(2031, 5, 17, 12, tzinfo=UTC).timestamp()
BUDGETS = BudgetsSettings(
    person=BudgetSettings(tokens=1_000),
    channel=BudgetSettings(tokens=10_000),
    session=BudgetSettings(cost=2.5),
)


class Counter:
    """Where people ask for figures of a bot with prices and budgets."""

    def __init__(self, desk: Desk) -> None:
        prices = {"gpt-5*": PriceSettings(input=1, output=2)}
        spending = Spending(prices, BUDGETS, zone="Europe/Berlin", books=desk.store.usage, now=lambda: NOON)
        own = UsageCommands(desk.store.sessions, desk.store.usage, spending).commands()
        self._commands = Commands(own, admins=lambda: desk.admins, audit=Notes())

    async def says(self, text: str, *, sender: Sender = ANN, is_direct: bool = True) -> Answer:
        return await self._commands.run(message(text, sender=sender, is_direct=is_direct))


@pytest.fixture
def counter(desk: Desk) -> Counter:
    return Counter(desk)


async def test_the_usage_is_added_up_by_model_for_the_session_and_the_person(desk: Desk) -> None:
    await desk.talks("a", tokens=1_000)
    await desk.says("/new")
    await desk.talks("b", tokens=100)
    await desk.talks("c", tokens=10, model="gpt-5-mini")
    session, today = (await desk.says("/usage")).text.split("\n\n")

    assert session.splitlines() == [
        "**This session**: 112 tokens",
        "- `gpt-5`: 1 call, 100 in (50 cached), 1 out",
        "- `gpt-5-mini`: 1 call, 10 in (5 cached), 1 out",
    ]
    assert today.splitlines()[:2] == [
        "**You today (UTC)**: 1,113 tokens",
        "- `gpt-5`: 2 calls, 1,100 in (550 cached), 2 out",
    ]


async def test_a_chat_of_several_people_has_figures_of_its_own(desk: Desk) -> None:
    await desk.talks("a", tokens=100)
    await desk.talks("b", tokens=10, sender=BOSS)

    text = (await desk.says("/usage")).text
    assert "**You today (UTC)**: 101 tokens" in text
    assert "**This chat today (UTC)**: 112 tokens" in text


async def test_only_those_who_steer_the_bot_see_what_others_used(desk: Desk) -> None:
    await desk.talks("a", "theirs", tokens=777)

    assert "778" not in (await desk.says("/usage", sender=GUILD_ADMIN)).text
    shown = (await desk.says("/usage", sender=BOSS)).text
    assert "**Everybody today (UTC)**: 778 tokens" in shown
    assert "**By person**\n- `telegram:42`: 778 tokens" in shown
    assert "No price is set for `gpt-5`." in shown


async def test_the_last_days_are_shown_where_they_are_asked_for(desk: Desk, counter: Counter) -> None:
    await desk.talks("a", tokens=100, day="2031-05-17", cost=COIN // 4)
    await desk.talks("b", tokens=10, day="2031-05-15")
    await desk.talks("c", tokens=1, day="2031-05-14")

    assert "**You today (Europe/Berlin)**: 101 tokens, 0.2500 USD" in (await counter.says("/usage")).text
    shown = (await counter.says("/usage 3", sender=BOSS)).text
    assert "**Everybody in 3 days (Europe/Berlin)**: 112 tokens, 0.2500 USD" in shown
    assert "**By day**\n- `2031-05-17`: 101 tokens, 0.2500 USD\n- `2031-05-15`: 11 tokens" in shown
    assert "2031-05-14" not in shown


@pytest.mark.parametrize("days", ["0", "91", "x"])
async def test_days_out_of_reach_are_refused(counter: Counter, days: str) -> None:
    assert (await counter.says(f"/usage {days}")).reason == "error"


async def test_what_is_left_of_each_budget_is_shown(desk: Desk, counter: Counter) -> None:
    await desk.talks("a", tokens=399, day="2031-05-17", cost=COIN)

    assert (await counter.says("/usage")).text.split("\n\n")[-1].splitlines() == [
        "**Budgets**",
        "- You, today: 600 of 1,000 tokens left",
        "- This session: 1.50 USD of 2.50 USD left",
        "- All over telegram, today: 96 % left",
    ]
    assert (
        "All over telegram, today: 9,600 of 10,000 tokens left"
        in (await counter.says("/usage", sender=BOSS)).text
    )


async def test_a_model_without_a_price_is_named_where_others_have_one(desk: Desk, counter: Counter) -> None:
    await desk.talks("a", day="2031-05-17")
    await desk.talks("b", day="2031-05-17", model="free-1")

    assert "No price is set for `free-1`." in (await counter.says("/usage")).text


async def test_a_store_that_is_opened_again_has_the_same_figures(home: Path) -> None:
    async with Store(home, synchronous="NORMAL") as first:
        await Desk(home, first).talks("a", tokens=100)

    async with Store(home, synchronous="NORMAL") as second:
        assert "101 tokens" in (await Desk(home, second).says("/usage")).text
