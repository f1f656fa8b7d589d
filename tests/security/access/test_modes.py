"""The modes: who is answered under each, for any rules, persons and chats."""

from pathlib import Path
from typing import get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.messages import Address, InboundMessage, Role, Sender, Trigger
from bot.settings.access import AccessMode, AccessSettings, PlaceAccess
from memory.database import DATABASE, Database
from memory.store import Store
from security.access.access import REFUSAL
from tests.commands.desk import BOSS, fresh_home, message
from tests.security.access.conftest import House, Houses

MODES: tuple[AccessMode, ...] = get_args(AccessMode)
PEOPLE = ("p", "q")
CHATS = ("g", "h")
SUBJECT = st.builds(
    "telegram:{}:{}".format, st.sampled_from(("default", "*", "other")), st.sampled_from(PEOPLE + CHATS)
)
RULE = st.tuples(st.sampled_from(("user", "chat")), SUBJECT, st.sampled_from(("allow", "block")))
ROLE = st.tuples(st.just("role"), SUBJECT, st.sampled_from(("owner", "admin", "member", "guest")))
CHAT_MODE = st.tuples(
    st.just("mode"), st.builds("telegram:default:{}".format, st.sampled_from(CHATS)), st.sampled_from(MODES)
)


def said(person: str, chat: str, *, role: Role = Role.MEMBER, thread: str | None = None) -> InboundMessage:
    return message("hello", chat, sender=Sender(id=person, role=role), thread=thread, is_direct=False)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rules=st.lists(RULE | ROLE | CHAT_MODE, max_size=10),
    mode=st.sampled_from(MODES),
    listed=st.lists(SUBJECT, max_size=2),
)
async def test_nobody_passes_whom_no_rule_lets_in(
    rules: list[tuple[str, str, str]], mode: AccessMode, listed: list[str], tmp_path: Path
) -> None:
    home = fresh_home(tmp_path)
    async with Store(home, synchronous="NORMAL") as store, Database(home / DATABASE) as database:
        house = House(store, database, AccessSettings(mode=mode, allow=tuple(listed)), {"telegram:1"})
        await store.rules.change(rules, by="x")
        kept = {(kind, subject): value for kind, subject, value in rules}

        def says(kind: str, id_: str, *values: str) -> bool:
            names = (f"telegram:{account}:{id_}" for account in ("default", "*"))
            return any(kept.get((kind, name)) in values for name in names)

        for person in PEOPLE:
            for chat in CHATS:
                passes = house.access.may_speak(said(person, chat))
                exact = kept.get(("role", f"telegram:default:{person}"))
                given_role = exact or kept.get(("role", f"telegram:*:{person}"))
                is_listed = any(name in listed for id_ in (person, chat) for name in _names(id_))
                is_known = (
                    given_role is not None
                    or says("user", person, "allow")
                    or says("chat", chat, "allow")
                    or is_listed
                )
                held = kept.get(("mode", f"telegram:default:{chat}"), mode)
                is_blocked = says("user", person, "block") or says("chat", chat, "block")
                if given_role in ("owner", "admin"):
                    assert passes
                elif is_blocked or held == "disabled":
                    assert not passes
                elif held == "open":
                    assert passes
                else:
                    assert passes == is_known
                assert house.access.may_speak(said("1", chat))


def _names(id_: str) -> tuple[str, str]:
    return f"telegram:default:{id_}", f"telegram:*:{id_}"


async def test_an_empty_list_means_nobody_and_admins(houses: Houses) -> None:
    house = houses(AccessSettings(mode="allowlist"))

    assert await house.tells(message("hi")) == REFUSAL
    assert await house.answers(message("hi", sender=BOSS))


async def test_whoever_is_taken_off_the_list_last_leaves_it_closed(houses: Houses) -> None:
    house = houses(AccessSettings(mode="allowlist"))
    await house.access.rule("user", "telegram:default:42", "allow", by="x")
    listed = await house.answers(message("hi"))
    await house.access.rule("user", "telegram:default:42", None, by="x")

    assert listed
    assert not await house.answers(message("hi"))


async def test_the_settings_can_list_people_and_chats_on_one_account_or_on_all(houses: Houses) -> None:
    house = houses(AccessSettings(mode="allowlist", allow=("telegram:42", "slack:work:C1")))
    elsewhere = Address(channel="slack", account="play", chat="C1", is_direct=False)

    assert await house.answers(message("hi"))
    assert house.access.is_open(Address(channel="slack", account="work", chat="C1", is_direct=False))
    assert not house.access.is_open(elsewhere)
    assert not await house.answers(message("hi", sender=Sender(id="43")))


async def test_whoever_sits_at_the_page_or_the_terminal_always_passes(houses: Houses) -> None:
    owner = Sender(id="owner", role=Role.OWNER)
    for mode in MODES:
        assert await houses(AccessSettings(mode=mode)).answers(message("hi", sender=owner, channel="web"))


