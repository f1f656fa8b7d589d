"""The outbox: answers that a platform has not confirmed, and what of them it already shows."""

import sqlite3
import time

import msgspec
from msgspec.structs import replace

from bot.agent.store import Posted, Undelivered
from bot.messages import Address, End, RunId, SessionKey, encoder, new_id
from memory.database import Database

decode_end = msgspec.json.Decoder(End).decode

STUCK = "run = ? AND (state = 'failed' OR tries >= ?)"


class Outbox:
    """Fulfils `channels.delivery.Outbox` on the database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def pending(self, channel: str, account: str = "default") -> list[End]:
        """Answers of an account that are not confirmed, oldest first."""

        def job(db: sqlite3.Connection) -> list[End]:
            rows = db.execute(
                "SELECT message FROM outbox WHERE channel = ? AND account = ? AND state = 'pending'"
                " ORDER BY run",
                (channel, account),
            )
            return [decode_end(blob) for (blob,) in rows]

        return await self._database.read(job)

    async def posted(self, run: RunId) -> list[Posted]:
        """The messages of the platform that show a run, by part."""

        def job(db: sqlite3.Connection) -> list[Posted]:
            rows = db.execute(
                "SELECT part, platform_id, attempt, text_end FROM deliveries WHERE run = ? ORDER BY part",
                (run,),
            )
            return [
                Posted(part=part, platform_id=platform_id, attempt=attempt, end=end)
                for part, platform_id, attempt, end in rows
            ]

        return await self._database.read(job)

    async def record(self, run: RunId, posted: Posted) -> None:
        """Write down which message of the platform shows a part of a run."""

        def job(db: sqlite3.Connection) -> None:
            db.execute(
                "INSERT INTO deliveries (run, part, platform_id, attempt, text_end, at)"
                " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (run, part) DO UPDATE SET"
                " platform_id = excluded.platform_id, attempt = excluded.attempt,"
                " text_end = excluded.text_end, at = excluded.at",
                (run, posted.part, posted.platform_id, posted.attempt, posted.end, time.time()),
            )

        await self._database.write(job)

    async def forget(self, run: RunId, part: int) -> None:
        """A part is shown no more: its message was taken back."""
        await self._database.write(
            lambda db: db.execute("DELETE FROM deliveries WHERE run = ? AND part = ?", (run, part))
        )

    async def confirm(self, run: RunId) -> None:
        """The platform shows the whole answer."""
        await self._database.write(lambda db: db.execute("DELETE FROM outbox WHERE run = ?", (run,)))

    async def give_up(self, run: RunId) -> None:
        """The platform will never take this answer; it stays, for people to see."""
        await self._database.write(
            lambda db: db.execute("UPDATE outbox SET state = 'failed' WHERE run = ?", (run,))
        )

    async def count_try(self, run: RunId) -> int:
        """One more try at an answer has failed; gives how many that makes."""

        def job(db: sqlite3.Connection) -> int:
            row = db.execute(
                "UPDATE outbox SET tries = tries + 1 WHERE run = ? RETURNING tries", (run,)
            ).fetchone()
            return int(row[0]) if row else 0

        return await self._database.write(job)

    async def undelivered(self, *, limit: int) -> list[Undelivered]:
        """What no platform has confirmed, those that were given up included; the newest first."""

        def job(db: sqlite3.Connection) -> list[Undelivered]:
            rows = db.execute(
                "SELECT message, state, tries, created_at FROM outbox ORDER BY created_at DESC, run LIMIT ?",
                (limit,),
            )
            return [
                Undelivered(end=decode_end(blob), is_failed=state == "failed", tries=tries, created_at=at)
                for blob, state, tries, at in rows
            ]

        return await self._database.read(job)

    async def revive(self, run: RunId, *, tries: int) -> End | None:
        """Have a stuck answer wait again; gives it as a new attempt, `None` where none of this id is stuck.

        The new attempt makes delivery look first at what the platform shows of it already.

        Args:
            tries: From so many on nobody tries any more, even where it was not given up.
        """

        def job(db: sqlite3.Connection) -> End | None:
            row = db.execute(f"SELECT message FROM outbox WHERE {STUCK}", (run, tries)).fetchone()
            if row is None:
                return None
            end = decode_end(row[0])
            db.execute(
                "UPDATE deliveries SET attempt = attempt + 1 WHERE run = ? AND attempt = ?",
                (run, end.attempt),  # what of it is shown already is part of the new attempt, too
            )
            end = replace(end, attempt=end.attempt + 1)
            db.execute(
                "UPDATE outbox SET state = 'pending', tries = 0, message = ? WHERE run = ?",
                (encoder.encode(end), run),
            )
            return end

        return await self._database.write(job)

    async def drop(self, run: RunId, *, tries: int) -> bool:
        """Forget a stuck answer; False where none of this id is, see `revive`."""

        def job(db: sqlite3.Connection) -> bool:
            return db.execute(f"DELETE FROM outbox WHERE {STUCK}", (run, tries)).rowcount == 1

        return await self._database.write(job)

    async def announce(self, addresses: list[Address], text: str) -> list[End]:
        """Put one text into the outbox for many chats, all or nothing; gives what is to be delivered."""
        ends = [_announcement(address, text) for address in addresses]

        def job(db: sqlite3.Connection) -> None:
            for end in ends:
                put_in_outbox(db, end)

        await self._database.write(job)
        return ends


def _announcement(address: Address, text: str) -> End:
    return End(
        run=RunId(new_id()),
        session=SessionKey(address.session()),
        address=address,
        attempt=1,
        seq=1,
        reason="done",
        text=text,
    )


def put_in_outbox(db: sqlite3.Connection, end: End) -> None:
    """Have an answer delivered, by the transaction that ends its turn."""
    db.execute(
        "INSERT INTO outbox (run, channel, account, state, message, created_at)"
        " VALUES (?, ?, ?, 'pending', ?, ?)",
        (end.run, end.address.channel, end.address.account, encoder.encode(end), time.time()),
    )
