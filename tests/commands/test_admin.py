"""Admin commands: what they do to the bot, what lasts, what asks first, and what the audit log says."""

import re

import pytest

from bot.commands.admin import read_presence
from bot.messages import Role, Sender
from tests.commands.desk import BOSS, GUILD_ADMIN, Desk, message


async def test_info_tells_how_the_bot_and_its_channels_are_doing(desk: Desk) -> None:
    await desk.store.chats.note_chat(message("hi").address)
    text = (await desk.says("/admin info", sender=GUILD_ADMIN)).text

    assert re.match(r"\*\*Switchboard\*\* \S+ .*on Python 3\.", text)
    assert "- 1 chat known, 2 turns running" in text
    assert re.search(r"- Memory: [\d,]+ MB", text)
    assert "- telegram: connected, last heard of just now" in text
    assert "- slack (work): not connected (wrong token)" in text


@pytest.mark.parametrize(
    ("typed", "name"),
    [("[Bot] <of> the {team}", "Bot of the team"), ("x" * 100, "x" * 64), ("  a \n b ", "a b")],
)
async def test_the_name_is_changed_without_brackets_and_lasts(desk: Desk, typed: str, name: str) -> None:
    answer = await desk.says(f"/admin setname {typed}", sender=BOSS)

    assert f"**{name}**" in answer.text or len(name) > 60
    assert desk.bot.done == [("rename", name)]
    assert await desk.store.changed_settings.all() == {"name": name}


async def test_a_name_of_brackets_is_none(desk: Desk) -> None:
    assert (await desk.says("/admin setname []", sender=BOSS)).reason == "error"
    assert desk.bot.done == []


async def test_the_name_of_the_settings_comes_back(desk: Desk) -> None:
    await desk.says("/admin setname Other", sender=BOSS)
    await desk.says("/admin setname", sender=BOSS)

    assert desk.bot.done[-1] == ("rename", None)
    assert await desk.store.changed_settings.all() == {}


@pytest.mark.parametrize(
    ("typed", "status", "activity"),
    [("idle", "idle", None), ("DND playing chess", "dnd", "playing chess"), ("online none", "online", None)],
)
async def test_the_status_is_shown_and_lasts(
    desk: Desk, typed: str, status: str, activity: str | None
) -> None:
    answer = await desk.says(f"/setstatus {typed}", sender=GUILD_ADMIN)
    kept = (await desk.store.changed_settings.all())["presence"]

    assert answer.text == f"I am shown as {status} on discord."
    assert desk.bot.done == [("presence", status, activity)]
    assert read_presence(kept) == (status, activity)


async def test_a_status_that_there_is_not_and_one_that_is_refused_are_told(desk: Desk) -> None:
    assert "none of online, idle, dnd, invisible" in (await desk.says("/setstatus away", sender=BOSS)).text
    assert "telegram has no presence" in (await desk.says("/setstatus invisible", sender=BOSS)).text
    assert await desk.store.changed_settings.all() == {}


async def test_reload_says_what_is_new(desk: Desk) -> None:
    before = await desk.says("/admin reload", sender=BOSS)
    desk.bot.news = ("BOT_ADMINS = telegram:1,telegram:2",)
    after = await desk.says("/admin reload", sender=BOSS)

    assert before.text == "The settings are as they were."
    assert after.text.startswith("The settings were read again:\n- BOT")


async def test_a_restart_is_asked_for(desk: Desk) -> None:
    await desk.says("/admin restart", sender=BOSS)

    assert desk.bot.done == [("restart",)]


async def note_chats(desk: Desk, *chats: str) -> None:
    for chat in chats:
        await desk.store.chats.note_chat(message("hi", chat).address)


async def test_a_broadcast_asks_first_and_goes_once_to_every_chat_that_is_answered(desk: Desk) -> None:
    await note_chats(desk, "a", "b", "c")
    await desk.says("/admin blockchannel b", sender=BOSS)
    text = "Maintenance tonight.\n\nSorry! " + "x" * 300
    asked = await desk.says(f"/admin broadcast {text}", sender=BOSS)
    before = list(desk.bot.done)
    answer = await desk.says(asked.buttons[0].value, sender=BOSS)
    again = await desk.says(asked.buttons[0].value, sender=BOSS)

    assert before == []
    assert "This goes to 2 chats:" in asked.text
    assert text in asked.text
    assert answer.text == "It goes to 2 chats."
    assert desk.bot.done == [("broadcast", text, ["a", "c"])]
    assert again.reason == "error"


async def test_a_broadcast_needs_somebody_to_hear_it(desk: Desk) -> None:
    assert (await desk.says("/admin broadcast hi", sender=BOSS)).text == "There is no chat to write to."


async def test_only_so_many_broadcasts_wait_to_be_confirmed(desk: Desk) -> None:
    await note_chats(desk, "a")
    asked = [await desk.says(f"/admin broadcast {number}", sender=BOSS) for number in range(11)]

    assert (await desk.says(asked[0].buttons[0].value, sender=BOSS)).reason == "error"
    assert (await desk.says(asked[10].buttons[0].value, sender=BOSS)).reason == "done"


async def test_the_text_of_a_broadcast_is_not_in_the_audit_log(desk: Desk) -> None:
    await note_chats(desk, "a")
    asked = await desk.says("/admin broadcast our secret", sender=BOSS)
    await desk.says(asked.buttons[0].value, sender=BOSS)

    assert "secret" not in str(desk.audit.events)
    assert [event.target for event in desk.audit.events][-1] == "1 chat"


async def test_the_journal_shows_what_is_not_answered_and_tries_again(desk: Desk) -> None:
    empty = (await desk.says("/admin journal", sender=BOSS)).text
    waiting = message("hello")
    await desk.store.journal.accept(waiting)
    listed = (await desk.says("/admin journal list", sender=BOSS)).text
    missing = (await desk.says("/admin journal retry", sender=BOSS)).text
    retried = await desk.says(f"/admin journal retry {waiting.run}", sender=BOSS)

    assert empty == "Nothing waits: every accepted message is answered."
    assert listed == f"- queued: `{waiting.run}` of `telegram:default:main`, just now, 0 attempts"
    assert missing == "Which one? `/admin journal` lists them."
    assert "no parked message has the id" in retried.text


async def test_every_change_is_audited_with_who_what_and_to_whom(desk: Desk) -> None:
    await desk.says("/admin blockuser 666", sender=BOSS)
    (event,) = desk.audit.events

    assert (event.actor, event.action, event.target, event.status) == (
        "telegram:1",
        "command admin blockuser",
        "user telegram:default:666",
        "done",
    )


async def test_a_direct_message_makes_nobody_an_admin(desk: Desk) -> None:
    answer = await desk.says("/admin info", sender=Sender(id="5", role=Role.MEMBER))

    assert answer.reason == "error"
