"""People edit and take back what they wrote: before it is answered, and after."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from bot.backends.base import AgentEvent, DoneEvent, MessageEvent, TurnInput
from bot.bus import Receipt
from bot.messages import Address, AgentEnd, InboundMessage, Kind, SessionKey
from tests.agent.rig import Gate, inbound, rig
from tests.agent.test_bursts import PATIENCE, quote, spoken

GROUP = Address(channel="web", chat="group", is_direct=False)


def edit(message: InboundMessage, text: str) -> InboundMessage:
    return change(message, Kind.EDIT, text)


def take_back(message: InboundMessage) -> InboundMessage:
    return change(message, Kind.DELETE, "")


def change(message: InboundMessage, kind: Kind, text: str) -> InboundMessage:
    return inbound(
        text, kind=kind, target=message.platform_id, address=message.address, session=message.session
    )


async def show_history(turn: TurnInput) -> AsyncIterator[AgentEvent]:
    """Says all that the person said, as the model sees it."""
    yield MessageEvent(content=" | ".join(part.content for part in turn.messages if part.role == "user"))
    yield DoneEvent()


async def test_a_message_that_waits_is_answered_as_it_was_edited(tmp_path: Path) -> None:
    gate = Gate()
    async with rig(tmp_path, gate.play()) as bot:
        await bot.say("runs")
        await gate.reached()
        bot.backend.play = quote
        waiting = inbound("wiats")
        await bot.bus.publish(waiting)
        await bot.bus.publish(edit(waiting, "waits"))
        gate.open()
        await bot.ended(2)

        assert spoken(bot) == ["done", "waits"]


async def test_a_message_that_waits_and_is_taken_back_is_not_answered(tmp_path: Path) -> None:
    gate = Gate()
    async with rig(tmp_path, gate.play()) as bot:
        await bot.say("runs")
        await gate.reached()
        waiting = inbound("forget it")
        await bot.bus.publish(waiting)
        await bot.bus.publish(take_back(waiting))
        await bot.until(lambda: bool(bot.ends))
        silent = bot.ends[0]
        gate.open()
        await bot.ended(2)
        await bot.until(lambda: sum(isinstance(event, AgentEnd) for event in bot.events) == 2)

        assert (silent.run, silent.reason) == (waiting.run, "silent")
        assert len(bot.backend.turns) == 1
        assert not any("forget" in text for _, text in await bot.texts())


async def test_what_waits_over_a_restart_is_changed_there_too(tmp_path: Path) -> None:
    kept, gone = inbound("old"), inbound("gone")
    async with rig(tmp_path, debounce={"web": 30.0}) as bot:
        for message in (kept, gone):
            await bot.bus.publish(message)
        await bot.bus.publish(edit(kept, "new"))
        await bot.bus.publish(take_back(gone))
    async with rig(tmp_path, quote) as bot:
        await bot.ended(1)

        assert spoken(bot) == ["new"]


@pytest.mark.parametrize(("is_edit", "seen"), [(True, "fixed | next"), (False, "next")])
async def test_what_was_answered_already_is_changed_for_the_next_answer(
    tmp_path: Path, is_edit: bool, seen: str
) -> None:
    async with rig(tmp_path, show_history) as bot:
        said = inbound("borken")
        await bot.bus.publish(said)
        await bot.ended(1)
        await bot.bus.publish(edit(said, "fixed") if is_edit else take_back(said))
        await bot.say("next")
        await bot.ended(2)

        assert bot.ends[-1].text == seen
        assert len(bot.backend.turns) == 2


async def test_a_change_that_is_told_twice_is_followed_once(tmp_path: Path) -> None:
    async with rig(tmp_path) as bot:
        said = inbound("hello")
        await bot.bus.publish(said)
        await bot.ended(1)
        once = edit(said, "edited")
        receipts = [await bot.bus.publish(once) for _ in range(2)]

        assert receipts == [Receipt.ACCEPTED, Receipt.DUPLICATE]


async def test_a_change_of_something_unknown_changes_nothing(tmp_path: Path) -> None:
    async with rig(tmp_path) as bot:
        receipts = [await bot.bus.publish(made(inbound("never said"), "x")) for made in (edit,)]
        await bot.bus.publish(take_back(inbound("never said")))

        assert receipts == [Receipt.ACCEPTED]
        assert await bot.texts() == []
        assert bot.backend.turns == []


async def test_an_edit_of_one_message_of_a_burst_leaves_the_others(tmp_path: Path) -> None:
    async with rig(tmp_path, debounce=PATIENCE) as bot:
        messages = [inbound(text) for text in ("one", "two", "three")]
        for message in messages:
            await bot.bus.publish(message)
        await bot.ended(3)
        await bot.bus.publish(edit(messages[2], "THREE"))
        await bot.bus.publish(edit(messages[0], "ONE"))
        await bot.bus.publish(take_back(messages[1]))
        after = await bot.texts()
        for message in messages:
            await bot.bus.publish(take_back(message))

        assert after[0] == ("user", "ONE\nTHREE")
        assert (await bot.texts())[0] == ("user", "[taken back]")


async def test_what_was_overheard_is_context_of_the_next_answer_and_of_no_other(tmp_path: Path) -> None:
    async with rig(tmp_path, show_history) as bot:
        for text in ("lunch?", "at one"):
            await bot.bus.publish(overheard(text))
        receipt = await bot.bus.publish(overheard("at one", platform_id="twice"))
        again = await bot.bus.publish(overheard("at one", platform_id="twice"))
        await bot.bus.publish(in_group("what did they say?"))
        await bot.ended(1)
        await bot.bus.publish(in_group("and now?"))
        await bot.ended(2)

        first, second = (turn.messages[-1].content for turn in bot.backend.turns)
        assert (receipt, again) == (Receipt.ACCEPTED, Receipt.DUPLICATE)
        assert first.index("lunch?") < first.index("at one") < first.index("what did they say?")
        assert "lunch?" not in second


async def test_only_the_newest_of_what_was_overheard_are_kept(tmp_path: Path) -> None:
    async with rig(tmp_path, group_context={"web": 2}) as bot:
        for text in ("first", "second", "third"):
            await bot.bus.publish(overheard(text))
        await bot.bus.publish(in_group("well?"))
        await bot.ended(1)

        (turn,) = bot.backend.turns
        assert [text in turn.messages[-1].content for text in ("first", "second", "third")] == [
            False,
            True,
            True,
        ]


async def test_what_was_overheard_can_be_edited_and_taken_back(tmp_path: Path) -> None:
    async with rig(tmp_path) as bot:
        wrong, gone = overheard("wrong"), overheard("gone")
        for message in (wrong, gone):
            await bot.bus.publish(message)
        await bot.bus.publish(edit(wrong, "right"))
        await bot.bus.publish(take_back(gone))
        await bot.bus.publish(in_group("well?"))
        await bot.ended(1)

        newest = bot.backend.turns[0].messages[-1].content
        assert "right" in newest
        assert "wrong" not in newest
        assert "gone" not in newest


def in_group(text: str, **changes: object) -> InboundMessage:
    session = SessionKey("web:default:group")
    return replace(inbound(text, address=GROUP, session=session), **changes)


def overheard(text: str, **changes: object) -> InboundMessage:
    return in_group(text, kind=Kind.OVERHEARD, **changes)
