"""Codes that link two chats, until they are used or expire; only their hashes are kept."""

import sqlite3
from hashlib import blake2b

from memory.database import Database


class LinkCodes:
    """Fulfils `bot.commands.people.Codes` on the database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(self, code: str, identity: str, *, now: float, expires_at: float) -> None:
        """See the protocol."""

        def job(db: sqlite3.Connection) -> None:
            db.execute("DELETE FROM link_codes WHERE expires_at <= ? OR identity = ?", (now, identity))
            db.execute(
                "INSERT INTO link_codes (digest, identity, expires_at) VALUES (?, ?, ?)",
                (_digest(code), identity, expires_at),
            )

        await self._database.write(job)

    async def take(self, code: str, identity: str, *, now: float) -> str | None:
        """See the protocol."""

        def job(db: sqlite3.Connection) -> str | None:
            row = db.execute(
                "SELECT identity FROM link_codes WHERE digest = ? AND expires_at > ?", (_digest(code), now)
            ).fetchone()
            if row is not None and row[0] != identity:
                db.execute("DELETE FROM link_codes WHERE digest = ?", (_digest(code),))
            return row[0] if row else None

        return await self._database.write(job)


def _digest(code: str) -> str:
    return blake2b(code.encode(), digest_size=20).hexdigest()
