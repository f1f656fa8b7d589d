"""Letting people in: codes, what is kept of who waits, and who may decide."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.commands.pairing import AccessError, LetIn
from bot.messages import Address, Attachment, InboundMessage, Role, Sender
from bot.settings.access import AccessSettings
from memory.database import DATABASE, Database
from memory.store import Store
from security.access.codes import LENGTH, LETTERS, find_code, make_code, read_code, spoken
from security.access.pairing import CODE_SECONDS, DENIED_SECONDS, FULL, TELL_EVERY, WRONG_CODES, WRONG_SECONDS
from tests.commands.desk import ANN, message
from tests.security.access.conftest import House, Houses

CODE = re.compile(r"\*\*([A-Z]{4}-[A-Z]{4})\*\*")
NOBODY: tuple[str, ...] = ()


async def ask(house: House, text: str = "hello", sender: Sender = ANN, **changes: object) -> str:
    """The code that somebody is told."""
    told = await house.tells(message(text, sender=sender, **changes))  # type: ignore[arg-type]  # as named
    found = CODE.search(told)
    assert found is not None, told
    return found[1]


async def let_in(
    house: House, code: str, role: Role | None = None, *, rank: Role = Role.OWNER
) -> LetIn | None:
    return await house.pairing.let_in(code, role=role, by="telegram:1", rank=rank, is_owner=False)


@given(code=st.builds(make_code))
def test_a_code_is_read_however_it_is_typed(code: str) -> None:
    typed = (code, spoken(code), spoken(code).lower(), f" `{spoken(code)}` ")

    assert len(code) == LENGTH
    assert not set(code) & set("IO01")
    assert {find_code(read_code(one), ["A" * 7 + "B", code]) for one in typed} == {code}


@given(text=st.text(max_size=40))
def test_what_is_no_code_finds_nobody(text: str) -> None:
    code = read_code(text)

    assert code == "" or (len(code) == LENGTH and set(code) <= set(LETTERS))
    assert find_code(code, ["ABCDEFGH"]) in (None, "ABCDEFGH" if code == "ABCDEFGH" else None)


async def test_who_is_unknown_gets_a_code_and_is_answered_once_an_admin_lets_them_in(houses: Houses) -> None:
    house = houses()
    code = await ask(house, "what is the time?")
    done = await let_in(house, code.lower())

    assert done is not None
    assert done.role is Role.MEMBER
    assert await house.answers(message("and now?"))
    assert [chat for chat, _ in house.told] == ["main"]
    (again,) = house.published
    assert again.text == "what is the time?"
    assert await house.answers(again)


async def test_a_message_that_waited_is_taken_in_as_a_new_one(houses: Houses) -> None:
    house = houses()
    first = message("hello")
    told = await house.tells(first)
    await let_in(house, CODE.findall(told)[0])

    (again,) = house.published
    assert again.id != first.id
    assert again.dedupe_key != first.dedupe_key
    assert (again.address, again.sender, again.text) == (first.address, first.sender, first.text)


async def test_the_newest_of_what_was_said_is_kept_and_commands_are_not(houses: Houses) -> None:
    house = houses()
    code = await ask(house, "/start")
    for text in ("first", "second", "!help", "   "):
        await house.access(message(text))
    await let_in(house, code)

    assert [one.text for one in house.published] == ["second"]


async def test_a_picture_without_words_is_kept_and_a_very_long_text_is_not(houses: Houses) -> None:
    house = houses()
    picture = message("")
    attachment = Attachment(kind="image", url="https://example.org/x")
    code = CODE.findall(await house.tells(_with(picture, attachment)))[0]
    await house.access(message("x" * 50_000))
    await let_in(house, code)

    assert [len(one.attachments) for one in house.published] == [1]


def _with(said: InboundMessage, attachment: Attachment) -> InboundMessage:
    return InboundMessage(
        id=said.id,
        platform_id=said.platform_id,
        address=said.address,
        session=said.session,
        sender=said.sender,
        text=said.text,
        received_at=said.received_at,
        attachments=(attachment,),
    )


async def test_who_writes_on_is_told_the_same_code_again_after_a_while_and_nothing_meanwhile(
    houses: Houses,
) -> None:
    house = houses()
    code = await ask(house)
    at_once = await house.tells(message("hello?"))
    house.now += TELL_EVERY

    assert at_once == ""
    assert await ask(house) == code


async def test_a_code_is_of_no_use_after_an_hour_and_then_there_is_a_new_one(houses: Houses) -> None:
    house = houses()
    code = await ask(house)
    house.now += CODE_SECONDS
    late = await let_in(house, code)

    assert late is None
    assert await ask(house) != code


async def test_a_code_can_be_used_once(houses: Houses) -> None:
    house = houses()
    code = await ask(house)
    await let_in(house, code)

    assert await let_in(house, code) is None


async def test_who_waits_still_waits_after_a_restart(houses: Houses) -> None:
    code = await ask(houses())

    assert await let_in(houses(), code) is not None


async def test_whoever_was_let_in_still_is_after_a_restart(houses: Houses, home: Path) -> None:
    house = houses()
    await let_in(house, await ask(house))
    async with Store(home, synchronous="NORMAL") as again, Database(home / DATABASE) as database:
        assert await House(again, database, AccessSettings()).answers(message("hi"))


async def test_who_is_let_in_on_one_account_is_unknown_on_others_and_on_other_channels(
    houses: Houses,
) -> None:
    house = houses()
    await let_in(house, await ask(house))

    assert not await house.answers(message("hi", channel="discord"))
    assert house.roles.given(Address(channel="telegram", account="second", chat="main"), "42") is None


async def test_in_a_group_it_is_the_chat_that_is_let_in(houses: Houses) -> None:
    house = houses()
    code = await ask(house, is_direct=False, thread="7")
    await let_in(house, code)
    bob = Sender(id="bob")

    assert await house.answers(message("hi", sender=bob, is_direct=False))
    assert await house.answers(message("hi", sender=bob, is_direct=False, thread="8"))
    assert not await house.answers(message("hi", "elsewhere", sender=bob, is_direct=False))
    assert not await house.answers(message("hi", "bobs", sender=bob))


async def test_a_whole_chat_can_be_of_guests_but_not_of_admins(houses: Houses) -> None:
    house = houses()
    code = await ask(house, is_direct=False)
    with pytest.raises(AccessError, match="a whole chat"):
        await let_in(house, code, Role.ADMIN)
    await let_in(house, code, Role.GUEST)

    assert house.roles.of(message("hi", sender=Sender(id="bob"), is_direct=False)) is Role.GUEST


async def test_admins_are_asked_once_with_buttons_that_let_in_or_turn_away(houses: Houses) -> None:
    house = houses()
    code = await ask(house)
    await house.access(message("hello?"))

    assert [spoken(request.code) for request in house.asked] == [code]


async def test_a_code_is_given_and_lets_in_even_where_nobody_can_be_told(houses: Houses) -> None:
    house = houses()
    house.is_disk_full = True
    code = await ask(house)

    assert await let_in(house, code) is not None
    assert await house.answers(message("hi"))


async def test_who_was_turned_away_hears_nothing_for_a_day(houses: Houses) -> None:
    house = houses()
    code = await ask(house)
    turned = await house.pairing.turn_away(code, by="telegram:1")
    house.now += CODE_SECONDS
    silent = await house.tells(message("please"))
    late = await let_in(house, code)
    house.now += DENIED_SECONDS

    assert turned is not None
    assert (silent, late) == ("", None)
    assert await ask(house)


async def test_only_so_many_can_wait_and_the_others_are_told_once(houses: Houses) -> None:
    house = houses(AccessSettings(max_pending=2))
    for number in range(2):
        await ask(house, sender=Sender(id=f"n{number}"), chat=f"c{number}")
    late = [await house.tells(message("hi", "c3", sender=Sender(id="late"))) for _ in range(3)]
    house.now += CODE_SECONDS

    assert late == [FULL, "", ""]
    assert await ask(house, sender=Sender(id="late"), chat="c3")


async def test_an_admin_who_guesses_codes_has_to_pause(houses: Houses) -> None:
    house = houses()
    code = await ask(house)
    for _ in range(WRONG_CODES):
        assert await let_in(house, "ABCD-EFGH") is None
    with pytest.raises(AccessError, match="too many wrong codes"):
        await let_in(house, code)
    house.now += WRONG_SECONDS

    assert await let_in(house, code) is not None


async def test_the_first_whom_the_owner_lets_in_from_the_terminal_is_an_owner_too(houses: Houses) -> None:
    house = houses(named=NOBODY)
    roles = []
    for name in ("ann", "bob"):
        code = await ask(house, sender=Sender(id=name), chat=name)
        done = await house.pairing.let_in(code, role=None, by="terminal", rank=Role.OWNER, is_owner=True)
        assert done is not None
        roles.append(done.role)

    assert roles == [Role.OWNER, Role.MEMBER]


async def test_with_admins_in_the_settings_the_first_is_a_member_like_others(houses: Houses) -> None:
    house = houses()
    done = await house.pairing.let_in(await ask(house), role=None, by="t", rank=Role.OWNER, is_owner=True)

    assert done is not None
    assert done.role is Role.MEMBER


@pytest.mark.parametrize("role", [Role.OWNER, Role.ADMIN])
async def test_an_admin_makes_nobody_an_owner_or_admin(houses: Houses, role: Role) -> None:
    house = houses()
    code = await ask(house)

    with pytest.raises(AccessError, match="only an owner"):
        await let_in(house, code, role, rank=Role.ADMIN)


async def test_admins_of_the_settings_never_need_a_code(houses: Houses) -> None:
    assert await houses().answers(message("hi", sender=Sender(id="1")))


async def test_every_decision_is_on_record_and_no_repetition_is(houses: Houses) -> None:
    house = houses()
    code = await ask(house, "my secret is 42")
    for _ in range(3):
        await house.access(message("hello?"))
    await let_in(house, code)
    await house.pairing.turn_away(await ask(house, sender=Sender(id="9"), chat="nine"), by="telegram:1")

    assert [one for one in house.audited() if one[1] == "pairing"] == [
        ("telegram:42", "pairing", "asked"),
        ("telegram:1", "pairing", "let in as member"),
        ("telegram:9", "pairing", "asked"),
        ("telegram:1", "pairing", "turned away"),
    ]
    assert "secret" not in str(house.audit.events)
    assert code.replace("-", "") not in str(house.audit.events)


async def test_a_name_that_would_play_with_a_terminal_is_shown_without_that(houses: Houses) -> None:
    house = houses()
    await ask(house, sender=Sender(id="42", name="An\x1b[2Jn\u202e" + "x" * 500))

    (request,) = await house.pairing.waiting()
    assert request.name.startswith("An[2Jn")
    assert len(request.name) <= 64


async def test_an_overheard_conversation_is_no_reason_to_offer_a_code(houses: Houses) -> None:
    house = houses()
    said = message("does anybody know?", is_direct=False)
    heard = type(said)(
        **{name: getattr(said, name) for name in said.__struct_fields__} | {"may_be_silent": True}
    )

    assert await house.tells(heard) == ""
    assert await house.pairing.waiting() == []
