"""`/link`, `/unlink`, `/person`, `/language` and `/timezone`, given by people in chats."""

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.agent.control import is_operator
from bot.app.peopling import Ranks
from bot.commands.call import Answer
from bot.commands.habits import HabitCommands
from bot.commands.people import (
    ALONE,
    CODE_SECONDS,
    LENGTH,
    LETTERS,
    OPERATORS_ONLY,
    SAME_CHAT,
    TOO_MANY_TRIES,
    WRONG,
    WRONG_CODES,
    WRONG_SECONDS,
    PeopleCommands,
)
from bot.commands.registry import ADMINS_ONLY, Commands
from bot.commands.registry import OPERATORS_ONLY as NOT_OF_A_GROUP
from bot.messages import Address, Role, Sender
from bot.people import Linking, Person
from bot.settings.access import AccessSettings
from memory.database import DATABASE, Database
from memory.store import Store
from tests.commands.desk import ANN, BOSS, GUILD_ADMIN, message
from tests.security.access.conftest import House

ANN_AT_WORK = Sender(id="U1", name="Ann Work")
BOB = Sender(id="43", name="Bob")
TELEGRAM, SLACK = "telegram:42", "slack:U1"


class Counter:
    """Where those commands are given, by people whose direct chats are known."""

    def __init__(self, house: House, store: Store) -> None:
        self.house = house
        self.store = store
        self.now = 1_000.0
        self.told: list[tuple[Address, str]] = []
        self.linking = Linking(store.people, house.audit, tell=self._tell)
        ranks = Ranks(house.people, store.rules)
        commands = (
            *PeopleCommands(self.linking, store.link_codes, ranks, now=lambda: self.now).commands(),
            *HabitCommands(store.people).commands(),
        )
        self.commands = Commands(commands, admins=lambda: house.steering, audit=house.audit)

    async def _tell(self, address: Address, text: str) -> None:
        self.told.append((address, text))

    async def says(
        self, text: str, sender: Sender = ANN, channel: str = "telegram", *, is_direct: bool = True
    ) -> Answer:
        said = message(text, sender.id, sender=sender, channel=channel, is_direct=is_direct)
        await self.store.people.note(said)
        return await self.commands.run(said)

    async def works(self, text: str) -> Answer:
        """Ann says something at work."""
        return await self.says(text, ANN_AT_WORK, "slack")

    async def code(self) -> str:
        """A new code of Ann's."""
        found = re.search(r"`/link ([A-Z0-9-]+)`", (await self.says("/link")).text)
        assert found is not None
        return found[1]

    async def person(self, identity: str = TELEGRAM) -> Person:
        return await self.store.people.of(identity)


@pytest.fixture
async def counter(home: Path, store: Store) -> AsyncIterator[Counter]:
    async with Database(home / DATABASE, synchronous="NORMAL") as database:
        yield Counter(House(store, database, AccessSettings()), store)


async def test_a_code_typed_in_another_chat_makes_both_one_person_and_both_are_told(
    counter: Counter,
) -> None:
    answer = await counter.works(f"/link {await counter.code()}")

    assert set((await counter.person()).identities) == {TELEGRAM, SLACK}
    assert "`telegram:42` and `slack:U1` are one person" in answer.text
    assert "`/unlink` undoes it" in answer.text
    ((address, text),) = counter.told
    assert (address.channel, text) == ("telegram", answer.text)
    assert ("person link", "slack:U1") in [(one.action, one.actor) for one in counter.house.audit.events]


async def test_a_code_has_eight_signs_of_which_none_looks_like_another(counter: Counter) -> None:
    code = (await counter.code()).replace("-", "")

    assert len(code) == LENGTH == 8
    assert set(code) <= set(LETTERS)
    assert not set(LETTERS) & set("0O1I5S2Z8B")


async def test_a_code_is_typed_as_people_type(counter: Counter) -> None:
    code = (await counter.code()).lower().replace("-", " ")

    assert (await counter.works(f"/link  {code} ")).reason == "done"


async def test_only_the_hash_of_a_code_is_kept(counter: Counter, home: Path) -> None:
    code = (await counter.code()).replace("-", "")
    files = b"".join([path.read_bytes() for path in home.glob("*.db*")])  # noqa: ASYNC240 - a few pages

    assert code.encode() not in files
    assert TELEGRAM.encode() in files