async def test_the_page_and_the_terminal_are_open_to_who_gets_to_them_unless_the_settings_say_otherwise(
    houses: Houses,
) -> None:
    house = houses()
    closed = houses(AccessSettings(channels={"web": PlaceAccess(mode="disabled")}))

    assert await house.answers(message("hi", channel="terminal"))
    assert house.roles.known_as(message("hi", channel="web")).sender.role is Role.MEMBER
    assert not await closed.answers(message("hi", channel="web"))


async def test_groups_channels_and_chats_have_modes_of_their_own(houses: Houses) -> None:
    house = houses(
        AccessSettings(
            mode="pairing",
            groups="disabled",
            channels={"discord": PlaceAccess(mode="open", groups="allowlist")},
            chats={"telegram:default:town": "open"},
        )
    )
    modes = [
        house.access.mode_of(Address(channel=channel, chat=chat, is_direct=is_direct))
        for channel, chat, is_direct in (
            ("telegram", "me", True),
            ("telegram", "g", False),
            ("telegram", "town", False),
            ("discord", "me", True),
            ("discord", "g", False),
        )
    ]

    assert modes == ["pairing", "disabled", "open", "open", "allowlist"]


async def test_an_admins_word_about_a_chat_ranks_above_the_settings_and_holds_in_its_threads(
    houses: Houses,
) -> None:
    house = houses(AccessSettings(chats={"telegram:default:g": "open"}))
    group = Address(channel="telegram", chat="g", is_direct=False)
    await house.access.set_mode(group, "disabled", by="x")
    told = house.access.mode_of(Address(channel="telegram", chat="g", thread="5", is_direct=False))
    await house.access.set_mode(group, None, by="x")

    assert (told, house.access.mode_of(group)) == ("disabled", "open")


async def test_an_admin_of_a_strangers_group_is_a_stranger(houses: Houses) -> None:
    house = houses()
    admin = said("guild-admin", "their-guild", role=Role.ADMIN)
    in_open = houses(AccessSettings(mode="open"))

    assert not await house.answers(admin)
    assert house.access.known_as(admin).sender.role is Role.GUEST
    assert await in_open.answers(admin)
    assert in_open.access.known_as(admin).sender.role is Role.ADMIN


async def test_an_admin_of_a_group_who_is_blocked_stays_blocked(houses: Houses) -> None:
    house = houses(AccessSettings(mode="open"))
    await house.access.rule("user", "telegram:default:guild-admin", "block", by="x")

    assert not await house.answers(said("guild-admin", "g", role=Role.ADMIN))


async def test_a_mode_that_a_newer_version_has_written_closes_the_chat(houses: Houses) -> None:
    house = houses(AccessSettings(mode="open"))
    await house.store.rules.change([("mode", "telegram:default:g", "lottery")], by="x")

    assert not await house.answers(said("p", "g"))


@pytest.mark.parametrize("trigger", [Trigger.SCHEDULE, Trigger.HEARTBEAT])
async def test_what_the_bot_begins_itself_is_refused_in_silence_or_not_at_all(
    houses: Houses, trigger: Trigger
) -> None:
    refusal = await houses().access(message("do it", trigger=trigger))

    assert refusal is None if trigger is Trigger.HEARTBEAT else refusal is not None and refusal.text == ""


async def test_commands_of_strangers_are_passed_over_in_silence(houses: Houses) -> None:
    house = houses(AccessSettings(mode="allowlist"))

    assert [await house.tells(message(text)) for text in ("/help", "!help", "hello")] == ["", "", REFUSAL]


async def test_a_silent_bot_tells_nobody(houses: Houses) -> None:
    house = houses(AccessSettings(mode="allowlist", silent=True))

    assert await house.tells(message("hello")) == ""


async def test_who_is_answered_is_written_down_once_a_day_and_who_is_not_once_a_minute(
    houses: Houses,
) -> None:
    house = houses(AccessSettings(mode="allowlist", allow=("telegram:42",)))
    for seconds in (0, 30, 90, 90_000):
        house.now = 1_000_000.0 + seconds
        await house.access(message("hi"))
        await house.access(message("hi", sender=Sender(id="9")))

    assert house.audited() == [
        ("telegram:42", "access", "allowed"),
        ("telegram:9", "access", "denied"),
        ("telegram:9", "access", "denied"),
        ("telegram:42", "access", "allowed"),
        ("telegram:9", "access", "denied"),
    ]


async def test_what_goes_to_all_chats_goes_to_no_chat_that_nobody_let_in(houses: Houses) -> None:
    house = houses()
    group = Address(channel="telegram", chat="g", is_direct=False)
    before = house.access.is_open(group)
    await house.access.rule("chat", "telegram:default:g", "allow", by="x")

    assert (before, house.access.is_open(group)) == (False, True)
