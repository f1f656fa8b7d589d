"""`/inbox`, `/canned` and `/dock`: the inbox from an admin's own chat, on whatever channel that is."""

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import pytest

from bot.commands.inbox import ALONE, LOST, NOTHING
from bot.messages import Address, Sender
from tests.inbox.office import CHAT, HERE, KIM, Office, office
from tests.simulators.model import call, say
from tests.test_agent import BOB, talking

DESK: Final = Address(channel="slate", chat="boss")
BOSS: Final = Sender(id="boss", name="Boss")
ADMINS: Final = ("slate:boss",)


@pytest.fixture
async def bot(home: Path) -> AsyncIterator[Office]:
    """A bot to which Kim has written, and which Boss steers from a chat of another channel."""
    async with office(home, admins=ADMINS) as running:
        await running.says("Where is my parcel?")
        yield running


async def told(bot: Office, text: str, address: Address = DESK) -> str:
    """The answer to what the admin says."""
    return (await bot.says(text, BOSS, address)).text


async def test_the_list_numbers_conversations_for_what_is_said_next(bot: Office) -> None:
    listed = await told(bot, "/inbox kim")
    shown = await told(bot, "/inbox show 1")
    by_key = await told(bot, f"/inbox show {CHAT}")

    assert listed.startswith(f"1. **Kim** `{CHAT}`")
    assert "Where is my parcel?" in shown
    assert "Where is my parcel?" in by_key


async def test_a_conversation_is_taken_answered_and_released(bot: Office) -> None:
    await told(bot, "/inbox")
    taken = await told(bot, f"/inbox take {CHAT}")
    held = await bot.says("hello?")
    unanswered = await told(bot, "/inbox unread")
    await told(bot, f"/inbox reply {CHAT} It comes *tomorrow*.\nSorry!")
    await told(bot, f"/inbox say {CHAT} Ask me anything")
    await bot.posted("Boss:")
    released = await told(bot, f"/inbox release {CHAT}")
    await bot.says("thanks")

    assert f"/inbox release {CHAT}" in taken
    assert (held.reason, f"I answer in `{CHAT}` again." == released) == ("silent", True)
    assert "taken over by Boss" in unanswered
    assert "It comes *tomorrow*.\nSorry!" in bot.prompt()
    assert "**Boss:** Ask me anything" in bot.prompt()
    assert bot.audited("take over") == ["slate:boss"]


async def test_conversations_are_marked_assigned_labelled_and_noted(bot: Office) -> None:
    for command in ("handled", "assign", "label", "note"):
        await told(
            bot, f"/inbox {command} {CHAT}" + {"label": " late, refund", "note": " Ask Ben"}.get(command, "")
        )
    one = await bot.desk.conversation(CHAT)
    shown = await told(bot, f"/inbox show {CHAT}")
    await told(bot, f"/inbox mute {CHAT}")
    hidden = await told(bot, "/inbox kim")
    await told(bot, f"/inbox open {CHAT}")
    await told(bot, f"/inbox assign {CHAT} nobody")
    after = await bot.desk.conversation(CHAT)

    assert (one.state, one.assignee, sorted(one.labels)) == ("handled", "Boss", ["late", "refund"])
    assert "Ask Ben" in shown
    assert hidden == NOTHING
    assert (after.state, after.assignee) == ("open", None)


async def test_who_waits_is_listed(bot: Office) -> None:
    nobody = await told(bot, "/inbox waiting")
    await told(bot, f"/inbox wait {CHAT}")

    assert nobody == NOTHING
    assert CHAT in await told(bot, "/inbox waiting")


async def test_a_draft_is_shown_to_the_admin_alone(bot: Office) -> None:
    await told(bot, f"/inbox take {CHAT}")
    await bot.says("In blue?")
    draft = await told(bot, f"/inbox draft {CHAT}")

    assert draft == "echo: In blue?"
    assert not any("In blue?" in text for _, text in bot.boards["board"].posts)


async def test_what_has_failed_is_tried_again_and_a_person_blocked(bot: Office) -> None:
    refused = await told(bot, f"/inbox retry {CHAT}")
    stopped = await told(bot, f"/inbox stop {CHAT}")
    blocked = await told(bot, f"/inbox block {CHAT}")
    unheard = await bot.says("hello?")
    await told(bot, f"/inbox unblock {CHAT}")
    heard = await bot.says("hello?")

    assert "answered already" in refused
    assert stopped == "Nothing is being answered there."
    assert "I hear nothing" in blocked
    assert "echo" not in unheard.text
    assert "echo" in heard.text


