"""Memories of people who are linked and who part: together, and nobody else's."""

from contextlib import suppress
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.long_term import ByPerson, Fact, Origin, Scope
from bot.people import PeopleError
from memory.people.moving import FRESH
from tests.commands.desk import fresh_home
from tests.memory.people.conftest import ANN, ANN_AT_WORK, BOB, House, housed, said

PEOPLE = (ANN, ANN_AT_WORK, BOB, "discord:42")
WORDS = ("boat", "tree", "house")
Step = tuple[Literal["learn", "same", "correct", "link", "unlink", "forget"], int, int]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(("learn", "learn", "same", "correct", "link", "link", "unlink", "forget")),
        st.integers(0, 3),
        st.integers(0, 3),
    ),
    max_size=16,
)


async def test_what_is_known_in_one_chat_is_known_in_the_other_once_they_are_linked(house: House) -> None:
    await house.learn(ANN, "likes boats", "eats no peanuts")
    await house.learn(ANN_AT_WORK, "Eats no peanuts!", "likes trees")
    await house.book.link(ANN, ANN_AT_WORK)

    assert await house.texts(ANN_AT_WORK) == {"likes boats", "eats no peanuts", "likes trees"}
    assert "likes boats" in await house.found(ANN_AT_WORK, "boats")
    assert [one.number for one in await house.known(ANN)] == [1, 2, 3]
    assert await house.texts(BOB) == set()


async def test_who_parts_takes_along_what_was_learned_there(house: House) -> None:
    await house.learn(ANN, "likes boats", "eats no peanuts")
    await house.learn(ANN_AT_WORK, "eats no peanuts")
    await house.texts(ANN_AT_WORK)
    await house.book.link(ANN, ANN_AT_WORK)
    await house.learn(ANN_AT_WORK, "likes trees")
    await house.learn(ANN, "likes rain")
    await house.book.unlink(ANN_AT_WORK)

    assert await house.texts(ANN) == {"likes boats", "eats no peanuts", "likes rain"}
    assert await house.texts(ANN_AT_WORK) == {"eats no peanuts", "likes trees"}
    assert "likes trees" in await house.found(ANN_AT_WORK, "trees")
    assert "likes boats" not in await house.found(ANN_AT_WORK, "boats")


async def test_a_chat_that_was_empty_gets_back_what_it_has_learned_while_linked(house: House) -> None:
    assert await house.found(ANN_AT_WORK, "trees") == set()
    await house.book.link(ANN, ANN_AT_WORK)
    await house.learn(ANN_AT_WORK, "likes trees")
    await house.book.unlink(ANN_AT_WORK)

    assert await house.found(ANN_AT_WORK, "trees") == {"likes trees"}


async def test_what_an_operator_puts_right_stays_where_it_was(house: House) -> None:
    await house.learn(ANN_AT_WORK, "likes boots")
    await house.learn(ANN, "likes rain")
    await house.book.link(ANN, ANN_AT_WORK)
    scope = house.scope(ANN)
    (boots,) = [one for one in await house.known(ANN) if one.text == "likes boots"]
    await house.memories.update(scope, boots.number, "likes boats", Origin(how="command", by="web:owner"))
    await house.book.unlink(ANN_AT_WORK)

    assert await house.texts(ANN_AT_WORK) == {"likes boats"}
    assert await house.texts(ANN) == {"likes rain"}


async def test_what_one_side_has_put_right_tells_nothing_of_what_the_other_has_said(house: House) -> None:
    await house.learn(ANN_AT_WORK, "lives in Rome")
    await house.book.link(ANN, ANN_AT_WORK)
    (one,) = await house.known(ANN)
    await house.memories.update(house.scope(ANN), one.number, "lives in Oslo", Origin(how="command", by=ANN))
    await house.book.unlink(ANN_AT_WORK)
    (kept,) = await house.known(ANN)

    assert (kept.text, kept.previous) == ("lives in Oslo", None)
    assert await house.texts(ANN_AT_WORK) == set()


async def test_dates_and_numbers_stay_when_memories_move(house: House) -> None:
    await house.learn(ANN, "likes boats")
    (before,) = await house.known(ANN)
    await house.book.link(ANN, ANN_AT_WORK)
    (after,) = await house.known(ANN_AT_WORK)

    assert (after.number, after.created_at, after.origin) == (before.number, before.created_at, before.origin)


async def test_what_is_written_late_comes_to_whom_it_is_of(home: Path) -> None:
    async with housed(home) as house:
        early = house.scope(ANN)
        linked = await house.book.link(ANN, ANN_AT_WORK)
        await house.memories.learn(early, [Fact(text="likes boats")], Origin(how="learned", by=ANN))
        await house.book.unlink(ANN_AT_WORK)
        late = [Fact(text="likes trees")]
        await house.memories.learn(linked.scope, late, Origin(how="learned", by=ANN_AT_WORK))
        await house.book.link(ANN, BOB)
        hidden = await house.texts(ANN) | await house.texts(BOB)
    async with housed(home) as house:
        assert "likes trees" not in hidden
        assert await house.texts(ANN) == await house.texts(BOB) == {"likes boats"}
        assert await house.texts(ANN_AT_WORK) == {"likes trees"}


async def test_what_is_written_late_comes_home_though_nobody_is_linked_any_more(home: Path) -> None:
    async with housed(home) as house:
        linked = await house.book.link(ANN, ANN_AT_WORK)
        await house.book.unlink(ANN_AT_WORK)
        late = [Fact(text="likes trees")]
        await house.memories.learn(linked.scope, late, Origin(how="learned", by=ANN_AT_WORK))
    async with housed(home) as house:
        assert await house.texts(ANN_AT_WORK) == {"likes trees"}


