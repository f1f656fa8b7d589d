"""The history of the sessions, as people read it."""

import sqlite3

import msgspec
from msgspec.structs import replace

from bot.messages import InboundMessage, SessionKey, StoredMessage, decode_inbound
from memory.database import Database
from memory.rows import LINE, follow_alias, line_from


class SessionInfo(msgspec.Struct, frozen=True):
    """A session in a list; `updated_at` is in seconds since 1970."""

    session: SessionKey
    title: str | None
    messages: int
    updated_at: float


class History:
    """Reads what was said."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def resolve(self, session: SessionKey) -> SessionKey:
        """The session that a chat's own key leads to."""
        return await self._database.read(lambda db: follow_alias(db, session))

    async def recent(
        self, session: SessionKey, *, before: int | None = None, limit: int = 50
    ) -> list[StoredMessage]:
        """The newest lines of a session, or the newest before number `before`; oldest first."""

        def job(db: sqlite3.Connection) -> list[StoredMessage]:
            rows = db.execute(
                f"SELECT {LINE} FROM messages WHERE session = ? AND number < ? ORDER BY number DESC LIMIT ?",
                (session, before if before is not None else 1 << 62, limit),
            ).fetchall()
            return [line_from(row) for row in reversed(rows)]

        return await self._database.read(job)

    async def waiting(self, session: SessionKey) -> list[InboundMessage]:
        """What was accepted in a session and has no line yet, in order of acceptance."""

        def job(db: sqlite3.Connection) -> list[InboundMessage]:
            rows = db.execute(
                "SELECT message FROM journal WHERE session = ? AND state = 'queued' AND attempts = 0"
                " ORDER BY seq",
                (session,),
            )
            return [replace(decode_inbound(blob), session=session) for (blob,) in rows]

        return await self._database.read(job)

    async def sessions(self, limit: int = 100) -> list[SessionInfo]:
        """The sessions that spoke last."""

        def job(db: sqlite3.Connection) -> list[SessionInfo]:
            rows = db.execute(
                "SELECT session, title, messages, updated_at FROM sessions ORDER BY updated_at DESC LIMIT ?",
                (limit,),
            )
            return [SessionInfo(*row) for row in rows]

        return await self._database.read(job)

    async def set_alias(self, alias: SessionKey, session: SessionKey) -> None:
        """Let messages for `alias` go to `session` from now on."""

        def job(db: sqlite3.Connection) -> None:
            db.execute(
                "INSERT INTO aliases (alias, session) VALUES (?, ?)"
                " ON CONFLICT (alias) DO UPDATE SET session = excluded.session",
                (alias, session),
            )

        await self._database.write(job)
