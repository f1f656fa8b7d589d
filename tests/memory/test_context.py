"""What a turn reads of what was said before it, at a cost that does not grow with the talk."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.agent.compaction import Summary
from bot.agent.store import Begun
from bot.messages import MessageId, RunId, SessionKey, StoredMessage
from memory.context import Opening, asked, read_context
from memory.database import DATABASE, connect, migrate
from memory.rows import NewLine, append_lines
from memory.store import Store
from tests.commands.desk import Desk, chat_key

SESSION = SessionKey("web:default:main")
AT = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
STEP = 10  # instructions of SQLite's machine, the unit in which work is counted


@pytest.fixture
def db(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """A database in which nothing was said yet."""
    with closing(connect(tmp_path / DATABASE, "NORMAL")) as opened:
        migrate(opened)
        yield opened


def say(db: sqlite3.Connection, first: int, last: int, *, in_context: bool = True) -> None:
    """Add lines with these numbers, the last one included."""
    for number in range(first, last + 1):
        line = StoredMessage(
            number=number,
            id=MessageId(f"m{number}"),
            run=RunId(f"r{number}"),
            role="user" if number % 2 else "assistant",
            speaker="Ann",
            text="x" * 200,
            at=AT,
            in_context=in_context,
        )
        append_lines(db, [NewLine(SESSION, line)])


def read(db: sqlite3.Connection, before: int | None = None, history: int = 200) -> Begun:
    """What a turn begins with whose message has a number; without one, what the next turn does."""
    run = None if before is None else RunId(f"r{before}")
    return read_context(db, Opening(session=SESSION, run=run, history=history))


def work_of(db: sqlite3.Connection) -> int:
    """How much SQLite has to do for the beginning of a turn."""
    read(db)  # so that what SQLite prepares once does not count
    steps = 0

    def count() -> None:
        nonlocal steps
        steps += 1

    db.set_progress_handler(count, STEP)
    read(db)
    db.set_progress_handler(None, 0)
    return steps


def test_the_lines_are_found_by_the_index_of_those_that_the_model_may_see(db: sqlite3.Connection) -> None:
    opening = Opening(session=SESSION, run=RunId("r"), history=9)
    statement, values = asked([opening, opening], [0, 5])
    plan = db.execute(f"EXPLAIN QUERY PLAN {statement}", values).fetchall()

    steps = [detail for *_, detail in plan]
    search = "SEARCH messages USING INDEX messages_in_context (session=? AND number>? AND"
    assert any(step.startswith(search) for step in steps)
    assert any(step.startswith("SEARCH tool_calls USING INDEX tool_calls_in_sight (run=?)") for step in steps)
    assert not any(step.startswith(("SCAN messages", "SCAN tool_calls")) for step in steps)


def test_a_turn_of_a_talk_that_is_ten_times_as_long_costs_the_same(db: sqlite3.Connection) -> None:
    say(db, 1, 400)
    early = work_of(db)
    say(db, 401, 4_000)

    assert work_of(db) <= 1.2 * early


def test_commands_and_what_was_forgotten_cost_a_turn_nothing(db: sqlite3.Connection) -> None:
    say(db, 1, 10)
    early = work_of(db)
    say(db, 11, 4_000, in_context=False)

    assert [line.number for line in read(db).history] == list(range(1, 11))
    assert work_of(db) <= 1.2 * early


def test_the_newest_lines_behind_the_summary_are_read_in_order(db: sqlite3.Connection) -> None:
    say(db, 1, 30)
    db.execute(
        "INSERT INTO summaries (session, upto, text, tokens, at) VALUES (?, 20, 'notes', 2, 0)", (SESSION,)
    )

    assert [line.number for line in read(db, 25).history] == [21, 22, 23, 24]
    assert [line.number for line in read(db, history=3).history] == [28, 29, 30]


async def test_looking_ahead_gives_what_the_next_turn_begins_with_and_changes_nothing(
    home: Path, store: Store
) -> None:
    desk = Desk(home, store)
    for text in ("one", "two", "three"):
        await desk.talks(text)
    summary = Summary(upto=2, text="notes", at=AT, tokens=2)
    await store.summaries.keep(chat_key(), summary)

    ahead = await store.journal.upcoming(chat_key(), history=3)
    again = await store.journal.upcoming(chat_key(), history=3)

    assert ahead == again
    assert [line.text for line in ahead.history] == ["re: two", "three", "re: three"]
    assert (ahead.turns, ahead.summary) == (6, summary)
    assert (await store.journal.upcoming(SessionKey("web:default:new"), history=3)).history == ()