async def test_who_is_forgotten_finds_nothing_that_was_written_late(home: Path) -> None:
    async with housed(home) as house:
        early = house.scope(ANN)
        before = await house.book.link(ANN, ANN_AT_WORK)
        await house.memories.learn(early, [Fact(text="likes boats")], Origin(how="learned", by=ANN))
        linked = await house.book.link(ANN, BOB)
        late = Origin(how="learned", by=ANN_AT_WORK)
        await house.memories.learn(before.scope, [Fact(text="likes trees")], late)
        await house.learn("discord:42", "likes rain")
        await house.book.forget(linked)
        left = await house.texts(ANN) | await house.texts(ANN_AT_WORK)
    async with housed(home) as house:
        assert left == await house.texts(ANN) == await house.texts(ANN_AT_WORK) == set()
        assert await house.texts("discord:42") == {"likes rain"}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
@given(steps=STEPS)
async def test_nobody_ever_reaches_a_memory_of_somebody_else(tmp_path: Path, steps: list[Step]) -> None:
    groups: list[set[str]] = [{name} for name in PEOPLE]
    owners: dict[str, set[str]] = {}  # who has said a text, or were linked with who has when it was said
    async with housed(fresh_home(tmp_path)) as house:
        for count, (step, whose, other) in enumerate(steps):
            await _take(house, groups, owners, step, (PEOPLE[whose], PEOPLE[other]), count)
        for name in PEOPLE:
            mine = await house.texts(name)
            numbers = [one.number for one in await house.known(name)]
            (group,) = [one for one in groups if name in one]

            assert {text for text, said_by in owners.items() if said_by & group} == mine
            assert len(set(numbers)) == len(numbers)
            for word in WORDS:
                assert await house.found(name, word) <= mine
            assert set(house.book.together(name)) == group
            assert house.book.key_of(name).startswith(FRESH) == (len(group) > 1)


async def _take(
    house: House,
    groups: list[set[str]],
    owners: dict[str, set[str]],
    step: str,
    pair: tuple[str, str],
    count: int,
) -> None:
    """Take a step in the house, and in the model of it."""
    name, other = pair
    mine, theirs = (next(one for one in groups if each in one) for each in pair)
    text = "the same of all" if step == "same" else f"{WORDS[count % len(WORDS)]} {count}"
    match step:
        case "learn" | "same":
            if not (owners.get(text, set()) & mine):
                owners.setdefault(text, set()).add(name)
            await house.learn(name, text)
        case "correct":
            known = await house.known(name)
            if known:
                changed = known[0].text
                await house.memories.update(
                    house.scope(name), known[0].number, text, Origin(how="tool", by=name)
                )
                owners[changed] -= mine
                owners[text] = {name}
        case "link" if mine is not theirs:
            await house.book.link(name, other)
            groups.remove(theirs)
            mine |= theirs
        case "unlink" if len(mine) > 1:
            await house.book.unlink(name)
            mine.remove(name)
            groups.append({name})
        case "unlink":
            with pytest.raises(PeopleError):
                await house.book.unlink(name)
        case "forget":
            await house.memories.forget(house.scope(name))
            for said_by in owners.values():
                said_by -= mine


PLACES = st.tuples(st.sampled_from(PEOPLE), st.sampled_from(("7", "8")), st.booleans())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
@given(
    links=st.lists(st.tuples(st.sampled_from(PEOPLE), st.sampled_from(PEOPLE), st.booleans()), max_size=6),
    first=PLACES,
    second=PLACES,
    is_open=st.booleans(),
)
async def test_two_chats_share_a_memory_only_if_one_person_or_one_group_is_there(
    tmp_path: Path,
    links: list[tuple[str, str, bool]],
    first: tuple[str, str, bool],
    second: tuple[str, str, bool],
    is_open: bool,
) -> None:
    async with housed(fresh_home(tmp_path)) as house:
        for one, other, joins in links:
            with suppress(PeopleError):
                await (house.book.link(one, other) if joins else house.book.unlink(one))
        whose = ByPerson(house.book, personal_in_groups=is_open)
        messages = [said(who, chat=chat, is_direct=alone) for who, chat, alone in (first, second)]
        writes, reads = [await whose.writes(each) for each in messages], await whose.reads(messages[0])
        is_one = second[0] in house.book.together(first[0])

    channels = [message.address.channel for message in messages]
    is_one_group = first[1] == second[1] and channels[0] == channels[1]
    are_alone, are_in_groups = first[2] and second[2], not first[2] and not second[2]
    assert (writes[0] == writes[1]) == ((are_alone and is_one) or (are_in_groups and is_one_group))
    is_told = is_open and not first[2] and second[2] and is_one
    assert (writes[1] in reads) == (writes[0] == writes[1] or is_told)


async def test_no_group_is_reached_through_a_person(house: House) -> None:
    group = Scope(kind="chat", key="telegram:default:42")
    await house.memories.learn(group, [Fact(text="meets on Mondays")], Origin(how="command", by=ANN))
    await house.book.link(ANN, ANN_AT_WORK)
    await house.book.unlink(ANN_AT_WORK)

    assert await house.texts(ANN) == await house.texts(ANN_AT_WORK) == set()
    assert [one.text for one in await house.memories.export(group)] == ["meets on Mondays"]
