"""Calls pass when the platform allows them, last words first."""

import asyncio
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.base import Rate
from channels.delivery.pace import Budget, Pace
from tests.channels.delivery.platform import Clock

CHAT = Rate(calls=1, seconds=1.0)
GROUP = Rate(calls=20, seconds=60.0)
ACCOUNT = Rate(calls=3, seconds=1.0, scope="account")


async def pass_one(
    pace: Pace, rates: Sequence[Rate], chat: Budget, message: Budget | None = None, *, is_growth: bool
) -> None:
    """One call, answered at once."""
    permit = await pace.turn(
        "edit", tuple(rates), chat=chat, message=message or pace.budget(), is_growth=is_growth
    )
    permit.end()


async def pass_all(pace: Pace, clock: Clock, rates: tuple[Rate, ...], count: int, **how: bool) -> list[float]:
    """When so many calls of one chat may pass."""
    chat, passed = pace.budget(), []
    for _ in range(count):
        await pass_one(pace, rates, chat, is_growth=how.get("is_growth", True))
        passed.append(clock.now)
    return passed


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def pace(clock: Clock) -> Pace:
    return Pace(clock=clock, sleep=clock.sleep)


async def test_growth_is_spread_evenly(pace: Pace, clock: Clock) -> None:
    passed = await pass_all(pace, clock, (GROUP,), 10)

    gaps = [later - earlier for earlier, later in pairwise(passed)]
    assert gaps == pytest.approx([3.0] * 9, abs=0.01)


async def test_a_last_word_uses_what_is_left_of_the_window(pace: Pace, clock: Clock) -> None:
    passed = await pass_all(pace, clock, (GROUP,), 20, is_growth=False)

    assert passed == [0.0] * 20


async def test_past_the_window_a_last_word_waits_too(pace: Pace, clock: Clock) -> None:
    passed = await pass_all(pace, clock, (GROUP,), 21, is_growth=False)

    assert passed[-1] == pytest.approx(60.0, abs=0.1)


async def test_growth_leaves_a_part_of_the_account_to_last_words(pace: Pace, clock: Clock) -> None:
    minute = Rate(calls=20, seconds=60.0, scope="account")
    growth = await pass_all(pace, clock, (minute,), 10)
    last_words = await pass_all(pace, clock, (minute,), 10, is_growth=False)

    assert growth[-1] == pytest.approx(9 * 60.0 / 18, abs=0.5)
    assert last_words == [growth[-1]] * 10


async def test_calls_of_another_kind_are_not_counted(pace: Pace, clock: Clock) -> None:
    posts = Rate(calls=1, seconds=9.0, kinds=("post",))

    assert await pass_all(pace, clock, (posts,), 3) == [0.0] * 3


async def test_an_account_that_is_asked_to_wait_waits_in_every_chat(pace: Pace, clock: Clock) -> None:
    pace.hold_account(7.0)

    assert await pass_all(pace, clock, (CHAT,), 1) == [pytest.approx(7.0, abs=1e-3)]


async def test_how_long_an_account_is_still_held_is_told(pace: Pace, clock: Clock) -> None:
    free = pace.held
    pace.hold_account(30)
    clock.now += 10

    assert (free, pace.held) == (0.0, 20.0)


async def test_last_words_pass_those_who_wait_to_grow() -> None:
    clock = Clock(is_turned=True)
    pace = Pace(clock=clock, sleep=clock.sleep)
    passed: list[str] = []

    async def call(name: str, *, is_growth: bool) -> None:
        await pass_one(pace, (ACCOUNT,), pace.budget(), is_growth=is_growth)
        passed.append(name)

    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        for number in range(3):
            group.create_task(call(f"first {number}", is_growth=False))
        await clock_moved(clock, 0)
        group.create_task(call("held the door", is_growth=True))
        await clock.waited(1)
        for name in ("growth", "more growth"):
            group.create_task(call(name, is_growth=True))
        group.create_task(call("last word", is_growth=False))
        for _ in range(8):
            await clock_moved(clock, 1.2)

    assert passed[:5] == ["first 0", "first 1", "first 2", "last word", "held the door"]


