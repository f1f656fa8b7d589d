"""Summaries are kept with their session, only ever reach further, and never outlive what was forgotten."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.agent.compaction import Summary
from memory.database import DATABASE, Database
from memory.store import Store
from memory.summaries import Summaries, drop_summary, summary_of
from tests.commands.desk import Desk, chat_key, fresh_home

SESSION = chat_key()
OTHER = chat_key("other")


def summary(upto: int, text: str = "notes") -> Summary:
    return Summary(upto=upto, text=text, at=datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC), tokens=12)


@pytest.fixture
async def database(home: Path, store: Store) -> AsyncIterator[Database]:
    """The database of a store in which two chats have six lines each."""
    desk = Desk(home, store)
    for text in ("one", "two", "three"):
        await desk.talks(text)
        await desk.talks(text, "other")
    async with Database(home / DATABASE, synchronous="NORMAL") as opened:
        yield opened


async def test_a_summary_is_kept_with_its_session_alone(database: Database) -> None:
    summaries = Summaries(database)

    assert await summaries.of(SESSION) is None
    assert await summaries.keep(SESSION, summary(4))
    assert await summaries.of(SESSION) == summary(4)
    assert await summaries.of(OTHER) is None


async def test_a_summary_survives_a_restart(home: Path, database: Database) -> None:
    text = "naïve 漢字 \x00 notes"
    await Summaries(database).keep(SESSION, summary(2, text))
    async with Database(home / DATABASE) as again:
        assert await Summaries(again).of(SESSION) == summary(2, text)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=15, deadline=None)
@given(reaches=st.lists(st.integers(1, 6), min_size=1, max_size=6))
async def test_whatever_comes_in_whatever_order_a_summary_never_reaches_less_far(
    tmp_path: Path, reaches: list[int]
) -> None:
    home = fresh_home(tmp_path)
    async with (
        Store(home, synchronous="NORMAL") as store,
        Database(home / DATABASE, synchronous="NORMAL") as database,
    ):
        desk, summaries = Desk(home, store), Summaries(database)
        for text in ("one", "two", "three"):
            await desk.talks(text)
        furthest = 0
        for reach in reaches:
            is_kept = await summaries.keep(SESSION, summary(reach))

            assert is_kept == (reach >= furthest)
            furthest = max(furthest, reach)
            assert await summaries.of(SESSION) == summary(furthest)


@pytest.mark.parametrize("command", ["/reset", "/clear yes"])
async def test_what_was_forgotten_while_it_was_summarised_does_not_come_back(
    home: Path, store: Store, database: Database, command: str
) -> None:
    await Desk(home, store).says(command)
    summaries = Summaries(database)

    assert not await summaries.keep(SESSION, summary(4, "secret"))
    assert await summaries.of(SESSION) is None
    assert await summaries.keep(OTHER, summary(4))


async def test_a_line_that_is_not_there_can_not_be_covered(database: Database) -> None:
    assert not await Summaries(database).keep(SESSION, summary(7))


async def test_a_dropped_summary_is_gone(database: Database) -> None:
    summaries = Summaries(database)
    await summaries.keep(SESSION, summary(4))
    await summaries.keep(OTHER, summary(4))
    await summaries.drop(SESSION)

    assert await summaries.of(SESSION) is None
    assert await summaries.of(OTHER) == summary(4)
    assert await summaries.keep(SESSION, summary(2))


@pytest.mark.parametrize(("line", "is_left"), [(3, False), (4, False), (5, True)])
async def test_a_change_of_a_line_voids_the_summary_that_covers_it(
    database: Database, line: int, is_left: bool
) -> None:
    await Summaries(database).keep(SESSION, summary(4))
    await database.write(lambda db: drop_summary(db, SESSION, line=line))
    left = await database.read(lambda db: summary_of(db, SESSION))

    assert (left is not None) == is_left


async def test_lines_behind_a_summary_come_in_order_up_to_a_limit(database: Database) -> None:
    found = await Summaries(database).after(SESSION, 1, limit=3)

    assert [(line.number, line.text) for line in found] == [(2, "re: one"), (3, "two"), (4, "re: two")]


async def test_lines_that_the_model_may_not_see_are_not_summarised(
    home: Path, store: Store, database: Database
) -> None:
    desk = Desk(home, store)
    await desk.says("/reset")
    await desk.talks("after")

    found = await Summaries(database).after(SESSION, 0, limit=99)
    assert [line.text for line in found] == ["after", "re: after"]