async def test_a_code_works_once(counter: Counter) -> None:
    code = await counter.code()
    await counter.works(f"/link {code}")
    again = await counter.says(f"/link {code}", BOB)

    assert (again.reason, again.text) == ("error", WRONG)
    assert counter.store.people.together("telegram:43") == ("telegram:43",)


async def test_a_code_works_for_ten_minutes_and_until_there_is_a_newer_one(counter: Counter) -> None:
    old, newer = await counter.code(), await counter.code()
    replaced = await counter.works(f"/link {old}")
    counter.now += CODE_SECONDS
    late = await counter.works(f"/link {newer}")

    assert [replaced.text, late.text] == [WRONG, WRONG]
    assert CODE_SECONDS == 600


async def test_who_types_a_code_where_it_was_made_can_still_use_it(counter: Counter) -> None:
    code = await counter.code()
    here = await counter.says(f"/link {code}")
    there = await counter.works(f"/link {code}")

    assert (here.text, there.reason) == (SAME_CHAT, "done")


async def test_who_guesses_is_stopped_for_a_quarter_of_an_hour(counter: Counter) -> None:
    code = await counter.code()
    wrong = [await counter.works("/link AAAA-AAAA") for _ in range(WRONG_CODES)]
    stopped = await counter.works(f"/link {code}")
    counter.now += WRONG_SECONDS
    code = await counter.code()
    later = await counter.works(f"/link {code}")

    assert [one.text for one in wrong] == [WRONG] * 5
    assert (stopped.text, later.reason) == (TOO_MANY_TRIES, "done")
    assert WRONG_SECONDS == 900


async def test_a_code_that_is_right_makes_no_guesses_beside_it_undone(counter: Counter) -> None:
    code = await counter.code()
    guesses = [counter.says("/link AAAA-AAAA") for _ in range(WRONG_CODES - 1)]
    await asyncio.gather(counter.says(f"/link {code}"), *guesses)
    last, stopped = [await counter.says("/link AAAA-AAAA") for _ in range(2)]

    assert (last.text, stopped.text) == (WRONG, TOO_MANY_TRIES)


async def test_guesses_of_one_do_not_stop_another(counter: Counter) -> None:
    for _ in range(WRONG_CODES):
        await counter.says("/link AAAA-AAAA", BOB)

    assert (await counter.works(f"/link {await counter.code()}")).reason == "done"


@pytest.mark.parametrize("text", ["/link", "/link AAAA-AAAA", "/unlink"])
async def test_in_a_group_it_is_said_that_it_works_alone_only(counter: Counter, text: str) -> None:
    answer = await counter.says(text, is_direct=False)

    assert (answer.reason, answer.text) == ("error", ALONE)


async def test_who_parts_is_alone_again_and_both_are_told(counter: Counter) -> None:
    await counter.works(f"/link {await counter.code()}")
    counter.told.clear()
    answer = await counter.works("/unlink")
    again = await counter.works("/unlink")

    assert answer.reason == "done"
    assert (await counter.person()).identities == (TELEGRAM,)
    assert [address.channel for address, _ in counter.told] == ["telegram"]
    assert "linked with nothing" in again.text
    assert "person unlink" in [one.action for one in counter.house.audit.events]


async def test_nobody_but_operators_parts_others(counter: Counter) -> None:
    await counter.works(f"/link {await counter.code()}")
    by_bob = await counter.says(f"/unlink {SLACK}", BOB)
    by_gil = await counter.says(f"/unlink {SLACK}", GUILD_ADMIN)
    by_boss = await counter.says(f"/unlink {SLACK}", BOSS)

    assert [by_bob.text, by_gil.text, by_boss.reason] == [OPERATORS_ONLY, OPERATORS_ONLY, "done"]
    assert (await counter.person(SLACK)).identities == (SLACK,)


async def test_a_link_makes_nobody_more_than_they_were(counter: Counter) -> None:
    await counter.store.rules.change([("role", "slack:default:U1", "admin")], by="test")
    await counter.works("/link")
    code = re.search(r"`/link ([A-Z0-9-]+)`", (await counter.works("/link")).text)
    assert code is not None
    before = counter.house.roles.people()
    await counter.says(f"/link {code[1]}")
    guest = message("hello", "42", sender=Sender(id="42", role=Role.GUEST))

    assert counter.house.roles.people() == before
    assert counter.house.roles.of(guest) is Role.GUEST
    assert not is_operator(guest, counter.house.steering)


