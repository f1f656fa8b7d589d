"""The loop: accepted once, answered once, in order, and nobody waits for somebody else."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.agent.seams import Refusal, Seams
from bot.backends.base import (
    AgentEvent,
    DoneEvent,
    ErrorEvent,
    MessageEvent,
    NoTools,
    RetryEvent,
    ThinkingEvent,
    TokenUsageEvent,
    Tools,
    TurnInput,
)
from bot.bus import Receipt
from bot.messages import (
    AgentEnd,
    AgentStart,
    End,
    Failure,
    InboundMessage,
    InboxUpdate,
    Retry,
    SessionKey,
    Thinking,
    TokenUsage,
)
from bot.models.base import ModelProfile, ToolSchema
from bot.tools.base import Ledger
from tests.agent.rig import Gate, inbound, rig


async def test_a_message_is_answered_and_both_lines_are_kept(tmp_path: Path) -> None:
    async with rig(tmp_path) as bot:
        receipt = await bot.say("hello")
        (end,) = await bot.ended(1)

        assert receipt is Receipt.ACCEPTED
        assert (end.reason, end.text) == ("done", "echo: hello ")
        assert await bot.texts() == [("user", "hello"), ("assistant", "echo: hello ")]


async def test_a_redelivered_message_is_answered_once(tmp_path: Path) -> None:
    async with rig(tmp_path) as bot:
        message = inbound("hello")
        receipts = [await bot.bus.publish(message) for _ in range(3)]
        await bot.ended(1)
        await bot.say("next")
        await bot.ended(2)

        assert receipts == [Receipt.ACCEPTED, Receipt.DUPLICATE, Receipt.DUPLICATE]
        assert [text for role, text in await bot.texts() if role == "user"] == ["hello", "next"]


async def test_messages_of_a_session_are_answered_in_order_of_acceptance(tmp_path: Path) -> None:
    async with rig(tmp_path) as bot:
        await asyncio.gather(*(bot.say(f"m{number}") for number in range(30)))
        ends = await bot.ended(30)

        asked = [text for role, text in await bot.texts() if role == "user"]
        assert [end.text for end in ends] == [f"echo: {text} " for text in asked]
        assert asked == [f"m{number}" for number in range(30)]
        assert bot.backend.overlaps == 0


async def test_sessions_run_side_by_side_up_to_the_limit(tmp_path: Path) -> None:
    gate = Gate()
    async with rig(tmp_path, gate.play("…"), max_concurrent_turns=4) as bot:
        await asyncio.gather(*(bot.say("hi", f"chat{number}") for number in range(10)))
        await bot.until(lambda: bot.backend.running == 4)
        gate.open()
        await bot.ended(10)

        assert bot.backend.most_running == 4


async def test_a_flood_in_one_session_takes_one_slot_only(tmp_path: Path) -> None:
    gate = Gate()
    async with rig(tmp_path, gate.play(), max_concurrent_turns=2) as bot:
        for number in range(100):
            await bot.say(f"flood {number}", "flooder")
        await gate.reached()
        bot.backend.play = _plain
        await bot.say("hi", "other")
        await bot.until(lambda: any(end.session.endswith(":other") for end in bot.ends))

        assert [end.session for end in bot.ends] == ["web:default:other"]
        gate.open()
        await bot.ended(101)


async def _plain(turn: TurnInput) -> AsyncIterator[AgentEvent]:
    yield MessageEvent(content="ok")
    yield DoneEvent()


async def test_more_messages_than_may_wait_are_refused_and_the_person_is_told(tmp_path: Path) -> None:
    gate = Gate()
    async with rig(tmp_path, gate.play(), max_waiting=2) as bot:
        await bot.say("runs")
        await gate.reached()
        receipts = [await bot.say(f"m{number}") for number in range(3)]
        (refusal,) = await bot.ended(1)
        gate.open()
        await bot.ended(4)

        assert receipts == [Receipt.ACCEPTED, Receipt.ACCEPTED, Receipt.REFUSED]
        assert "2 messages waiting" in refusal.text


async def test_a_message_that_waits_already_is_not_refused_when_it_comes_again(tmp_path: Path) -> None:
    gate = Gate()
    async with rig(tmp_path, gate.play(), max_waiting=1) as bot:
        await bot.say("runs")
        await gate.reached()
        message = inbound("waits")
        receipts = [await bot.bus.publish(message) for _ in range(2)]
        gate.open()
        await bot.ended(2)

        assert receipts == [Receipt.ACCEPTED, Receipt.DUPLICATE]


async def test_the_stream_has_growing_numbers_and_exactly_one_end(tmp_path: Path) -> None:
    async with rig(tmp_path) as bot:
        await bot.say("a b c")
        await bot.ended(1)
        await bot.say("again")
        await bot.ended(2)

        for end in bot.ends:
            stream = [message for message in bot.sent if message.run == end.run]
            assert stream[-1] is end
            assert [message.seq for message in stream] == sorted({message.seq for message in stream})
            assert sum(isinstance(message, End) for message in stream) == 1


async def test_every_accepted_message_and_every_answer_is_an_inbox_update(tmp_path: Path) -> None:
    async with rig(tmp_path) as bot:
        await bot.say("hello")
        await bot.until(lambda: any(isinstance(event, AgentEnd) for event in bot.events))

        updates = [event for event in bot.events if isinstance(event, InboxUpdate)]
        assert [(update.direction, update.text) for update in updates] == [
            ("in", "hello"),
            ("out", "echo: hello "),
        ]
        assert [type(event) for event in bot.events] == [InboxUpdate, AgentStart, InboxUpdate, AgentEnd]


async def test_what_the_backend_tells_becomes_events(tmp_path: Path) -> None:
    async def answer(turn: TurnInput) -> AsyncIterator[AgentEvent]:
        yield ThinkingEvent(content="hm")
        yield MessageEvent(content="wrong")
        yield RetryEvent(model="m", attempt=2, wait=0.0, cause="cut")
        yield MessageEvent(content="right", replaces=True)
        yield TokenUsageEvent(model="m", prompt=7, completion=3)
        yield DoneEvent()

    async with rig(tmp_path, answer) as bot:
        await bot.say("hello")
        (end,) = await bot.ended(1)

        assert end.text == "right"
        kinds = {type(event) for event in bot.events}
        assert {Thinking, Retry, TokenUsage} <= kinds


async def test_a_backend_that_gives_up_ends_the_turn_with_a_reference(tmp_path: Path) -> None:
    async def answer(turn: TurnInput) -> AsyncIterator[AgentEvent]:
        yield MessageEvent(content="half an ")
        yield ErrorEvent(content="The model is gone.")

    async with rig(tmp_path, answer) as bot:
        await bot.say("hello")
        (end,) = await bot.ended(1)
        await bot.until(lambda: any(isinstance(event, Failure) for event in bot.events))

        assert end.reason == "error"
        assert end.reference is not None
        assert end.reference in end.text
        assert end.text.startswith("half an \n\nThe model is gone.")
        assert (await bot.texts())[-1] == ("assistant", end.text)


async def test_a_bug_ends_one_turn_and_the_next_message_is_answered(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def answer(turn: TurnInput) -> AsyncIterator[AgentEvent]:
        if turn.messages[-1].content == "crash":
            raise ZeroDivisionError("secret detail")
        yield MessageEvent(content="fine")
        yield DoneEvent()

    async with rig(tmp_path, answer) as bot:
        await bot.say("crash")
        await bot.say("next")
        first, second = await bot.ended(2)

        assert first.reason == "error"
        assert first.reference is not None
        assert "secret" not in first.text
        assert second.text == "fine"
        assert first.reference in {getattr(record, "reference", None) for record in caplog.records}


async def test_a_turn_that_is_too_long_is_ended_told_and_followed_by_the_next(tmp_path: Path) -> None:
    async def answer(turn: TurnInput) -> AsyncIterator[AgentEvent]:
        yield MessageEvent(content="so far")
        if turn.messages[-1].content == "hang":
            await asyncio.Event().wait()
        yield DoneEvent()

    async with rig(tmp_path, answer, run_timeout=1.0) as bot:
        await bot.say("hang")
        await bot.say("next")
        first, second = await bot.ended(2)

        assert first.reason == "error"
        assert first.text.startswith("so far\n\nThis took too long")
        assert second.reason == "done"


async def test_a_turn_that_will_not_die_frees_its_session_within_a_second(tmp_path: Path) -> None:
    release = asyncio.Event()

    async def answer(turn: TurnInput) -> AsyncIterator[AgentEvent]:
        while turn.messages[-1].content == "stubborn" and not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue
        yield MessageEvent(content="late")
        yield DoneEvent()

    async with rig(tmp_path, answer, run_timeout=1.0) as bot:
        await bot.say("stubborn")
        await bot.say("next")
        first, second = await bot.ended(2)
        release.set()

        assert first.reason == "error"
        assert second.text == "late"
        assert all(chunk.run != first.run for chunk in bot.chunks)


async def test_a_refused_message_never_reaches_the_backend(tmp_path: Path) -> None:
    async def refuse(message: InboundMessage) -> Refusal | None:
        return Refusal(text="not you")

    async with rig(tmp_path, seams=Seams(access=refuse)) as bot:
        await bot.say("hello")
        (end,) = await bot.ended(1)

        assert end.text == "not you"
        assert bot.backend.turns == []


async def test_a_check_that_breaks_again_and_again_blocks_the_message(tmp_path: Path) -> None:
    asked: list[str] = []

    async def broken(message: InboundMessage) -> Refusal | None:
        asked.append(message.text)
        raise RuntimeError("scanner down")

    async with rig(tmp_path, seams=Seams(guardian=broken)) as bot:
        await bot.say("hello")
        (end,) = await bot.ended(1)

        assert end.text == "Message blocked by safety check: I could not look at it. Please send it again."
        assert asked == ["hello"] * 2
        assert bot.backend.turns == []


async def test_a_scan_that_hangs_once_costs_no_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.agent.checks.CHECK_SECONDS", 0.05)
    asked: list[str] = []

    async def stalled(message: InboundMessage) -> Refusal | None:
        asked.append(message.text)
        if len(asked) == 1:
            await asyncio.Event().wait()
        return None

    async with rig(tmp_path, seams=Seams(guardian=stalled)) as bot:
        await bot.say("hello")
        (end,) = await bot.ended(1)

        assert end.text == "echo: hello "
        assert asked == ["hello"] * 2


async def test_a_check_of_the_answer_that_breaks_once_costs_no_answer(tmp_path: Path) -> None:
    asked: list[str] = []

    async def stumbles(message: InboundMessage, text: str) -> str | None:
        asked.append(text)
        if len(asked) % 2:
            raise RuntimeError("scanner down")
        return None if "hello" in text else "not this"

    async with rig(tmp_path, seams=Seams(answers=stumbles)) as bot:
        await bot.say("hello")
        await bot.say("good bye")
        first, second = await bot.ended(2)

        assert (first.text, second.text) == ("echo: hello ", "not this")


async def test_a_limit_that_breaks_is_not_asked_again_as_it_counts(tmp_path: Path) -> None:
    asked: list[str] = []

    async def broken(message: InboundMessage) -> Refusal | None:
        asked.append(message.text)
        raise RuntimeError("counter down")

    async with rig(tmp_path, seams=Seams(rate_limit=broken)) as bot:
        await bot.say("hello")
        (end,) = await bot.ended(1)

        assert end.reason == "error"
        assert asked == ["hello"]


async def test_an_answer_to_stay_silent_leaves_no_text(tmp_path: Path) -> None:
    async def hush(message: InboundMessage) -> Refusal | None:
        return Refusal(text="")

    async with rig(tmp_path, seams=Seams(injection=hush)) as bot:
        await bot.say("hello")
        (end,) = await bot.ended(1)

        assert (end.reason, end.text) == ("silent", "")


async def test_messages_through_an_alias_belong_to_its_session(tmp_path: Path) -> None:
    async with rig(tmp_path) as bot:
        await bot.store.history.set_alias(SessionKey("web:default:a"), SessionKey("web:default:b"))
        await bot.say("hello", "a")
        (end,) = await bot.ended(1)

        assert end.session == "web:default:b"
        assert await bot.texts("b") == [("user", "hello"), ("assistant", "echo: hello ")]
        assert end.address.chat == "a"


async def test_a_message_whose_sender_goes_away_while_it_is_accepted_is_answered(tmp_path: Path) -> None:
    async with rig(tmp_path) as bot:
        message = inbound("hello")
        publishing = asyncio.create_task(bot.bus.publish(message))
        await asyncio.sleep(0)
        publishing.cancel()
        await asyncio.wait({publishing})
        again = await bot.bus.publish(message)
        (end,) = await bot.ended(1)

        assert publishing.cancelled()
        assert again is Receipt.DUPLICATE
        assert end.text == "echo: hello "


class OneTool(NoTools):
    """Offers one tool to everybody."""

    schemas = (ToolSchema(name="roll", description="Roll.", parameters=b"{}"),)

    def tools_for(self, message: InboundMessage, ledger: Ledger) -> Tools:
        return self


async def test_a_small_model_is_offered_no_tools(tmp_path: Path) -> None:
    seams = Seams(tools=OneTool())
    async with rig(tmp_path, seams=seams) as bot:
        await bot.say("large")
        await bot.ended(1)
        bot.backend.profile = ModelProfile(window=4_096, max_output=512, compact=True)
        await bot.say("small")
        await bot.ended(2)

    assert [len(turn.tools.schemas) for turn in bot.backend.turns] == [1, 0]