async def test_canned_replies_are_kept_and_said_by_name(bot: Office) -> None:
    empty = await told(bot, "/canned")
    await told(bot, "/canned set hi Hello {name}, how are you?")
    listed = await told(bot, "/canned list")
    await told(bot, f"/inbox canned {CHAT} hi")
    chat = await bot.posted("Hello Kim, how are you?")
    gone = await told(bot, "/canned delete hi")
    again = await told(bot, "/canned delete hi")

    assert "/canned set" in empty
    assert "- `hi`: Hello" in listed
    assert chat == HERE.chat
    assert (gone, again) == ("`hi` is gone.", "There is no canned reply `hi`.")


async def test_a_chat_docks_and_undocks_itself(bot: Office) -> None:
    await told(bot, "hello")
    await told(bot, "hello", HERE)
    refused = await told(bot, "/dock board:default:nobody")
    itself = await told(bot, f"/dock {DESK.session()}")
    await told(bot, f"/dock {CHAT}")
    answer = await bot.says("over there", BOSS, DESK)
    await told(bot, "/dock off")
    back = await bot.says("here", BOSS, DESK)

    assert "There is no conversation" in refused
    assert "same chat" in itself
    assert (answer.address, back.address) == (HERE, DESK)


async def test_a_broadcast_is_looked_at_sent_and_stopped(bot: Office) -> None:
    asked = await bot.says("/inbox broadcast 1 We close at *five*", BOSS, DESK)
    unsent = [text for _, text in bot.boards["board"].posts]
    sent = await told(bot, asked.buttons[0].value)
    stopped = await told(bot, f"{asked.buttons[0].value} stop")
    again = await told(bot, asked.buttons[0].value)
    reached = [end for end in bot.ends if end.text == "We close at *five*"]

    assert asked.text.startswith("This goes to ")
    assert "board: 1" in asked.text
    assert "We close at *five*" in asked.text
    assert not any("close at" in text for text in unsent)
    assert "stop` stops it" in sent
    assert stopped == "Stopped."
    assert len(reached) == 1
    assert "look at it again" in again


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("/inbox show", "Which conversation?"),
        ("/inbox show 7", LOST.format(number=7)),
        ("/inbox show board:default:nobody", "There is no conversation"),
        (f"/inbox reply {CHAT}", "With which words?"),
        (f"/inbox canned {CHAT} nothing", "no canned reply of that name"),
        ("/inbox nobody-like-that", NOTHING),
        ("/inbox answer abcdef yes", "not open any more"),
        ("/inbox questions", "Nothing is asked."),
        (f"/inbox release {CHAT}", "Nobody has taken it over"),
        ("/canned set hi", "A canned reply has 1 to"),
        ("/inbox broadcast 700 hello", "1 to 600 chats a minute"),
        ("/inbox send 0123", "not kept any longer"),
        ("/inbox send 0123 stop", "That one is over."),
        ("/dock", "chat is missing"),
        ("/dock off", "nowhere else"),
    ],
)
async def test_what_can_not_be_done_is_answered(bot: Office, typed: str, answer: str) -> None:
    assert re.search(re.escape(answer), await told(bot, typed))


async def test_other_people_and_other_chats_are_told_nothing(bot: Office) -> None:
    group = Address(channel="slate", chat="club", is_direct=False)
    stranger = await bot.says("/inbox", KIM)
    in_public = await told(bot, "/inbox", group)

    assert "admins" in stranger.text
    assert in_public == ALONE


async def test_a_question_is_answered_in_the_persons_stead(home: Path) -> None:
    asking = call("ask_question", '{"question": "Which colour?", "options": ["red", "blue"]}')
    async with talking(home, asking, say("Blue it is.")) as talk:
        message = await talk.says("Paint it", BOB)
        await talk.until(lambda end: "Which colour?" in end.text)
        boss = await talk.says("/inbox questions", chat="desk")
        listed = (await talk.until(lambda end: end.run == boss.run)).text
        found = re.search("`([0-9a-f]{6})`", listed)
        assert found is not None
        await talk.says(f"/inbox answer {found[1]} blue", chat="desk")
        end = await talk.until(lambda end: end.run == message.run)

    assert "Which colour?" in listed
    assert end.text == "Blue it is."
