"""Roles: what people are, who may change that, and what guests and members may do."""

import pytest

from bot.agent.control import is_admin, is_operator
from bot.commands.pairing import AccessError
from bot.messages import Address, InboundMessage, Role, Sender, Trigger
from bot.settings.access import AccessSettings, MemberSettings, RolesSettings
from security.access.people import IN_SETTINGS, LAST_OWNER, ONLY_OWNERS
from tests.commands.desk import ANN, BOSS, message
from tests.security.access.conftest import House, Houses

ANNS = "telegram:default:42"
BOBS = "telegram:default:bob"
BOB = Sender(id="bob")


async def made(house: House, subject: str, role: Role) -> None:
    await house.people.assign(subject, role, by="telegram:1", rank=Role.OWNER)


def steers(house: House, said: InboundMessage) -> tuple[bool, bool]:
    return is_admin(said, house.steering), is_operator(said, house.steering)


@pytest.mark.parametrize("role", [Role.OWNER, Role.ADMIN])
async def test_whoever_is_made_owner_or_admin_steers_the_bot_at_once_and_until_that_is_taken_back(
    houses: Houses, role: Role
) -> None:
    house = houses()
    before = steers(house, message("hi"))
    await made(house, ANNS, role)
    then = steers(house, message("hi"))
    await made(house, ANNS, Role.MEMBER)

    assert (before, then, steers(house, message("hi"))) == ((False,) * 2, (True,) * 2, (False,) * 2)


async def test_a_role_is_of_one_person_on_one_account(houses: Houses) -> None:
    house = houses()
    await made(house, ANNS, Role.ADMIN)
    others = (
        message("hi", sender=BOB),
        message("hi", channel="discord"),
        message("hi", sender=Sender(id="default:42")),
    )

    assert [steers(house, other) for other in others] == [(False, False)] * 3


async def test_an_id_that_reads_like_somebody_elses_name_makes_nobody_an_admin(houses: Houses) -> None:
    house = houses()
    await made(house, "telegram:work:42", Role.OWNER)
    impostor = message("hi", sender=Sender(id="work:42"))

    assert steers(house, impostor) == (False, False)


async def test_a_message_says_what_its_sender_is_here_and_never_more_than_the_platform(
    houses: Houses,
) -> None:
    house = houses(AccessSettings(mode="open"))
    await made(house, BOBS, Role.MEMBER)
    await made(house, ANNS, Role.ADMIN)
    said = [
        message("hi", sender=Sender(id="stranger")),
        message("hi", sender=BOB),
        message("hi", sender=ANN),
        message("hi", sender=BOSS),
        message("hi", sender=Sender(id="gil", role=Role.ADMIN), is_direct=False),
        message("hi", sender=Sender(id="owner", role=Role.OWNER), channel="web"),
    ]

    assert [house.roles.known_as(one).sender.role for one in said] == [
        Role.GUEST,
        Role.MEMBER,
        Role.MEMBER,
        Role.MEMBER,
        Role.ADMIN,
        Role.OWNER,
    ]
    assert [house.roles.of(one) for one in said] == [
        Role.GUEST,
        Role.MEMBER,
        Role.ADMIN,
        Role.OWNER,
        Role.ADMIN,
        Role.OWNER,
    ]


async def test_being_known_twice_changes_nothing(houses: Houses) -> None:
    house = houses(AccessSettings(mode="open"))
    once = house.roles.known_as(message("hi"))

    assert house.roles.known_as(once) is once


async def test_a_guest_of_the_platform_is_no_member_for_being_in_a_chat_of_members(houses: Houses) -> None:
    house = houses(AccessSettings(mode="open", strangers="member"))
    await house.access.rule("chat", "telegram:default:main", "allow", by="x")
    guest = message("hi", sender=Sender(id="g", role=Role.GUEST), is_direct=False)
    in_between = house.roles.of(guest)
    await made(house, "telegram:default:g", Role.MEMBER)

    assert (in_between, house.roles.of(guest)) == (Role.GUEST, Role.MEMBER)


async def test_a_schedule_has_no_rights_of_an_admin_of_a_group(houses: Houses) -> None:
    said = message("do it", sender=Sender(id="gil", role=Role.ADMIN), trigger=Trigger.SCHEDULE)

    assert houses().roles.of(said) is Role.GUEST


async def test_guests_have_few_commands_and_members_all(houses: Houses) -> None:
    house = houses(AccessSettings(mode="open"))
    texts = ("/help", "/new", "/model gpt-5", "/schedule list", "hello /model")
    of_guests = [await house.answers(message(text)) for text in texts]
    await made(house, ANNS, Role.MEMBER)

    assert of_guests == [True, True, False, False, True]
    assert all([await house.answers(message(text)) for text in texts])
    assert "not for guests" in await house.tells(message("/model x", sender=BOB))


async def test_which_models_members_may_choose_is_a_setting(houses: Houses) -> None:
    rights = RolesSettings(member=MemberSettings(models=("gpt-*-mini", "default")))
    house = houses(AccessSettings(mode="open", strangers="member", roles=rights))
    texts = ("/model", "/model gpt-5-mini", "/model GPT-5-Mini", "/model gpt-5", "!model o3")

    assert [await house.answers(message(text)) for text in texts] == [True, True, True, False, False]
    assert await house.answers(message("/model gpt-5", sender=BOSS))


async def test_the_last_owner_can_not_be_made_less(houses: Houses) -> None:
    house = houses(named=())
    await made(house, ANNS, Role.OWNER)
    with pytest.raises(AccessError, match=LAST_OWNER):
        await made(house, ANNS, Role.ADMIN)
    with pytest.raises(AccessError, match=LAST_OWNER):
        await house.people.unpair(ANNS, by="x", rank=Role.OWNER)
    await made(house, BOBS, Role.OWNER)
    await made(house, ANNS, Role.GUEST)

    assert house.roles.owners == (BOBS,)


async def test_admins_can_neither_make_nor_unmake_owners_and_admins(houses: Houses) -> None:
    house = houses()
    await made(house, ANNS, Role.ADMIN)
    for subject, role in ((BOBS, Role.ADMIN), (BOBS, Role.OWNER), (ANNS, Role.GUEST)):
        with pytest.raises(AccessError, match=ONLY_OWNERS):
            await house.people.assign(subject, role, by="x", rank=Role.ADMIN)
    await house.people.assign(BOBS, Role.GUEST, by="x", rank=Role.ADMIN)

    assert house.roles.of(message("hi", sender=BOB)) is Role.GUEST


async def test_whom_the_settings_name_nobody_can_change(houses: Houses) -> None:
    house = houses()
    with pytest.raises(AccessError, match=IN_SETTINGS):
        await made(house, "telegram:default:1", Role.GUEST)

    assert house.roles.of(message("hi", sender=BOSS)) is Role.OWNER


async def test_who_is_unpaired_is_unknown_again_person_or_chat(houses: Houses) -> None:
    house = houses()
    await made(house, ANNS, Role.MEMBER)
    await house.access.rule("chat", "telegram:default:g", "allow", by="x")
    done = [
        await house.people.unpair(subject, by="x", rank=Role.OWNER)
        for subject in (ANNS, "telegram:default:g", ANNS)
    ]

    assert done == [True, True, False]
    assert not await house.answers(message("hi"))
    assert not house.access.is_open(Address(channel="telegram", chat="g", is_direct=False))
