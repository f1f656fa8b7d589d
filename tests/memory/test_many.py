"""What comes in together is done by the same statements, and comes out as if each had come alone."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from threading import Event

from hypothesis import given
from hypothesis import strategies as st

from bot.agent.store import TurnRecord
from bot.errors import Fenced
from bot.messages import InboundMessage, SessionKey
from memory.many import MOST_ROWS, marks, pieces, write_rows
from memory.store import Store
from tests.factories import end_of, inbound

RECORD = TurnRecord(started_at=1.0, ended_at=2.0)
MANY = 75  # of them 32 and 32 and 8 and 2 and 1 at once


class Hold:
    """Holds the writer up, so that all that is asked for meanwhile is one batch."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._go = Event()

    async def __aenter__(self) -> None:
        held = asyncio.Event()
        loop = asyncio.get_running_loop()

        def job(db: sqlite3.Connection) -> None:
            loop.call_soon_threadsafe(held.set)
            assert self._go.wait(10)

        self._holding = asyncio.create_task(self._store.database.write(job))
        await held.wait()

    async def __aexit__(self, *_: object) -> None:
        self._go.set()
        await self._holding


def messages_of(count: int, *, sessions: int) -> list[InboundMessage]:
    return [inbound(f"text {n}", session=f"web:default:{n % sessions}") for n in range(count)]


async def answered(store: Store, messages: list[InboundMessage]) -> list[BaseException | None]:
    """Finish the turns of these messages in one batch; gives what each of them raised."""
    async with Hold(store):
        endings = [
            asyncio.create_task(
                store.journal.finish(end_of(one, f"re: {one.text}"), RECORD, speaker="Bot", has_outbox=True)
            )
            for one in messages
        ]
        await asyncio.sleep(0)
    return await asyncio.gather(*endings, return_exceptions=True)


async def test_messages_that_come_in_together_begin_each_once_in_their_sessions(store: Store) -> None:
    messages = messages_of(MANY, sessions=MANY)
    async with Hold(store):
        coming = [
            asyncio.create_task(store.journal.accept(one, history=9)) for one in (*messages, *messages[:20])
        ]
        await asyncio.sleep(0)
    accepted = await asyncio.gather(*coming)

    assert [one.is_new for one in accepted] == [True] * MANY + [False] * 20
    assert [one.begun is not None for one in accepted] == [True] * MANY + [False] * 20
    assert [one.session for one in accepted[:MANY]] == [one.session for one in messages]
    assert [entry.run for entry in await store.journal.unfinished()] == [one.run for one in messages]
    assert await answered(store, messages) == [None] * MANY
    assert await store.journal.unfinished() == []


async def test_messages_of_one_session_wait_in_the_order_in_which_they_came(store: Store) -> None:
    messages = messages_of(MANY, sessions=1)
    async with Hold(store):
        coming = [asyncio.create_task(store.journal.accept(one)) for one in messages]
        await asyncio.sleep(0)
    await asyncio.gather(*coming)

    assert [entry.run for entry in await store.journal.unfinished()] == [one.run for one in messages]


async def test_turns_that_begin_together_are_given_each_its_own_history(store: Store) -> None:
    for _ in range(2):
        messages = messages_of(10, sessions=10)
        await asyncio.gather(*(store.journal.accept(one, history=9) for one in messages))
        await answered(store, messages)
    messages = messages_of(10, sessions=10)
    async with Hold(store):
        coming = [asyncio.create_task(store.journal.accept(one, history=9)) for one in messages]
        await asyncio.sleep(0)

    for message, accepted in zip(messages, await asyncio.gather(*coming), strict=True):
        assert accepted.begun is not None
        said = [line.text for line in accepted.begun.history]
        assert said == [message.text, f"re: {message.text}"] * 2
        assert accepted.begun.turns == 5


async def test_of_turns_that_end_together_the_one_that_is_fenced_fails_alone(store: Store) -> None:
    messages = messages_of(9, sessions=9)
    await asyncio.gather(*(store.journal.accept(one, history=9) for one in messages))
    await store.journal.requeue(messages[4].run, 1)

    raised = await answered(store, messages)

    assert [type(one) for one in raised if one is not None] == [Fenced]
    assert isinstance(raised[4], Fenced)
    lines = [len(await store.history.recent(one.session, limit=9)) for one in messages]
    assert lines == [2, 2, 2, 2, 1, 2, 2, 2, 2]


async def test_lines_of_one_session_that_are_written_together_are_counted_up(store: Store) -> None:
    messages = messages_of(3, sessions=1)
    await asyncio.gather(*(store.journal.accept(one) for one in messages))

    async with Hold(store):
        hearing = [asyncio.create_task(store.journal.hear(one)) for one in messages]
        await asyncio.sleep(0)
    await asyncio.gather(*hearing)

    lines = await store.history.recent(SessionKey("web:default:0"), limit=9)
    assert [(line.number, line.text) for line in lines] == [(n, f"text {n - 1}") for n in (1, 2, 3)]


@given(st.lists(st.integers(), max_size=200))
def test_the_pieces_are_all_there_is_in_order_and_of_few_sizes(items: list[int]) -> None:
    found = [list(piece) for piece in pieces(items)]

    assert [item for piece in found for item in piece] == items
    assert {len(piece) for piece in found} <= {1, 2, 4, 8, 16, MOST_ROWS}


def test_rows_are_written_and_counted(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "x.db")) as db:
        db.execute("CREATE TABLE notes (number UNIQUE, text)")
        statement = "INSERT INTO notes VALUES {marks} ON CONFLICT (number) DO NOTHING"

        assert write_rows(db, statement, [(n % 50, "a\x00b") for n in range(70)]) == 50
        assert write_rows(db, statement, []) == 0
        assert db.execute("SELECT count(*), min(text), max(number) FROM notes").fetchone() == (
            50,
            "a\x00b",
            49,
        )

    assert marks(2, 3) == "(?, ?, ?), (?, ?, ?)"
