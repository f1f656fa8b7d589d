"""Sessions of a chat in the database: their keys, and what goes with them."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from bot.agent.choice import Choice
from bot.errors import StoreError
from bot.messages import RunId, SessionKey
from bot.models.base import FunctionCall, ToolCall
from memory.database import DATABASE
from memory.store import Store
from tests.factories import inbound

CHAT = SessionKey("web:default:main")


async def test_the_key_of_a_new_session_is_that_of_the_chat_with_a_tail_that_no_thread_has(
    store: Store,
) -> None:
    for _ in range(30):
        key = await store.sessions.begin(CHAT)
        base, _, tail = key.rpartition(":")

        assert base == CHAT
        assert len(tail) == 8
        assert not tail.isdigit()


async def test_a_session_of_another_chat_is_not_resumed(store: Store) -> None:
    theirs = await store.sessions.begin(SessionKey("web:default:other"))
    with pytest.raises(StoreError, match="this chat has no session"):
        await store.sessions.resume(CHAT, theirs)

    assert await store.sessions.current(CHAT) == CHAT


async def test_a_thread_whose_key_looks_like_a_session_of_the_chat_is_none(store: Store) -> None:
    thread = SessionKey(f"{CHAT}:12ab34cd")
    with pytest.raises(StoreError):
        await store.sessions.resume(CHAT, thread)

    assert thread not in [one.session for one in await store.sessions.of_chat(CHAT)]


async def test_nothing_that_was_said_or_done_stays_of_a_deleted_session(home: Path) -> None:
    async with Store(home, synchronous="NORMAL") as store:
        message = inbound("my secret")
        await store.journal.accept(message, history=12)
        call = ToolCall(id="c", function=FunctionCall(name="look", arguments='{"for": "secret"}'))
        await store.ledger.tool_started(message.run, 1, call)
        await store.ledger.tool_ended(message.run, 1, call, status="ok", result="the secret")
        await store.sessions.rename(CHAT, "secret")
        await store.choices.choose(CHAT, Choice(model="secret"))
        await store.sessions.delete(CHAT, CHAT, but=RunId("none"))
    with closing(sqlite3.connect(home / DATABASE)) as db:
        tables = ("messages", "sessions", "tool_calls", "overheard")
        rows = [row for table in tables for row in db.execute(f"SELECT * FROM {table}")]

    assert "secret" not in str(rows)


async def test_clearing_leaves_the_command_that_asked_for_it(store: Store) -> None:
    first, command = inbound("hello"), inbound("/clear yes")
    for message in (first, command):
        await store.journal.accept(message)
        await store.journal.begin(message, attempts=0, history=12)
    await store.sessions.clear(CHAT, but=command.run)

    assert [line.text for line in await store.history.recent(CHAT)] == ["/clear yes"]


async def test_a_choice_leaves_other_metadata_alone(home: Path) -> None:
    async with Store(home, synchronous="NORMAL") as store:
        await store.sessions.rename(CHAT, "x")
    with closing(sqlite3.connect(home / DATABASE)) as db:
        db.execute('UPDATE sessions SET metadata = \'{"colour": "red", "model": "a"}\'')
        db.commit()
    async with Store(home, synchronous="NORMAL") as store:
        before = store.choices.of(CHAT)
        await store.choices.choose(CHAT, Choice(backend="native"))
    with closing(sqlite3.connect(home / DATABASE)) as db:
        (metadata,) = db.execute("SELECT metadata FROM sessions").fetchone()

    assert before == Choice(model="a")
    assert metadata == '{"colour":"red","backend":"native"}'
