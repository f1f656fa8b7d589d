"""Asking the handlers: their order, what they change, what stops, and what happens when they misbehave."""

import asyncio
import logging
import sys
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.hooks import (
    AgentEnded,
    Change,
    Deny,
    Drop,
    GatewayStart,
    Hooks,
    MessageReceived,
    MessageSending,
    NextRound,
    Reply,
    ToolResultPersist,
)
from bot.hooks.points import BLOCKED, MAX_ROUNDS, WITHHELD
from bot.hooks.registry import MAX_DETACHED, MAX_STUCK, TOGETHER
from tests.hooks.events import complete, ended, persist, received, sending, started

SOON = 0.02  # seconds; for handlers that are to be late


@pytest.fixture
async def hooks() -> AsyncIterator[Hooks]:
    made = Hooks(grace=SOON, last_seconds=SOON)
    yield made
    await made.aclose()


def adds(word: str) -> Callable[[MessageSending], Change]:
    return lambda event: Change(text=f"{event.text} {word}")


def failures(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    """What the log says of handlers that failed."""
    return [vars(record) for record in caplog.records if record.msg == "hook handler failed"]


async def wait_forever(event: object) -> None:
    await asyncio.Event().wait()


class Stubborn:
    """Does not let itself be cancelled until a test lets go."""

    def __init__(self) -> None:
        self.calls = 0
        self.release = asyncio.Event()

    async def __call__(self, event: MessageSending) -> None:
        self.calls += 1
        while not self.release.is_set():
            try:
                await self.release.wait()
            except asyncio.CancelledError:
                continue


# --- nobody listens


async def test_an_event_that_nobody_listens_to_comes_back_as_it_is(hooks: Hooks) -> None:
    event = sending()

    assert await hooks.fire(event) is event
    assert not hooks.wants(MessageSending)


async def test_an_event_that_nobody_listens_to_never_leaves_the_running_task(hooks: Hooks) -> None:
    firing = hooks.fire(sending())

    with pytest.raises(StopIteration):  # ended at the first step: it has waited for nothing
        firing.send(None)


# --- order


async def test_each_handler_sees_the_change_of_the_one_before(hooks: Hooks) -> None:
    hooks.on(MessageSending, adds("one"))
    hooks.on(MessageSending, adds("two"))

    left = await hooks.fire(sending("zero"))

    assert isinstance(left, MessageSending)
    assert left.text == "zero one two"


@given(priorities=st.lists(st.integers(-3, 3), max_size=12))
async def test_higher_priorities_come_first_and_equal_ones_in_the_order_of_registration(
    priorities: list[int],
) -> None:
    hooks = Hooks()
    for number, priority in enumerate(priorities):
        hooks.on(MessageSending, adds(str(number)), priority=priority)

    left = await hooks.fire(sending(""))

    expected = sorted(range(len(priorities)), key=lambda number: (-priorities[number], number))
    assert isinstance(left, MessageSending)
    assert left.text.split() == [str(number) for number in expected]


@pytest.mark.parametrize("stop", [Drop(), Deny(reason="no")])
async def test_after_a_stop_nobody_else_is_asked(hooks: Hooks, stop: Drop | Deny) -> None:
    asked = []

    async def stops(event: MessageSending) -> Drop | Deny:
        return stop

    hooks.on(MessageSending, stops)
    hooks.on(MessageSending, lambda event: asked.append(event))

    assert await hooks.fire(sending()) is stop
    assert asked == []


async def test_a_handler_without_an_opinion_changes_nothing(hooks: Hooks) -> None:
    async def looks(event: MessageSending) -> None:
        return None

    hooks.on(MessageSending, looks)
    event = sending()

    assert await hooks.fire(event) is event


async def test_a_message_can_be_answered_by_a_handler(hooks: Hooks) -> None:
    hooks.on("message_received", lambda event: Reply(text="I know that one"))

    assert await hooks.fire(received()) == Reply(text="I know that one")


async def test_a_message_can_be_changed_before_it_is_answered(hooks: Hooks) -> None:
    hooks.on(MessageReceived, lambda event: Change(text=event.message.text.upper()))

    left = await hooks.fire(received("hello"))

    assert isinstance(left, MessageReceived)
    assert left.message.text == "HELLO"


async def test_all_wishes_for_another_round_are_put_together(hooks: Hooks) -> None:
    hooks.on("response_complete", lambda event: NextRound(text="Say it shorter."))
    hooks.on("response_complete", lambda event: NextRound(text="Name a source."))

    left = await hooks.fire(complete())

    assert left.next_round == "Say it shorter.\n\nName a source."


async def test_the_last_round_can_not_be_followed_by_another(hooks: Hooks) -> None:
    hooks.on("response_complete", lambda event: NextRound(text="again"))

    left = await hooks.fire(complete(round=MAX_ROUNDS))

    assert left.next_round is None


# --- faults


def raises(event: object) -> None:
    raise ValueError("broken")


async def raises_later(event: object) -> None:
    await asyncio.sleep(0)
    raise ValueError("broken")


def exits(event: object) -> None:
    sys.exit("goodbye")


async def exits_later(event: object) -> None:
    await asyncio.sleep(0)
    sys.exit("goodbye")


async def cancels_itself(event: object) -> None:
    raise asyncio.CancelledError


def pretends_to_be_cancelled(event: object) -> None:
    raise asyncio.CancelledError


def answers_nonsense(event: object) -> str:
    return "drop it, please"


def answers_for_another_point(event: object) -> NextRound:
    return NextRound(text="again")


def answers_with_a_broken_effect(event: object) -> Change:
    return Change(text=7)  # type: ignore[arg-type]  # what a plugin without a type checker does


FAULTS = [
    raises,
    raises_later,
    exits,
    exits_later,
    cancels_itself,
    pretends_to_be_cancelled,
    wait_forever,
    answers_nonsense,
    answers_for_another_point,
    answers_with_a_broken_effect,
]


@pytest.mark.parametrize("handler", FAULTS)
async def test_a_handler_that_fails_is_named_and_passed_over(
    hooks: Hooks, handler: Callable[[Any], object], caplog: pytest.LogCaptureFixture
) -> None:
    hooks.on("message_sending", handler, plugin="weather", seconds=SOON)
    hooks.on(MessageSending, adds("more"))

    left = await hooks.fire(sending("some"))

    assert isinstance(left, MessageSending)
    assert left.text == "some more"
    (failure,) = failures(caplog)
    assert failure["plugin"] == "weather"
    assert failure["point"] == "message_sending"
    assert handler.__name__ in failure["handler"]


@pytest.mark.parametrize("handler", FAULTS)
async def test_a_security_handler_that_fails_blocks(
    hooks: Hooks, handler: Callable[[Any], object], caplog: pytest.LogCaptureFixture
) -> None:
    asked = []
    hooks.on("message_received", handler, is_security=True, seconds=SOON)
    hooks.on(MessageReceived, lambda event: asked.append(event))

    assert await hooks.fire(received()) == Deny(reason=BLOCKED)
    assert asked == []
    assert len(failures(caplog)) == 1


async def test_an_answer_that_a_security_handler_could_not_judge_is_withheld(hooks: Hooks) -> None:
    hooks.on("message_sending", raises, is_security=True)

    assert await hooks.fire(sending("a secret")) == Deny(reason=WITHHELD)


async def test_a_security_handler_without_an_opinion_lets_pass(hooks: Hooks) -> None:
    hooks.on(MessageReceived, lambda event: None, is_security=True)
    event = received()

    assert await hooks.fire(event) is event


async def test_a_handler_that_will_not_stop_holds_nobody_up(
    hooks: Hooks, caplog: pytest.LogCaptureFixture
) -> None:
    stubborn = Stubborn()
    hooks.on(MessageSending, stubborn, seconds=SOON)

    async with asyncio.timeout(5):
        left = await hooks.fire(sending())
    stubborn.release.set()

    assert isinstance(left, MessageSending)
    assert len(failures(caplog)) == 1


async def test_a_handler_whose_calls_keep_hanging_is_not_called_any_more_until_they_end(
    hooks: Hooks,
) -> None:
    stubborn = Stubborn()
    hooks.on(MessageSending, stubborn, seconds=SOON)

    for _ in range(MAX_STUCK + 3):
        await hooks.fire(sending())
    called = stubborn.calls
    stubborn.release.set()
    await hooks.aclose()
    await hooks.fire(sending())

    assert called == MAX_STUCK
    assert stubborn.calls == MAX_STUCK + 1


async def test_who_is_cancelled_while_a_handler_runs_takes_it_along(hooks: Hooks) -> None:
    began, stopped = asyncio.Event(), asyncio.Event()

    async def waits(event: MessageSending) -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    hooks.on(MessageSending, waits)
    fire = hooks.fire(sending())
    firing = asyncio.create_task(fire)
    await began.wait()
    firing.cancel()

    with pytest.raises(asyncio.CancelledError):
        await firing
    async with asyncio.timeout(5):
        await stopped.wait()


async def test_a_handler_that_holds_the_loop_up_is_named(
    hooks: Hooks, caplog: pytest.LogCaptureFixture
) -> None:
    def slow(event: MessageSending) -> Change:
        time.sleep(SOON * 2)
        return Change(text="late, but there")

    hooks.on(MessageSending, slow, seconds=SOON)

    left = await hooks.fire(sending())

    assert isinstance(left, MessageSending)
    assert left.text == "late, but there"
    assert [record.msg for record in caplog.records] == ["hook handler slow"]


async def test_the_log_has_nothing_of_the_text(hooks: Hooks, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    for handler in (answers_nonsense, wait_forever):
        hooks.on("message_sending", handler, seconds=SOON)

    await hooks.fire(sending("my password is swordfish"))

    assert failures(caplog)
    assert all("swordfish" not in str(vars(record)) for record in caplog.records)


# --- observing


async def test_observing_handlers_run_together(hooks: Hooks) -> None:
    meeting = asyncio.Barrier(2)

    async def meets(event: GatewayStart) -> None:
        await meeting.wait()

    hooks.on(GatewayStart, meets)
    hooks.on(GatewayStart, meets)

    async with asyncio.timeout(5):
        await hooks.fire(started())

    assert meeting.n_waiting == 0


async def test_only_so_many_observing_handlers_run_at_once(hooks: Hooks) -> None:
    running, most = 0, 0

    async def counts(event: GatewayStart) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(3):
            await asyncio.sleep(0)
        running -= 1

    for _ in range(3 * TOGETHER):
        hooks.on(GatewayStart, counts)

    await hooks.fire(started())

    assert most == TOGETHER
    assert running == 0


async def test_an_observing_handler_that_fails_keeps_no_other_from_seeing_it(hooks: Hooks) -> None:
    seen = []
    hooks.on("gateway_start", raises)
    hooks.on("gateway_start", wait_forever, seconds=SOON)
    hooks.on(GatewayStart, lambda event: seen.append(event))

    await hooks.fire(started())

    assert len(seen) == 1


async def test_an_observing_handler_can_not_change_anything(
    hooks: Hooks, caplog: pytest.LogCaptureFixture
) -> None:
    hooks.on("gateway_start", lambda event: Drop())
    event = started()

    assert await hooks.fire(event) is event
    assert "not None" in failures(caplog)[0]["cause"]


# --- nobody waits


async def test_nobody_waits_for_the_handlers_of_the_end(hooks: Hooks) -> None:
    go, seen = asyncio.Event(), asyncio.Event()

    async def writes(event: AgentEnded) -> None:
        await go.wait()
        seen.set()

    hooks.on(AgentEnded, writes)

    await hooks.fire(ended())
    assert not seen.is_set()
    go.set()
    async with asyncio.timeout(5):
        await seen.wait()


async def test_closing_waits_for_them_and_then_stops_them() -> None:
    hooks = Hooks(grace=SOON, last_seconds=5.0)
    go, seen = asyncio.Event(), []

    async def writes(event: AgentEnded) -> None:
        await go.wait()
        seen.append(event)

    hooks.on(AgentEnded, writes)
    await hooks.fire(ended())
    asyncio.get_running_loop().call_soon(go.set)

    await hooks.aclose()

    assert len(seen) == 1


async def test_closing_does_not_wait_for_ever(hooks: Hooks) -> None:
    hooks.on("agent_end", wait_forever)
    await hooks.fire(ended())

    async with asyncio.timeout(5):
        await hooks.aclose()

    assert len(asyncio.all_tasks()) == 1


async def test_past_a_bound_events_nobody_waits_for_are_passed_over(
    hooks: Hooks, caplog: pytest.LogCaptureFixture
) -> None:
    hooks.on("agent_end", wait_forever)

    for _ in range(MAX_DETACHED + 2):
        await hooks.fire(ended())

    assert [record.msg for record in caplog.records] == ["hook handler passed over"] * 2


async def test_after_closing_no_task_is_begun_any_more(hooks: Hooks) -> None:
    hooks.on("agent_end", wait_forever)
    await hooks.aclose()

    await hooks.fire(ended())

    assert len(asyncio.all_tasks()) == 1


# --- at once


def test_what_is_kept_of_a_result_can_be_changed_at_once() -> None:
    hooks = Hooks()
    hooks.on(ToolResultPersist, lambda event: Change(text=event.text.replace("secret", "***")))
    hooks.on(ToolResultPersist, lambda event: Change(text=f"{event.text}!"))

    assert hooks.fire_now(persist("a secret")).text == "a ***!"


@pytest.mark.parametrize(
    "handler", [raises, exits, pretends_to_be_cancelled, answers_nonsense, lambda event: wait_forever(event)]
)
def test_a_result_that_a_security_handler_could_not_judge_is_not_kept(
    handler: Callable[[Any], object],
) -> None:
    hooks = Hooks()
    hooks.on("tool_result_persist", handler, is_security=True)

    assert hooks.fire_now(persist("a secret")).text == WITHHELD


def test_a_handler_that_fails_at_once_is_passed_over() -> None:
    hooks = Hooks()
    hooks.on("tool_result_persist", raises)
    event = persist()

    assert hooks.fire_now(event) is event


async def test_a_point_that_can_not_wait_is_not_fired_as_if_it_could(hooks: Hooks) -> None:
    hooks.on("tool_result_persist", lambda event: None)

    with pytest.raises(TypeError, match="fire_now"):
        await hooks.fire(persist())