async def clock_moved(clock: Clock, seconds: float) -> None:
    """Turn the clock, and let everybody run who waited for it."""
    await clock.turn(seconds)
    for _ in range(10):
        await asyncio.sleep(0)


async def test_who_gives_up_waiting_holds_up_nobody() -> None:
    clock = Clock(is_turned=True)
    pace = Pace(clock=clock, sleep=clock.sleep)

    async def call() -> None:
        await pass_one(pace, (ACCOUNT,), pace.budget(), is_growth=False)

    for _ in range(3):
        await call()
    impatient = [asyncio.create_task(call()) for _ in range(3)]
    await clock.waited(1)
    for task in impatient:
        task.cancel()
    await asyncio.wait(impatient)
    patient = asyncio.create_task(call())
    await clock_moved(clock, 1.2)

    async with asyncio.timeout(5):
        await patient


rates = st.builds(
    Rate,
    calls=st.integers(1, 5),
    seconds=st.floats(0.1, 10),
    scope=st.sampled_from(["message", "chat", "account"]),
)


@given(given_rates=st.lists(rates, max_size=4), growths=st.lists(st.booleans(), max_size=15))
async def test_no_window_of_any_rate_ever_holds_more_than_it_may(
    given_rates: list[Rate], growths: list[bool]
) -> None:
    clock = Clock()
    pace = Pace(clock=clock, sleep=clock.sleep)
    chat, message = pace.budget(), pace.budget()
    passed: list[float] = []
    for is_growth in growths:
        await pass_one(pace, given_rates, chat, message, is_growth=is_growth)
        passed.append(clock.now)

    for rate in given_rates:
        for index in range(len(passed) - rate.calls):
            assert passed[index + rate.calls] - passed[index] >= rate.seconds


async def test_a_call_holds_its_place_until_a_window_after_its_answer(pace: Pace, clock: Clock) -> None:
    """The platform may count it as late as that."""
    permits = [
        await pace.turn("edit", (ACCOUNT,), chat=pace.budget(), message=pace.budget(), is_growth=False)
        for _ in range(3)
    ]
    clock.now = 0.7  # so long they are on their way
    for permit in permits:
        permit.end()

    passed = await pass_all(pace, clock, (ACCOUNT,), 1, is_growth=False)

    assert passed == [pytest.approx(1.7, abs=0.02)]


async def test_a_call_that_was_not_made_costs_nothing(pace: Pace, clock: Clock) -> None:
    for _ in range(10):
        permit = await pace.turn(
            "edit", (ACCOUNT,), chat=pace.budget(), message=pace.budget(), is_growth=False
        )
        permit.end(was_made=False)

    assert clock.now == 0


async def test_growth_that_came_late_is_made_up_for(pace: Pace, clock: Clock) -> None:
    """So that lateness of the loop does not add up over many chats."""
    wide = Rate(calls=10, seconds=1.0, scope="account")
    passed = []
    for _ in range(20):
        passed += await pass_all(pace, clock, (wide,), 1)
        clock.now += 0.05

    assert passed[-1] - passed[0] == pytest.approx(19 / 9, abs=0.3)


async def test_a_sign_gets_what_texts_leave(pace: Pace, clock: Clock) -> None:
    rates = (Rate(calls=2, seconds=1.0, scope="account", kinds=("typing", "edit")),)

    permits = [pace.spare("typing", rates) for _ in range(3)]
    for permit in permits[:2]:
        assert permit is not None
        permit.end()
    clock.now += 1.1

    assert permits[2] is None
    assert pace.spare("typing", rates) is not None
    assert pace.spare("typing", (CHAT,)) is not None
