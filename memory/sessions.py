"""The sessions of a chat: begun, taken up again, renamed, emptied, deleted."""

import secrets
import sqlite3
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Literal, TypeAlias

from bot.agent.renewal import Standing
from bot.commands.sessions import ChatSession
from bot.errors import StoreError
from bot.messages import RunId, SessionKey
from memory.choices import Choices
from memory.database import Database
from memory.inbox.erasing import drop_notes, erase_conversation
from memory.long_term.rows import drop_learned
from memory.rows import follow_alias
from memory.summaries import drop_summary

OnEnd: TypeAlias = Callable[[SessionKey, Literal["new", "reset", "deleted"]], Awaitable[None]]

OnErased: TypeAlias = Callable[[Sequence[RunId]], Awaitable[None]]

OPENING = 200  # characters of what was said first
OF_CHAT = (
    "SELECT 1 AS number, ? AS session"
    " UNION ALL SELECT number, session FROM chat_sessions WHERE chat = ? AND deleted_at IS NULL"
)


async def _nobody(session: SessionKey, reason: Literal["new", "reset", "deleted"]) -> None:
    """Nobody wants to know."""


async def _nothing(runs: Sequence[RunId]) -> None:
    """Nobody keeps more of them."""


class Sessions:
    """Fulfils `bot.commands.sessions.Sessions` on the database.

    A chat's own session has the key of its address and number 1; the others get the next number, and are
    reached through the alias from the chat's key.

    Attributes:
        on_end: Told when a session is over: a new one was begun, or it was emptied or deleted.
        on_switch: Told when a chat goes on in another session, or in an emptied one: the chat's key, and the
            session's.
        on_erased: Told which turns are no longer in the history, for whoever keeps files of theirs.
    """

    def __init__(self, database: Database, choices: Choices) -> None:
        self._database = database
        self._choices = choices
        self.on_switch: Callable[[SessionKey, SessionKey], None] = lambda chat, session: None
        self.on_end: OnEnd = _nobody
        self.on_erased: OnErased = _nothing

    async def current(self, chat: SessionKey) -> SessionKey:
        """See the protocol."""
        return await self._database.read(lambda db: follow_alias(db, chat))

    async def standing(self, chat: SessionKey) -> Standing:
        """See `bot.agent.renewal.Sessions`."""

        def job(db: sqlite3.Connection) -> Standing:
            session = follow_alias(db, chat)
            row = db.execute(
                "SELECT updated_at, coalesce(json_extract(metadata, '$.resumed_at'), 0) FROM sessions"
                " WHERE session = ?",
                (session,),
            ).fetchone()
            return Standing(session, *(row or (None,)))

        return await self._database.read(job)

    async def of_chat(self, chat: SessionKey) -> list[ChatSession]:
        """See the protocol."""

        def job(db: sqlite3.Connection) -> list[ChatSession]:
            current = follow_alias(db, chat)
            rows = db.execute(
                "SELECT c.number, c.session, s.title, s.messages, s.updated_at,"
                " json_extract(s.metadata, '$.archived_at'),"
                " (SELECT MIN(number) FROM messages m WHERE m.session = c.session),"
                " (SELECT substr(text, 1, ?) FROM messages m WHERE m.session = c.session AND role = 'user'"
                "  AND substr(text, 1, 1) NOT IN ('/', '!') ORDER BY m.number LIMIT 1)"
                f" FROM ({OF_CHAT}) c LEFT JOIN sessions s ON s.session = c.session"
                " ORDER BY s.updated_at DESC, c.number DESC",
                (OPENING, chat, chat),
            )
            return [
                ChatSession(
                    number=number,
                    session=session,
                    title=title,
                    opening=opening or "",
                    messages=messages - first + 1 if first else 0,
                    updated_at=updated_at or 0.0,
                    is_current=session == current,
                    is_archived=archived_at is not None,
                )
                for number, session, title, messages, updated_at, archived_at, first, opening in rows
                if title or opening or session == current  # commands alone are no conversation
            ]

        return await self._database.read(job)

    async def begin(self, chat: SessionKey, title: str | None = None) -> SessionKey:
        """See the protocol."""

        def job(db: sqlite3.Connection) -> tuple[SessionKey, SessionKey]:
            return follow_alias(db, chat), _begin(db, chat, title)

        ended, session = await self._database.write(job)
        self.on_switch(chat, session)
        await self.on_end(ended, "new")
        return session

    async def resume(self, chat: SessionKey, session: SessionKey) -> None:
        """See the protocol."""

        def job(db: sqlite3.Connection) -> None:
            found = db.execute(f"SELECT 1 FROM ({OF_CHAT}) WHERE session = ?", (chat, chat, session))
            if found.fetchone() is None:
                raise StoreError(f"this chat has no session {session!r}")
            point(db, chat, session)
            db.execute(
                "UPDATE sessions SET"
                " metadata = json_set(json_remove(metadata, '$.archived_at'), '$.resumed_at', ?)"
                " WHERE session = ?",
                (time.time(), session),
            )

        await self._database.write(job)
        self.on_switch(chat, session)

    async def archive(self, chat: SessionKey, session: SessionKey) -> None:
        """See the protocol."""

        def job(db: sqlite3.Connection) -> bool:
            db.execute(
                "UPDATE sessions SET metadata = json_set(metadata, '$.archived_at', ?) WHERE session = ?",
                (time.time(), session),
            )
            return follow_alias(db, chat) == session

        if await self._database.write(job):
            await self.begin(chat)

    async def rename(self, session: SessionKey, title: str) -> None:
        """See the protocol."""
        await self._database.write(lambda db: _title(db, session, title))

    async def suggest_title(self, session: SessionKey, title: str) -> None:
        """Give a title to a session that has none; one that a person has chosen stays."""
        await self._database.write(
            lambda db: db.execute(
                "UPDATE sessions SET title = ? WHERE session = ? AND title IS NULL", (title, session)
            )
        )

    async def forget(self, session: SessionKey) -> None:
        """See the protocol."""

        def job(db: sqlite3.Connection) -> None:
            db.execute("UPDATE messages SET in_context = 0 WHERE session = ? AND in_context = 1", (session,))
            drop_summary(db, session)
            db.execute("UPDATE sessions SET turns = 0 WHERE session = ?", (session,))
            db.execute("DELETE FROM overheard WHERE session = ?", (session,))

        await self._database.write(job)
        await self.on_end(session, "reset")

    async def clear(self, session: SessionKey, *, but: RunId) -> None:
        """See the protocol."""

        def job(db: sqlite3.Connection) -> list[RunId]:
            runs = _empty(db, session, but)
            db.execute("UPDATE sessions SET turns = 0 WHERE session = ?", (session,))
            return runs

        await self.on_erased(await self._database.write(job))
        self.on_switch(session, session)
        await self.on_end(session, "reset")

    async def delete(self, chat: SessionKey, session: SessionKey, *, but: RunId) -> None:
        """See the protocol."""

        def job(db: sqlite3.Connection) -> tuple[SessionKey | None, list[RunId]]:
            fresh = _begin(db, chat, None) if follow_alias(db, chat) == session else None
            runs = _empty(db, session, but)
            db.execute(
                "UPDATE chat_sessions SET deleted_at = ? WHERE chat = ? AND session = ?",
                (time.time(), chat, session),
            )
            db.execute("DELETE FROM sessions WHERE session = ?", (session,))
            return fresh, runs

        fresh, runs = await self._database.write(job)
        await self.on_erased(runs)
        self._choices.drop(session)
        await self.on_end(session, "deleted")
        if fresh is not None:
            self.on_switch(chat, fresh)

    async def erase(self, chat: SessionKey, *, but: RunId) -> None:
        """See the protocol."""

        def job(db: sqlite3.Connection) -> tuple[SessionKey, list[SessionKey], list[RunId]]:
            every = [session for _, session in db.execute(OF_CHAT, (chat, chat)).fetchall()]
            fresh = _begin(db, chat, None)
            runs = [run for session in every for run in _empty(db, session, but)]
            db.execute(
                "UPDATE chat_sessions SET deleted_at = ? WHERE chat = ? AND session <> ?",
                (time.time(), chat, fresh),
            )
            db.executemany("DELETE FROM sessions WHERE session = ?", [(session,) for session in every])
            erase_conversation(db, chat)
            return fresh, every, runs

        fresh, every, runs = await self._database.write(job)
        await self.on_erased(runs)
        for session in every:
            self._choices.drop(session)
            await self.on_end(session, "deleted")
        self.on_switch(chat, fresh)


