"""The outbox: answers that a platform has not confirmed, and what of them it already shows."""

import sqlite3
import time

import msgspec

from bot.messages import End, RunId
from memory.database import Database

decode_end = msgspec.json.Decoder(End).decode


class Outbox:
    """Fulfils `channels.delivery.Outbox` on the database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def pending(self, channel: str) -> list[End]:
        """Answers of a channel that are not confirmed, oldest first."""

        def job(db: sqlite3.Connection) -> list[End]:
            rows = db.execute(
                "SELECT message FROM outbox WHERE channel = ? AND state = 'pending' ORDER BY run", (channel,)
            )
            return [decode_end(blob) for (blob,) in rows]

        return await self._database.read(job)

    async def posted(self, run: RunId) -> dict[int, str]:
        """The platform's ids of the messages that show a run, by part."""

        def job(db: sqlite3.Connection) -> dict[int, str]:
            return dict(db.execute("SELECT part, platform_id FROM deliveries WHERE run = ?", (run,)))

        return await self._database.read(job)

    async def record(self, run: RunId, part: int, platform_id: str) -> None:
        """Write down which message of the platform shows a part of a run."""

        def job(db: sqlite3.Connection) -> None:
            db.execute(
                "INSERT INTO deliveries (run, part, platform_id, at) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (run, part) DO UPDATE SET platform_id = excluded.platform_id, at = excluded.at",
                (run, part, platform_id, time.time()),
            )

        await self._database.write(job)

    async def confirm(self, run: RunId) -> None:
        """The platform shows the whole answer."""

        def job(db: sqlite3.Connection) -> None:
            db.execute("DELETE FROM outbox WHERE run = ?", (run,))

        await self._database.write(job)

    async def give_up(self, run: RunId) -> None:
        """The platform will never take this answer; it stays, for people to see."""

        def job(db: sqlite3.Connection) -> None:
            db.execute("UPDATE outbox SET state = 'failed' WHERE run = ?", (run,))

        await self._database.write(job)

    async def count_try(self, run: RunId) -> int:
        """One more try at an answer has failed; gives how many that makes."""

        def job(db: sqlite3.Connection) -> int:
            row = db.execute(
                "UPDATE outbox SET tries = tries + 1 WHERE run = ? RETURNING tries", (run,)
            ).fetchone()
            return int(row[0]) if row else 0

        return await self._database.write(job)
