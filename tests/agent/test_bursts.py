"""What somebody writes in a burst is answered once, as one text; nothing of it is lost."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.agent.lanes import Lane
from bot.agent.store import Pending
from bot.backends.base import AgentEvent, DoneEvent, MessageEvent, TurnInput
from bot.messages import AgentEnd, Attachment, InboundMessage, Kind, Role, RunId, Sender, Trigger
from tests.agent.rig import Gate, Rig, inbound, rig

PATIENCE = {"web": 0.15}
ANN, BOB = (Sender(id=name, name=name, role=Role.MEMBER) for name in ("ann", "bob"))


async def quote(turn: TurnInput) -> AsyncIterator[AgentEvent]:
    """Says again what it was asked, to the letter."""
    yield MessageEvent(content=turn.messages[-1].content)
    yield DoneEvent()


def spoken(bot: Rig) -> list[str]:
    """The answers that say something."""
    return [end.text for end in bot.ends if end.reason == "done"]


async def test_a_burst_is_answered_once_and_as_one_text(tmp_path: Path) -> None:
    async with rig(tmp_path, quote, debounce=PATIENCE) as bot:
        for text in ("one", "two", "three"):
            await bot.say(text)
        ends = await bot.ended(3)

        assert [(end.reason, end.text) for end in ends] == [
            ("silent", ""),
            ("silent", ""),
            ("done", "one\ntwo\nthree"),
        ]
        assert await bot.texts() == [("user", "one\ntwo\nthree"), ("assistant", "one\ntwo\nthree")]
        assert len(bot.backend.turns) == 1


async def test_every_message_of_a_burst_is_told_to_be_over(tmp_path: Path) -> None:
    async with rig(tmp_path, debounce=PATIENCE) as bot:
        messages = [inbound(text) for text in ("one", "two")]
        for message in messages:
            await bot.bus.publish(message)
        await bot.until(lambda: sum(isinstance(event, AgentEnd) for event in bot.events) == 2)

        over = {event.run for event in bot.events if isinstance(event, AgentEnd)}
        assert over == {message.run for message in messages}


async def test_the_answer_to_a_burst_goes_to_its_last_message(tmp_path: Path) -> None:
    async with rig(tmp_path, debounce=PATIENCE) as bot:
        await bot.say("one")
        last = inbound("two")
        await bot.bus.publish(last)
        await bot.ended(2)

        assert bot.ends[-1].reply_to == last.platform_id


async def test_without_patience_every_message_is_answered(tmp_path: Path) -> None:
    async with rig(tmp_path, quote, debounce={"other": 5.0}) as bot:
        for text in ("one", "two"):
            await bot.say(text)
        await bot.ended(2)

        assert spoken(bot) == ["one", "two"]


async def test_what_different_people_write_is_never_one_text(tmp_path: Path) -> None:
    async with rig(tmp_path, debounce=PATIENCE) as bot:
        for sender, text in ((ANN, "a1"), (ANN, "a2"), (BOB, "b1"), (ANN, "a3")):
            await bot.say(text, sender=sender)
        await bot.ended(4)

        users = [text for role, text in await bot.texts() if role == "user"]
        assert users == ["a1\na2", "b1", "a3"]


async def test_a_file_ends_the_waiting_and_comes_along(tmp_path: Path) -> None:
    file = Attachment(kind="file", name="a.txt", path="/tmp/a.txt")
    async with rig(tmp_path, quote, debounce={"web": 30.0}) as bot, asyncio.timeout(10):
        await bot.say("look at this")
        await bot.say("", attachments=(file,))
        await bot.ended(2)

        (answer,) = spoken(bot)
        assert answer.startswith("look at this\n[Attached file: a.txt")


@pytest.mark.parametrize("trigger", [Trigger.BUTTON, Trigger.SCHEDULE])
async def test_a_button_is_not_waited_behind(tmp_path: Path, trigger: Trigger) -> None:
    async with rig(tmp_path, quote, debounce={"web": 30.0}) as bot, asyncio.timeout(10):
        await bot.say("yes", trigger=trigger)
        await bot.ended(1)

        assert spoken(bot) == ["yes"]


async def test_nobody_who_writes_on_and_on_waits_for_ever(tmp_path: Path) -> None:
    async with rig(tmp_path, debounce={"web": 0.05}) as bot, asyncio.timeout(15):
        while not spoken(bot):
            await bot.say("more")
            await asyncio.to_thread(bool)


async def test_a_message_that_was_meant_for_the_bot_makes_the_burst_be_answered(tmp_path: Path) -> None:
    async with rig(tmp_path, debounce=PATIENCE) as bot:
        await bot.say("bot, what is this?")
        await bot.say("I mean the blue one", may_be_silent=True)
        await bot.ended(2)

        (turn,) = bot.backend.turns
        assert not any("NO_RESPONSE" in message.content for message in turn.messages)


async def test_what_waits_at_shutdown_is_answered_after_it_as_one_text(tmp_path: Path) -> None:
    async with rig(tmp_path, debounce={"web": 30.0}) as bot:
        for text in ("one", "two"):
            await bot.say(text)
    async with rig(tmp_path, quote, debounce=PATIENCE) as bot:
        await bot.ended(2)

        assert spoken(bot) == ["one\ntwo"]


async def test_a_burst_that_was_taken_back_meanwhile_breaks_nothing(tmp_path: Path) -> None:
    async with rig(tmp_path, quote, debounce=PATIENCE) as bot:
        first, last = inbound("one"), inbound("two")
        await bot.bus.publish(first)
        await bot.bus.publish(last)
        change = inbound("", kind=Kind.DELETE, target=last.platform_id)
        await bot.store.journal.amend(change)  # the lane has not heard of it
        await bot.until(lambda: spoken(bot) == ["one"])
        await bot.say("still there?")
        await bot.until(lambda: "still there?" in spoken(bot))

        assert spoken(bot) == ["one", "still there?"]


async def test_messages_that_waited_for_a_turn_are_answered_together_behind_it(tmp_path: Path) -> None:
    gate = Gate()
    async with rig(tmp_path, gate.play(), debounce={"web": 0.02}) as bot:
        await bot.say("first")
        await gate.reached()
        bot.backend.play = quote
        await bot.say("second")
        await bot.say("third")
        gate.open()
        await bot.ended(3)

        assert spoken(bot) == ["done", "second\nthird"]


PEOPLE = st.lists(
    st.tuples(st.sampled_from([ANN, BOB]), st.sampled_from(list(Trigger)), st.booleans()), max_size=15
)


@given(PEOPLE)
def test_bursts_keep_every_message_once_in_order_and_mix_no_senders(
    said: list[tuple[Sender, Trigger, bool]],
) -> None:
    messages = [
        inbound(str(number), sender=sender, trigger=trigger)
        for number, (sender, trigger, _) in enumerate(said)
    ]
    lane = lane_of(messages)
    bursts = []
    while lane.waiting:
        bursts.append([pending.message for pending in lane.take_burst()])

    assert [message for burst in bursts for message in burst] == messages
    for burst in bursts:
        assert len({message.sender.id for message in burst}) == 1
        assert len(burst) == 1 or all(message.trigger is Trigger.MESSAGE for message in burst)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.integers(0, 7), st.booleans()), max_size=12))
def test_changes_of_what_waits_concern_one_message_only(changes: list[tuple[int, bool]]) -> None:
    messages = [inbound(str(number)) for number in range(6)]
    expected = {message.run: message.text for message in messages}
    lane = lane_of(messages)
    for index, is_edit in changes:
        run = messages[index].run if index < len(messages) else RunId("nobody")
        if is_edit:
            lane.amend(run, "edited")
            expected.update({run: "edited"} if run in expected else {})
        else:
            taken = lane.take_out(run)

            assert (taken is not None) == (expected.pop(run, None) is not None)
    assert {pending.message.run: pending.message.text for pending in lane.waiting} == expected
    assert [pending.message.run for pending in lane.waiting] == list(expected)


def lane_of(messages: list[InboundMessage]) -> Lane:
    """A lane in which messages wait."""
    lane = Lane(messages[0].session if messages else inbound("").session)
    lane.waiting.extend(Pending(message=message, attempts=0) for message in messages)
    return lane