async def test_an_operator_gives_a_role_to_all_that_somebody_is(counter: Counter) -> None:
    await counter.store.rules.change([("role", "telegram:default:42", "guest")], by="test")
    await counter.works(f"/link {await counter.code()}")
    answer = await counter.says(f"/person role {SLACK} member", BOSS)

    assert answer.reason == "done"
    assert counter.house.roles.people() == {
        "slack:*:U1": Role.MEMBER,
        "telegram:*:42": Role.MEMBER,
        "telegram:default:42": Role.MEMBER,
    }


async def test_a_role_that_may_not_be_given_is_not(counter: Counter) -> None:
    await counter.says("hello")
    unknown = await counter.says("/person role telegram:42 king", BOSS)
    named = await counter.says("/person role telegram:1 guest", BOSS)

    assert "owner, admin, member, guest" in unknown.text
    assert (named.reason, "BOT_ADMINS" in named.text) == ("error", True)


async def test_an_operator_links_reads_names_and_notes(counter: Counter) -> None:
    await counter.says("hello")
    await counter.works("hello")
    joined = await counter.says(f"/person link {TELEGRAM} {SLACK}", BOSS)
    await counter.says(f"/person note {SLACK} pays on time", BOSS)
    await counter.says(f"/person name {SLACK} Ann of Boats", BOSS)
    await counter.says("/timezone Europe/Berlin")
    shown = await counter.says(f"/person {TELEGRAM}", BOSS)
    by_name = await counter.says("/person of boats", BOSS)

    assert joined.reason == "done"
    for part in (
        "Ann of Boats",
        "`telegram:42`",
        "`slack:U1`",
        "Europe/Berlin",
        "pays on time",
        "Known since",
    ):
        assert part in shown.text
    assert "Ann of Boats" in by_name.text
    assert "pays on time" not in str(counter.house.audit.events)


async def test_people_are_shown_to_operators_alone(counter: Counter) -> None:
    member = await counter.says(f"/person {TELEGRAM}", BOB)
    of_a_group = await counter.says(f"/person {TELEGRAM}", GUILD_ADMIN)
    in_a_group = await counter.says(f"/person {TELEGRAM}", BOSS, is_direct=False)

    assert [member.text, of_a_group.text, in_a_group.text] == [ADMINS_ONLY, NOT_OF_A_GROUP, ALONE]


@pytest.mark.parametrize("text", ["/person 99", "/person note nobody:1 x", "/person role nobody:1 guest"])
async def test_who_is_not_known_is_not_shown(counter: Counter, text: str) -> None:
    answer = await counter.says(text, BOSS)

    assert (answer.reason, "I know nobody" in answer.text) == ("error", True)


@pytest.mark.parametrize("text", ["/person link telegram:42", "/person link"])
async def test_a_link_needs_two(counter: Counter, text: str) -> None:
    assert "`/person link <id> <id>`" in (await counter.says(text, BOSS)).text


@pytest.mark.parametrize(
    ("typed", "tag"), [("de", "de"), ("PT-br", "pt-BR"), ("zh-hant", "zh-Hant"), ("German", "de")]
)
async def test_a_language_is_kept_by_its_tag(counter: Counter, typed: str, tag: str) -> None:
    await counter.says(f"/language {typed}")

    assert (await counter.person()).language == tag
    assert f"`{tag}`" in (await counter.says("/language")).text


async def test_a_language_that_there_is_not_is_refused_with_what_is_near(counter: Counter) -> None:
    answer = await counter.says("/language portugese")
    taken_back = [await counter.says(text) for text in ("/language de", "/language off", "/language")]

    assert (answer.reason, "`portuguese`" in answer.text) == ("error", True)
    assert "no language" in taken_back[-1].text


@pytest.mark.parametrize("typed", ["Europe/Berlin", "europe/berlin"])
async def test_a_time_zone_is_kept_by_its_name(counter: Counter, typed: str) -> None:
    await counter.says(f"/timezone {typed}")

    assert counter.store.people.habits(TELEGRAM).zone == "Europe/Berlin"
    assert "`Europe/Berlin`" in (await counter.says("/timezone")).text


@pytest.mark.parametrize("typed", ["Berlin", "Europe/Berln", "Berln", "../../etc/passwd"])
async def test_a_time_zone_that_there_is_not_is_refused_with_what_is_near(
    counter: Counter, typed: str
) -> None:
    answer = await counter.says(f"/timezone {typed}")

    assert answer.reason == "error"
    assert ("Did you mean `Europe/Berlin`" in answer.text) == ("B" in typed)
    assert counter.store.people.habits(TELEGRAM).zone == ""
