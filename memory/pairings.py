"""Who waits to be let in, kept over a restart."""

import sqlite3

import msgspec

from bot.commands.pairing import Request
from bot.messages import encoder
from memory.database import Database

decode_request = msgspec.json.Decoder(Request).decode


class Pairings:
    """Fulfils `security.access.pairing.Requests` on the database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def open(self, now: float) -> list[Request]:
        """Every request that has not expired, the oldest first; those that have are kept no longer."""

        def job(db: sqlite3.Connection) -> list[Request]:
            db.execute("DELETE FROM pairings WHERE expires_at <= ?", (now,))
            rows = db.execute("SELECT request FROM pairings ORDER BY asked_at, subject")
            return [decode_request(blob) for (blob,) in rows]

        return await self._database.write(job)

    async def get(self, key: str) -> Request | None:
        """The request of a subject, expired or not."""

        def job(db: sqlite3.Connection) -> Request | None:
            row = db.execute("SELECT request FROM pairings WHERE subject = ?", (key,)).fetchone()
            return decode_request(row[0]) if row else None

        return await self._database.read(job)

    async def put(self, request: Request) -> None:
        """Keep a request, in place of the one before of the same subject."""
        row = (request.key, encoder.encode(request), request.asked_at, request.expires_at)
        await self._database.write(
            lambda db: db.execute(
                "INSERT INTO pairings (subject, request, asked_at, expires_at) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (subject) DO UPDATE SET request = excluded.request,"
                " asked_at = excluded.asked_at, expires_at = excluded.expires_at",
                row,
            )
        )

    async def drop(self, key: str) -> None:
        """Keep a request no longer."""
        await self._database.write(lambda db: db.execute("DELETE FROM pairings WHERE subject = ?", (key,)))
