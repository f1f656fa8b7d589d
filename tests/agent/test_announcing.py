"""What is said outside of turns: kept first, then shown, and delivered like an answer."""

from pathlib import Path

import pytest

from bot.errors import StoreError
from bot.messages import Address, Attachment, Button, End, InboxUpdate, SessionKey
from tests.agent.rig import Gate, Rig, rig

PAGE = Address(channel="web", chat="main")
PHONE = Address(channel="telegram", account="bot2", chat="42", thread="7")


async def announced(bot: Rig, address: Address, text: str = "Tea is ready") -> End:
    return await bot.loop.speaker.say(address, address.session(), text)


async def test_what_is_said_is_kept_and_shown_everywhere(home: Path) -> None:
    async with rig(home) as bot:
        end = await announced(bot, PAGE)
        await bot.ended(1)
        await bot.until(lambda: any(isinstance(event, InboxUpdate) for event in bot.events))
        (line,) = await bot.history()

        assert bot.sent == [end]
        assert (end.reason, end.text, end.reply_to) == ("done", "Tea is ready", None)
        assert (line.role, line.text, line.speaker, line.run) == ("assistant", end.text, "Rig", end.run)
        (update,) = bot.events
        assert isinstance(update, InboxUpdate)
        assert (update.run, update.direction, update.text) == (end.run, "out", end.text)


async def test_a_platform_gets_it_out_of_the_outbox_and_a_page_out_of_the_history(home: Path) -> None:
    async with rig(home) as bot:
        end = await announced(bot, PHONE)
        await announced(bot, PAGE)

        assert [waiting.run for waiting in await bot.store.outbox.pending("telegram", "bot2")] == [end.run]
        assert list(await bot.store.outbox.pending("web")) == []
        assert end.address == PHONE


async def test_buttons_and_files_come_along(home: Path) -> None:
    button, file = Button(label="Yes", value="/answer 1"), Attachment(kind="file", name="a.txt")
    async with rig(home) as bot:
        await bot.loop.speaker.say(PAGE, PAGE.session(), "Well?", buttons=(button,), attachments=(file,))
        (end,) = await bot.ended(1)

    assert (end.buttons, end.attachments) == ((button,), (file,))


@pytest.mark.parametrize("in_context", [True, False])
async def test_the_model_sees_it_later_only_where_that_is_wanted(home: Path, in_context: bool) -> None:
    async with rig(home) as bot:
        await bot.loop.speaker.say(PAGE, PAGE.session(), "The code is 4711.", in_context=in_context)
        await bot.say("hello")
        await bot.ended(2)

        prompt = bot.backend.turns[0].messages
        assert any("4711" in part.content for part in prompt) is in_context


async def test_the_same_said_twice_is_two_messages_in_order(home: Path) -> None:
    async with rig(home) as bot:
        first, second = await announced(bot, PHONE), await announced(bot, PHONE)

        assert [end.run for end in await bot.store.outbox.pending("telegram", "bot2")] == [
            first.run,
            second.run,
        ]


async def test_it_belongs_to_the_session_that_is_named_wherever_it_is_shown(home: Path) -> None:
    async with rig(home) as bot:
        await bot.loop.speaker.say(PAGE, SessionKey("web:default:other"), "Hello")

        assert await bot.texts("other") == [("assistant", "Hello")]
        assert await bot.texts("main") == []


async def test_it_is_said_under_the_name_that_the_bot_has_by_then(home: Path) -> None:
    async with rig(home) as bot:
        bot.loop.rename("Robin")
        await announced(bot, PAGE)

        assert [line.speaker for line in await bot.history()] == ["Robin"]


async def test_what_could_not_be_kept_is_not_said(home: Path) -> None:
    async with rig(home) as bot:
        await bot.store.__aexit__(None, None, None)
        with pytest.raises(StoreError):
            await announced(bot, PAGE)

        assert (bot.sent, bot.events) == ([], [])


async def test_it_waits_for_no_turn(home: Path) -> None:
    gate = Gate()
    async with rig(home, gate.play()) as bot:
        await bot.say("take your time")
        await gate.reached()
        await announced(bot, PAGE)
        gate.open()
        ends = await bot.ended(2)

        assert [end.text for end in ends] == ["Tea is ready", "done"]