def _begin(db: sqlite3.Connection, chat: SessionKey, title: str | None) -> SessionKey:
    session, now = _fresh_key(chat), time.time()
    db.execute(
        "INSERT INTO chat_sessions (chat, number, session, created_at)"
        " SELECT ?, COALESCE(MAX(number), 1) + 1, ?, ? FROM chat_sessions WHERE chat = ?",
        (chat, session, now, chat),
    )
    _title(db, session, title)
    point(db, chat, session)
    return session


def _fresh_key(chat: SessionKey) -> SessionKey:
    """A key with a letter in its tail, so that no thread with a number for its name has the same."""
    while (tail := secrets.token_hex(4)).isdigit():
        continue
    return SessionKey(f"{chat}:{tail}")


def point(db: sqlite3.Connection, chat: SessionKey, session: SessionKey) -> None:
    """Let what comes from a chat go to a session from now on."""
    if session == chat:
        db.execute("DELETE FROM aliases WHERE alias = ?", (chat,))
        return
    db.execute(
        "INSERT INTO aliases (alias, session) VALUES (?, ?)"
        " ON CONFLICT (alias) DO UPDATE SET session = excluded.session",
        (chat, session),
    )


def _title(db: sqlite3.Connection, session: SessionKey, title: str | None) -> None:
    now = time.time()
    db.execute(
        "INSERT INTO sessions (session, title, created_at, updated_at) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (session) DO UPDATE SET title = excluded.title",
        (session, title, now, now),
    )


def _empty(db: sqlite3.Connection, session: SessionKey, but: RunId) -> list[RunId]:
    """Delete what was said, done and learned in a session, the command that asks for it aside."""
    chosen = "SELECT run FROM messages WHERE session = ? AND run <> ?"
    runs = [run for (run,) in db.execute(f"SELECT DISTINCT run FROM ({chosen})", (session, but))]
    db.execute(f"DELETE FROM tool_calls WHERE run IN ({chosen})", (session, but))
    db.execute(f"DELETE FROM bursts WHERE kept IN ({chosen})", (session, but))
    db.execute(f"DELETE FROM outbox WHERE state = 'failed' AND run IN ({chosen})", (session, but))
    db.execute("DELETE FROM messages WHERE session = ? AND run <> ?", (session, but))
    drop_summary(db, session)
    drop_learned(db, session)
    drop_notes(db, session)
    db.execute("DELETE FROM overheard WHERE session = ?", (session,))
    return runs
