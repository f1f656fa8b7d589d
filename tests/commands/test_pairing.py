"""`/pair`, `/unpair` and `/admin role`, given by people in chats."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.commands.call import Answer
from bot.commands.pairing import NO_CODE, PairingCommands, ask_about
from bot.commands.registry import ADMINS_ONLY, OPERATORS_ONLY, Commands
from bot.messages import Role, Sender
from bot.settings.access import AccessSettings
from memory.database import DATABASE, Database
from memory.store import Store
from tests.commands.desk import ANN, BOSS, GUILD_ADMIN, message
from tests.security.access.conftest import House

AT_THE_TERMINAL = Sender(id="owner", name="Owner", role=Role.OWNER)


class Counter:
    """Where those commands are given."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.commands = Commands(
            PairingCommands(house.pairing, house.people).commands(),
            admins=lambda: house.steering,
            audit=house.audit,
        )

    async def says(self, text: str, sender: Sender = BOSS, channel: str = "telegram") -> Answer:
        return await self.commands.run(message(text, "office", sender=sender, channel=channel))

    async def knock(self, sender: Sender = ANN) -> str:
        """Somebody unknown speaks; gives the code they have."""
        await self.house.access(message("hello", sender.id, sender=sender))
        return self.house.asked[-1].code


@pytest.fixture
async def counter(home: Path, store: Store) -> AsyncIterator[Counter]:
    async with Database(home / DATABASE, synchronous="NORMAL") as database:
        yield Counter(House(store, database, AccessSettings()))


async def test_an_admin_lets_somebody_in_by_the_code(counter: Counter) -> None:
    answer = await counter.says(f"/pair {await counter.knock()}")

    assert answer.reason == "done"
    assert "Ann, `telegram:default:42`, is member" in answer.text
    assert await counter.house.answers(message("hi"))


async def test_a_role_can_be_named_along_with_the_code(counter: Counter) -> None:
    await counter.says(f"/pair {await counter.knock()} guest")

    assert counter.house.roles.people() == {"telegram:default:42": Role.GUEST}


async def test_who_waits_is_listed_without_their_codes(counter: Counter) -> None:
    code = await counter.knock()
    listed = (await counter.says("/pair")).text
    await counter.says(f"/pair {code}")

    assert "Ann, `telegram:default:42`" in listed
    assert code not in listed
    assert (await counter.says("/pair")).text == "Nobody waits to be let in."


async def test_the_buttons_that_admins_get_do_what_they_say(counter: Counter) -> None:
    await counter.knock()
    text, (let_in, turn_away) = ask_about(counter.house.asked[-1])
    turned = await counter.says(turn_away.value)
    late = await counter.says(let_in.value)
    await counter.knock(Sender(id="9"))
    _, (other, _) = ask_about(counter.house.asked[-1])

    assert "Ann" in text
    assert "for a day" in turned.text
    assert late.text == NO_CODE
    assert (await counter.says(other.value)).reason == "done"
    assert all(len(button.value.encode()) <= 64 for button in (let_in, turn_away))


@pytest.mark.parametrize("text", ["/pair ABCDEFGH", "/pair deny ABCDEFGH", "/pair nonsense", "/pair deny"])
async def test_a_code_that_nobody_has_lets_nobody_in(counter: Counter, text: str) -> None:
    assert (await counter.says(text)).text == NO_CODE


async def test_a_role_that_there_is_not_is_named_as_one(counter: Counter) -> None:
    assert "owner, admin, member, guest" in (await counter.says("/pair ABCDEFGH king")).text


@pytest.mark.parametrize("text", ["/pair ABCDEFGH", "/pair", "/unpair 42", "/admin role 42 owner"])
async def test_only_who_steers_the_whole_bot_decides(counter: Counter, text: str) -> None:
    assert (await counter.says(text, GUILD_ADMIN)).text == OPERATORS_ONLY
    assert (await counter.says(text, ANN)).text == ADMINS_ONLY


async def test_somebody_who_was_made_admin_lets_others_in_but_makes_no_admins(counter: Counter) -> None:
    await counter.says("/admin role 42 admin")
    code = await counter.knock(Sender(id="bob"))
    refused = await counter.says(f"/pair {code} admin", ANN)
    done = await counter.says(f"/pair {code}", ANN)

    assert "only an owner" in refused.text
    assert done.reason == "done"


async def test_who_sits_at_the_terminal_makes_the_first_owner_where_nobody_is_named(
    home: Path, store: Store
) -> None:
    async with Database(home / DATABASE, synchronous="NORMAL") as database:
        counter = Counter(House(store, database, AccessSettings(), named=()))
        answer = await counter.says(f"/pair {await counter.knock()}", AT_THE_TERMINAL, "terminal")
        later = await counter.says(f"/pair {await counter.knock(Sender(id='bob'))}", ANN)

        assert "is owner from now on" in answer.text
        assert "is member from now on" in later.text
        assert "nobody else is an owner" in (await counter.says("/admin role 42 guest", ANN)).text


async def test_who_is_unpaired_is_unknown_again(counter: Counter) -> None:
    await counter.says(f"/pair {await counter.knock()}")
    answer = await counter.says("/unpair 42")

    assert "do not know" in answer.text
    assert not await counter.house.answers(message("hi"))
    assert "was not let in" in (await counter.says("/unpair 42")).text


async def test_what_was_decided_is_on_record(counter: Counter) -> None:
    await counter.says(f"/pair {await counter.knock()}")
    await counter.says("/admin role 42 guest")
    commands = [event for event in counter.house.audit.events if event.action.startswith("command")]

    assert [(event.actor, event.action, event.target) for event in commands] == [
        ("telegram:1", "command pair", "user telegram:default:42"),
        ("telegram:1", "command admin role", "telegram:default:42 guest"),
    ]
