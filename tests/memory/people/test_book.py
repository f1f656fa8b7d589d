"""Who is one and the same: seen, found, changed, linked, parted, forgotten."""

from contextlib import closing
from pathlib import Path

import pytest

from bot.people import MAX_IDENTITIES, NO_HABITS, PeopleError
from memory.database import DATABASE, connect, migrations
from tests.memory.people.conftest import ANN, ANN_AT_WORK, BOB, House, housed, said


async def test_whoever_speaks_is_a_person_of_their_own(house: House) -> None:
    await house.book.note(said(ANN, name="Ann"))
    await house.book.note(said(BOB, name="Bob"))
    ann, bob = await house.book.find(ANN), await house.book.find(BOB)

    assert ann is not None
    assert bob is not None
    assert (ann.name, ann.identities, ann.key) == ("Ann", (ANN,), ANN)
    assert ann.id != bob.id


@pytest.mark.parametrize("nobody", ["telegram:", "telegram: "])
async def test_a_message_of_nobody_makes_no_person(house: House, nobody: str) -> None:
    await house.book.note(said(nobody, chat="1"))

    assert await house.book.search() == []


@pytest.mark.parametrize("identity", ["", ":", "telegram", "telegram:", ":42", "telegram: "])
async def test_there_is_no_person_without_an_identity(house: House, identity: str) -> None:
    with pytest.raises(PeopleError, match="channel:id"):
        await house.book.of(identity)
    with pytest.raises(PeopleError, match="channel:id"):
        await house.book.link(ANN, identity)

    assert await house.book.search() == []


async def test_somebody_is_found_by_identity_number_and_part_of_a_name(house: House) -> None:
    await house.book.note(said(ANN, name="Ann_X"))
    await house.book.note(said(BOB, name="Bob"))
    ann = await house.book.of(ANN)

    assert await house.book.find(ANN) == await house.book.find(str(ann.id)) == ann
    assert await house.book.search("nn_") == await house.book.search("gram:42") == [ann]
    assert [one.name for one in await house.book.search(limit=1)] == ["Bob"]
    assert await house.book.search("%") == await house.book.search("nn%X") == []


async def test_people_are_listed_page_by_page(house: House) -> None:
    for number in range(5):
        await house.book.note(said(f"telegram:{number}"))
    first = await house.book.search(limit=3)
    second = await house.book.search(before=first[-1].id, limit=3)

    assert [one.identities[0] for one in first + second] == [f"telegram:{n}" for n in (4, 3, 2, 1, 0)]


async def test_two_identities_that_are_linked_are_one_person(house: House) -> None:
    ann, work = await house.book.of(ANN), await house.book.of(ANN_AT_WORK)
    await house.book.change(ann.id, notes="knows boats")
    await house.book.change(work.id, notes="at the office", language="de", zone="Europe/Berlin")
    linked = await house.book.link(ANN, ANN_AT_WORK)

    assert linked == await house.book.find(ANN) == await house.book.find(ANN_AT_WORK)
    assert set(linked.identities) == {ANN, ANN_AT_WORK}
    assert (linked.language, linked.zone, linked.notes) == (
        "de",
        "Europe/Berlin",
        "knows boats\nat the office",
    )
    assert await house.book.find(str(work.id)) is None
    assert house.book.key_of(ANN) == house.book.key_of(ANN_AT_WORK) == linked.key
    assert set(house.book.together(ANN)) == {ANN, ANN_AT_WORK}
    assert house.book.habits(ANN).language == "de"


async def test_nobody_is_linked_twice_or_with_too_many(house: House) -> None:
    await house.book.link(ANN, ANN_AT_WORK)
    with pytest.raises(PeopleError, match="same person"):
        await house.book.link(ANN_AT_WORK, ANN)
    with pytest.raises(PeopleError, match="same person"):
        await house.book.link(BOB, BOB)
    for number in range(MAX_IDENTITIES - 2):
        await house.book.link(ANN, f"web:{number}")
    with pytest.raises(PeopleError, match="at most"):
        await house.book.link(ANN, BOB)

    assert house.book.together(BOB) == (BOB,)


async def test_who_parts_is_somebody_else_again(house: House) -> None:
    linked = await house.book.link(ANN, ANN_AT_WORK)
    alone, left = await house.book.unlink(ANN_AT_WORK)

    assert (left.id, left.identities, left.key) == (linked.id, (ANN,), ANN)
    assert (alone.identities, alone.key) == ((ANN_AT_WORK,), ANN_AT_WORK)
    assert alone.id != left.id
    assert (house.book.key_of(ANN), house.book.key_of(ANN_AT_WORK)) == (ANN, ANN_AT_WORK)
    with pytest.raises(PeopleError, match="linked with nothing"):
        await house.book.unlink(ANN)


async def test_all_of_it_is_known_after_a_restart(home: Path) -> None:
    async with housed(home) as house:
        linked = await house.book.link(ANN, ANN_AT_WORK)
        await house.book.change(linked.id, language="fr")
    async with housed(home) as house:
        assert house.book.key_of(ANN) == house.book.key_of(ANN_AT_WORK) == linked.key
        assert house.book.identities_of(linked.key) == house.book.together(ANN)
        assert house.book.habits(ANN_AT_WORK).language == "fr"
        assert house.book.habits(BOB) is NO_HABITS


async def test_the_chats_of_a_person_are_those_in_which_they_are_alone_with_the_bot(house: House) -> None:
    await house.book.note(said(ANN))
    await house.book.note(said(ANN, chat="-100", is_direct=False))
    await house.book.note(said(ANN_AT_WORK, chat="D9"))
    chats = await house.book.chats(await house.book.link(ANN, ANN_AT_WORK))

    assert {name: [one.chat for one in each] for name, each in chats.items()} == {
        ANN: ["42"],
        ANN_AT_WORK: ["D9"],
    }


async def test_who_is_forgotten_is_somebody_new_when_they_speak_again(house: House) -> None:
    await house.book.note(said(ANN, name="Ann"))
    linked = await house.book.link(ANN, ANN_AT_WORK)
    linked = await house.book.change(linked.id, language="de", notes="x") or linked
    await house.book.forget(linked)
    gone = await house.book.find(ANN)
    await house.book.note(said(ANN, name="Ann"))
    again = await house.book.of(ANN)

    assert gone is None
    assert again.id != linked.id
    assert (again.identities, again.language, again.notes) == ((ANN,), "", "")
    assert house.book.habits(ANN_AT_WORK) is NO_HABITS
    assert house.book.key_of(ANN_AT_WORK) == ANN_AT_WORK


async def test_who_has_used_the_bot_before_is_known_from_the_first_start_on(home: Path) -> None:
    with closing(connect(home / DATABASE, "NORMAL")) as old:
        for number, script in migrations():
            if number < 17:
                old.executescript(f"BEGIN;\n{script}\nPRAGMA user_version = {number};\nCOMMIT;")
        for day, person in (
            ("2026-11-20", ANN),
            ("2026-11-19", ANN),
            ("2026-11-20", BOB),
            ("2026-11-20", ""),
        ):
            row = (day, person, "telegram", "s", "m", 1, 1, 1, 0, 0)
            old.execute("INSERT INTO usage VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
    async with housed(home) as house:
        known = await house.book.search()

    assert sorted(one.identities for one in known) == [(ANN,), (BOB,)]
    assert {one.name for one in known} == {""}
    assert {one.created_at % 86_400 for one in known} == {0}
