"""Commands for who is answered, and where the bot takes part unasked."""

import pytest

from bot.commands.access import ELSEWHERE, LET_IN, read_subject
from bot.commands.registry import OPERATORS_ONLY
from bot.messages import Address, Sender
from tests.commands.desk import ANN, BOSS, GUILD_ADMIN, Desk, message

HERE = Address(channel="discord", account="second", chat="5", is_direct=False)


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("42", "discord:second:42"),
        ("<@42>", "discord:second:42"),
        ("<@!42>", "discord:second:42"),
        ("<#42>", "discord:second:42"),
        ("<@U1|ann>", "discord:second:U1"),
        ("@ann", "discord:second:ann"),
        ("telegram:42", "telegram:*:42"),
        ("Slack:work:U1", "slack:work:U1"),
        ("telegram:", "discord:second:telegram:"),
    ],
)
def test_whom_an_admin_means(text: str, subject: str) -> None:
    assert read_subject(text, HERE) == subject


async def is_answered(desk: Desk, chat: str = "main", **changes: object) -> bool:
    return await desk.access(message("hello", chat, **changes)) is None  # type: ignore[arg-type]  # as named


async def test_a_blocked_person_is_refused_until_the_rule_is_forgotten(desk: Desk) -> None:
    await desk.says("/admin blockuser 42", sender=BOSS)
    blocked = await is_answered(desk)
    await desk.says("/admin restrictions forget 42", sender=BOSS)

    assert (blocked, await is_answered(desk)) == (False, True)


async def test_the_first_who_is_allowed_closes_the_door_to_others(desk: Desk) -> None:
    answer = await desk.says("/admin allowuser 42", sender=BOSS)

    assert "nobody else is answered" in answer.text
    assert await is_answered(desk, sender=ANN)
    assert not await is_answered(desk, sender=Sender(id="8"))
    assert await is_answered(desk, sender=BOSS)


async def test_taking_the_last_one_away_does_not_open_the_door(desk: Desk) -> None:
    await desk.says("/admin allowuser 9", sender=BOSS)
    await desk.says("/admin restrictions forget 9", sender=BOSS)
    closed = await is_answered(desk)
    asked = await desk.says("/admin restrictions open", sender=BOSS)
    still_closed = await is_answered(desk)
    await desk.says(asked.buttons[0].value, sender=BOSS)

    assert (closed, still_closed, await is_answered(desk)) == (False, False, True)


async def test_a_chat_is_allowed_from_within(desk: Desk) -> None:
    await desk.says("/admin allowchannel", "main", sender=BOSS)

    assert await is_answered(desk, "main")
    assert not await is_answered(desk, "other")


async def test_the_restrictions_are_listed(desk: Desk) -> None:
    nothing = (await desk.says("/admin restrictions", sender=BOSS)).text
    await desk.says("/admin allowuser 42", sender=BOSS)
    await desk.says("/admin blockuser discord:7", sender=BOSS)
    await desk.says("/admin blockchannel spam", sender=BOSS)

    assert nothing.splitlines() == [
        "- All people are answered that are not blocked",
        "- All chats are answered that are not blocked",
    ]
    assert (await desk.says("/admin restrictions", sender=BOSS)).text.splitlines() == [
        "- People that are answered: `telegram:default:42`",
        "- Blocked people: `discord:*:7`",
        "- All chats are answered that are not blocked",
        "- Blocked chats: `telegram:default:spam`",
    ]


@pytest.mark.parametrize(
    "text",
    ["blockuser discord:7", "allowchannel telegram:other:5", "restrictions open", "restrictions open yes"],
)
async def test_an_admin_of_one_group_decides_about_nothing_else(desk: Desk, text: str) -> None:
    assert (await desk.says(f"/admin {text}", sender=GUILD_ADMIN)).text == ELSEWHERE


async def test_a_rule_that_there_is_not_can_not_be_forgotten(desk: Desk) -> None:
    assert "There is no rule" in (await desk.says("/admin restrictions forget 5", sender=BOSS)).text
    assert "Whose rule?" in (await desk.says("/admin restrictions forget", sender=BOSS)).text


async def test_the_bot_takes_part_in_a_group_unasked_until_it_is_told_otherwise(desk: Desk) -> None:
    address = message("hi", is_direct=False).address
    on = await desk.says("/admin converse on", sender=BOSS, is_direct=False)
    is_on = desk.store.rules.is_conversing(address)
    off = await desk.says("/converse off", sender=BOSS, is_direct=False)

    assert on.text == "I take part in this chat without being asked."
    assert is_on
    assert off.text == "I answer in this chat only when I am addressed."
    assert not desk.store.rules.is_conversing(address)


async def test_in_a_direct_chat_there_is_nothing_to_take_part_in(desk: Desk) -> None:
    assert (await desk.says("/admin converse on", sender=BOSS)).reason == "error"


async def test_an_admin_of_one_group_lets_nobody_in_where_strangers_are_not_answered(desk: Desk) -> None:
    await desk.says("/admin access pairing", sender=BOSS)
    text = (await desk.says("/admin allowuser 8", sender=GUILD_ADMIN)).text

    assert text == LET_IN
    assert not await is_answered(desk, sender=Sender(id="8"))


async def test_an_admin_of_one_group_closes_no_door_to_others(desk: Desk) -> None:
    answer = await desk.says("/admin allowuser 8", sender=GUILD_ADMIN)

    assert answer.text == "`telegram:default:8` is allowed."
    assert await is_answered(desk, sender=ANN)


async def test_who_may_speak_in_a_chat_is_shown_and_changed(desk: Desk) -> None:
    answer = await desk.says("/admin access disabled", sender=BOSS)
    closed = await is_answered(desk), await is_answered(desk, "elsewhere")
    shown = await desk.says("/admin access", sender=BOSS)
    await desk.says("/admin access default", sender=BOSS)

    assert answer.text == "The mode of this chat is disabled now."
    assert closed == (False, True)
    assert shown.text.splitlines() == [
        "- `direct chats`: open",
        "- `groups`: open",
        "- `telegram:default:main`: disabled",
        "Here: disabled.",
    ]
    assert await is_answered(desk)


async def test_only_who_steers_the_whole_bot_changes_who_may_speak(desk: Desk) -> None:
    assert (await desk.says("/admin access open", sender=GUILD_ADMIN)).text == OPERATORS_ONLY
