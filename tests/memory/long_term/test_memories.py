"""What both kinds of long-term memory do alike."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from bot.errors import ModelError, StoreError
from bot.long_term import MAX_TEXT, Fact, LongTerm, Memory, Origin
from memory.database import DATABASE
from memory.long_term.own import OwnMemories
from tests.memory.long_term.conftest import ANN, BOB, BY_ANN, GROUP, MOST, Memories, WordVectors, opened


async def learned(memories: LongTerm, *texts: str) -> list[Memory]:
    """Facts about Ann."""
    return list(await memories.learn(ANN, [Fact(text=text) for text in texts], BY_ANN))


async def found(memories: LongTerm, query: str) -> list[str]:
    return [one.memory.text for one in await memories.search([ANN], query, limit=3)]


async def all_of(memories: LongTerm) -> list[str]:
    return [one.text for one in await memories.export(ANN)]


async def test_what_was_learned_is_found_by_its_words(memories: Memories) -> None:
    await learned(memories, "Ann is allergic to peanuts", "The brother lives in Berlin")

    assert (await found(memories, "allergic to what?"))[0] == "Ann is allergic to peanuts"
    assert (await found(memories, "Berlin"))[0] == "The brother lives in Berlin"


@pytest.mark.parametrize("query", ["茶", "喝茶", "北京"])
async def test_one_or_two_chinese_characters_find_a_memory(memories: Memories, query: str) -> None:
    await learned(memories, "我喜欢喝茶", "我住在北京", "Something else")
    (best, *_) = await found(memories, query)

    assert query in best


async def test_the_best_comes_first_and_the_threshold_holds(memories: Memories) -> None:
    await learned(memories, "red boat", "red house", "green tree")
    close = await memories.search([ANN], "red boat", limit=5, threshold=0.5)
    every = await memories.search([ANN], "red boat", limit=5)

    assert close[0].memory.text == "red boat"
    assert "green tree" not in [one.memory.text for one in close]
    assert [one.score for one in every] == sorted((one.score for one in every), reverse=True)
    assert all(0 <= one.score <= 1 for one in every)


async def test_no_more_are_found_than_were_asked_for(memories: Memories) -> None:
    await learned(memories, *(f"boat {number}" for number in range(5)))

    assert len(await memories.search([ANN], "boat", limit=2)) == 2
    assert list(await memories.search([ANN], "boat", limit=0)) == []


@pytest.mark.parametrize("query", ["", "   ", "?!", '" OR *', "x" * 5_000])
async def test_any_query_is_taken(memories: Memories, query: str) -> None:
    await learned(memories, "boat")

    assert len(await memories.search([ANN], query, limit=3)) <= 1


async def test_numbers_count_up_and_the_list_is_paged_newest_first(memories: Memories) -> None:
    await learned(memories, "one", "two", "three")
    first = await memories.list(ANN, limit=2)
    rest = await memories.list(ANN, limit=2, before=first[-1].number)

    assert [(one.number, one.text) for one in (*first, *rest)] == [(3, "three"), (2, "two"), (1, "one")]


async def test_a_number_that_was_forgotten_is_not_given_again(memories: Memories) -> None:
    await learned(memories, "one", "two")
    await memories.forget(ANN, 2)
    (three,) = await learned(memories, "three")

    assert three.number == 3


async def test_the_same_is_kept_once(memories: Memories) -> None:
    await learned(memories, "Ann is allergic to peanuts")
    again = await learned(memories, "ann  is allergic to PEANUTS!", "news")

    assert [one.text for one in again] == ["news"]
    assert await all_of(memories) == ["Ann is allergic to peanuts", "news"]


async def test_a_fact_that_corrects_another_takes_its_place(memories: Memories) -> None:
    await learned(memories, "Ann lives in Berlin")
    (changed,) = await memories.learn(ANN, [Fact(text="Ann lives in Rome", replaces=1)], BY_ANN)

    assert (changed.number, changed.text, changed.previous) == (1, "Ann lives in Rome", "Ann lives in Berlin")
    assert await all_of(memories) == ["Ann lives in Rome"]
    assert (await memories.search([ANN], "Rome", limit=1))[0].memory == changed
    assert "Ann lives in Berlin" not in await found(memories, "Berlin")


async def test_a_fact_that_corrects_what_is_not_there_is_added(memories: Memories) -> None:
    (added,) = await memories.learn(ANN, [Fact(text="new", replaces=7)], BY_ANN)

    assert (added.number, added.previous) == (1, None)


async def test_a_memory_is_changed_and_found_as_it_is_now(memories: Memories) -> None:
    await learned(memories, "red boat")
    await found(memories, "boat")  # so that its vector is at hand
    origin = Origin(how="command", by="slack:U1")
    changed = await memories.update(ANN, 1, "  green\ntree ", origin)

    assert changed is not None
    assert (changed.text, changed.previous, changed.origin) == ("green tree", "red boat", origin)
    assert await found(memories, "tree") == ["green tree"]


async def test_a_memory_that_is_not_there_is_not_changed(memories: Memories) -> None:
    await learned(memories, "boat")

    assert await memories.update(ANN, 2, "tree", BY_ANN) is None
    assert await memories.update(BOB, 1, "tree", BY_ANN) is None
    assert await memories.update(ANN, 1, " ", BY_ANN) is None
    assert await all_of(memories) == ["boat"]


async def test_what_is_forgotten_is_not_found_any_more(memories: Memories) -> None:
    await learned(memories, "red boat", "red house")
    await found(memories, "red")

    assert await memories.forget(ANN, 1) == 1
    assert await memories.forget(ANN, 1) == 0
    assert await found(memories, "red boat") == ["red house"]


async def test_all_is_forgotten_at_once_and_more_can_be_learned(memories: Memories) -> None:
    await learned(memories, "one", "two")
    await memories.learn(BOB, [Fact(text="mine")], BY_ANN)

    assert await memories.forget(ANN) == 2
    assert await found(memories, "one") == []
    await learned(memories, "three")
    assert await found(memories, "three") == ["three"]
    assert [one.text for one in await memories.export(BOB)] == ["mine"]


async def test_what_is_learned_after_all_was_forgotten_is_found_by_its_meaning(own: OwnMemories) -> None:
    await learned(own, "likes boats")
    await found(own, "boats")
    await own.forget(ANN)
    await learned(own, "likes trees")
    (hit,) = await own.search([ANN], "likes trees", limit=1)

    assert hit.score > 0.9


async def test_of_what_was_forgotten_nothing_stays_in_the_tables(home: Path, memories: Memories) -> None:
    await learned(memories, "Ann knows xylophone")
    await memories.learn(ANN, [Fact(text="Ann plays zither", replaces=1)], BY_ANN)
    await memories.forget(ANN)
    with closing(sqlite3.connect(home / DATABASE)) as db:
        tables = ("memories", "memory_scopes", "memory_words", "memory_words_content")
        rows = [row for table in tables for row in db.execute(f"SELECT * FROM {table}")]

    assert rows == []


async def test_nothing_is_learned_of_nothing(memories: Memories) -> None:
    assert await learned(memories, "", "  \n", "...") == []
    assert await all_of(memories) == []


async def test_a_memory_is_one_line_and_bounded(memories: Memories) -> None:
    (kept,) = await learned(memories, "a\nb\x00\x1b[31m " + "x" * 2_000)

    assert kept.text.startswith("a b [31m xxx")
    assert len(kept.text) == MAX_TEXT


async def test_a_full_memory_says_so_and_keeps_what_it_has(memories: Memories) -> None:
    await learned(memories, *(f"fact {number}" for number in range(MOST)))
    with pytest.raises(StoreError, match="/memory forget"):
        await learned(memories, "one too many")

    assert len(await all_of(memories)) == MOST


async def test_several_scopes_are_searched_together(memories: Memories) -> None:
    await learned(memories, "red boat")
    await memories.learn(GROUP, [Fact(text="red house")], BY_ANN)
    both = await memories.search([ANN, GROUP, BOB], "red", limit=5)

    assert {one.memory.text for one in both} == {"red boat", "red house"}


async def test_a_missing_scope_is_an_error(memories: Memories) -> None:
    await learned(memories, "boat")
    nobody: list[None] = [None]

    with pytest.raises(ValueError, match="whose"):
        await memories.search([], "boat", limit=1)
    with pytest.raises(ValueError, match="whose"):
        await memories.search(nobody, "boat", limit=1)  # type: ignore[arg-type]  # what a careless caller does
    for call in (memories.export, memories.forget):
        with pytest.raises(ValueError, match="whose"):
            await call(None)  # type: ignore[arg-type]  # the same


async def test_where_a_memory_comes_from_is_kept_over_a_restart(home: Path, memories: Memories) -> None:
    origin = Origin(how="tool", by="telegram:42", foreign=("web",))
    (kept,) = await memories.learn(ANN, [Fact(text="boat")], origin)
    async with opened("own", home, None) as again:
        assert list(await again.export(ANN)) == [kept]
    assert kept.origin == origin


async def test_many_at_once_get_numbers_of_their_own(memories: Memories) -> None:
    await asyncio.gather(*(learned(memories, f"fact {number}") for number in range(20)))

    assert [one.number for one in await memories.export(ANN)] == list(range(1, 21))


async def test_memories_change_hands_when_two_turn_out_to_be_one(memories: Memories) -> None:
    await learned(memories, "red boat", "green tree")
    await memories.learn(BOB, [Fact(text="Red boat!")], BY_ANN)
    moved = await memories.shelf.move(ANN, BOB)

    assert moved == 1
    assert await all_of(memories) == []
    assert {one.memory.text for one in await memories.search([BOB], "green tree", limit=5)} >= {"green tree"}


async def test_a_scope_that_has_nothing_costs_no_second_look(own: OwnMemories, vectors: WordVectors) -> None:
    await own.search([ANN], "boat", limit=1)
    assert own.shelf.is_known_empty(ANN)
    assert vectors.asked == []

    await learned(own, "boat")
    assert not own.shelf.is_known_empty(ANN)
    assert await found(own, "boat") == ["boat"]


async def test_words_do_where_there_are_no_vectors(home: Path) -> None:
    async with opened("own", home, None) as made:
        await learned(made, "Ann is allergic to peanuts", "Ann likes tea")

        assert await found(made, "peanuts") == ["Ann is allergic to peanuts"]


async def test_a_memory_without_a_vector_gets_one_when_it_can(
    home: Path, own: OwnMemories, vectors: WordVectors
) -> None:
    vectors.is_broken = True
    await learned(own, "red boat")
    assert await found(own, "boat") == ["red boat"]  # by its words

    vectors.is_broken = False
    assert await found(own, "boat") == ["red boat"]
    assert vectors.asked == ["boat", "red boat"]


async def test_vectors_of_another_model_are_made_anew(home: Path, own: OwnMemories) -> None:
    await learned(own, "red boat")
    other = WordVectors("other")
    async with opened("own", home, other) as again:
        await again.search([ANN], "boat", limit=1)

    assert other.asked == ["boat", "red boat"]


async def test_mem0_says_that_it_can_not_do_without_vectors(home: Path, vectors: WordVectors) -> None:
    vectors.is_broken = True
    async with opened("mem0", home, vectors) as made:
        with pytest.raises(ModelError):
            await learned(made, "boat")
