"""Schedules: what is to be done later in which chat, and when it was done."""

import sqlite3
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from bot.messages import EndReason, RunId, SessionKey, encoder
from bot.scheduler.schedules import Claim, Delivery, Firing, Listed, Schedule
from memory.database import Database
from memory.rows import Row

KEPT_FIRINGS = 50  # of one schedule
KEPT_OVER = 20  # schedules of a chat that are over
COLUMNS = "s.body, s.number, s.created_at, s.next_at, s.last_at, s.is_paused"
DUE = (
    f"SELECT {COLUMNS} FROM schedules s WHERE is_paused = 0 AND next_at IS NOT NULL AND next_at <= ?"
    " ORDER BY next_at, id LIMIT ?"
)
NEXT_DUE = (
    "SELECT next_at FROM schedules WHERE is_paused = 0 AND next_at IS NOT NULL ORDER BY next_at, id LIMIT 1"
)
WAITING = (
    f"SELECT {COLUMNS}, f.due_at, f.run FROM firings f JOIN schedules s ON s.id = f.schedule"
    " WHERE f.ran_at IS NULL AND (f.due_at, f.run) > (?, ?) ORDER BY f.due_at, f.run LIMIT ?"
)
LISTED = (
    f"SELECT {COLUMNS}, f.due_at, f.run, f.ran_at, COALESCE(f.reason, t.state), o.state FROM schedules s"
    " LEFT JOIN firings f"
    "  ON f.seq = (SELECT seq FROM firings WHERE schedule = s.id ORDER BY seq DESC LIMIT 1)"
    " LEFT JOIN turns t ON t.run = f.run LEFT JOIN outbox o ON o.run = f.run"
)

decode_schedule = msgspec.json.Decoder(Schedule).decode


class Schedules:
    """Fulfils `bot.scheduler.scheduler.Schedules` and `bot.scheduler.planner.Book` on the database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, schedule: Schedule, *, per_chat: int, in_all: int) -> Schedule | None:
        """See `Book`."""

        def job(db: sqlite3.Connection) -> Schedule | None:
            of_chat, of_all = db.execute(
                "SELECT (SELECT COUNT(*) FROM schedules WHERE chat = ? AND next_at IS NOT NULL),"
                " (SELECT COUNT(*) FROM schedules WHERE next_at IS NOT NULL)",
                (schedule.chat,),
            ).fetchone()
            if of_chat >= per_chat or of_all >= in_all:
                return None
            (number,) = db.execute(
                "INSERT INTO schedule_numbers (chat, last) VALUES (?, 1)"
                " ON CONFLICT (chat) DO UPDATE SET last = last + 1 RETURNING last",
                (schedule.chat,),
            ).fetchone()
            numbered = replace(schedule, number=number)
            db.execute(
                "INSERT INTO schedules (id, chat, number, body, created_at, next_at, last_at, is_paused)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    numbered.id,
                    numbered.chat,
                    number,
                    encoder.encode(numbered),
                    numbered.created_at,
                    numbered.next_at,
                    numbered.last_at,
                    int(numbered.is_paused),
                ),
            )
            return numbered

        return await self._database.write(job)

    async def listed(self, chat: SessionKey | None, *, limit: int) -> list[Listed]:
        """See `Book`."""
        condition, values = ("", ()) if chat is None else (" WHERE s.chat = ?", (chat,))
        order = " ORDER BY s.next_at IS NULL, s.is_paused, s.next_at, s.last_at DESC, s.id LIMIT ?"

        def job(db: sqlite3.Connection) -> list[Listed]:
            rows = db.execute(LISTED + condition + order, (*values, limit))
            return [Listed(schedule=_schedule(row), last=_firing(row[6:])) for row in rows]

        return await self._database.read(job)

    async def find(self, chat: SessionKey, number: int) -> Schedule | None:
        """See `Book`."""

        def job(db: sqlite3.Connection) -> Schedule | None:
            row = db.execute(
                f"SELECT {COLUMNS} FROM schedules s WHERE chat = ? AND number = ?", (chat, number)
            ).fetchone()
            return _schedule(row) if row else None

        return await self._database.read(job)

    async def plan(self, schedule: Schedule) -> bool:
        """See `Book`."""

        def job(db: sqlite3.Connection) -> bool:
            changed = db.execute(
                "UPDATE schedules SET next_at = ?, is_paused = ? WHERE id = ? AND next_at IS NOT NULL",
                (schedule.next_at, int(schedule.is_paused), schedule.id),
            )
            if schedule.is_paused:
                db.execute("DELETE FROM firings WHERE schedule = ? AND ran_at IS NULL", (schedule.id,))
            return changed.rowcount == 1

        return await self._database.write(job)

    async def delete(self, schedule: Schedule) -> bool:
        """See `Book`."""

        def job(db: sqlite3.Connection) -> bool:
            db.execute("DELETE FROM firings WHERE schedule = ?", (schedule.id,))
            return db.execute("DELETE FROM schedules WHERE id = ?", (schedule.id,)).rowcount == 1

        return await self._database.write(job)

    async def due(self, now: float, *, limit: int) -> list[Schedule]:
        """See `Schedules`."""
        return await self._database.read(lambda db: [_schedule(row) for row in db.execute(DUE, (now, limit))])

    async def next_due(self) -> float | None:
        """See `Schedules`."""

        def job(db: sqlite3.Connection) -> float | None:
            row = db.execute(NEXT_DUE).fetchone()
            return row[0] if row else None

        return await self._database.read(job)

    async def claim(self, claims: Sequence[Claim], *, now: float) -> None:
        """See `Schedules`."""

        def job(db: sqlite3.Connection) -> None:
            for claim in claims:
                _claim(db, claim, now)

        await self._database.write(job)

    async def waiting(
        self, *, after: tuple[Schedule, Firing] | None, limit: int
    ) -> list[tuple[Schedule, Firing]]:
        """See `Schedules`."""
        place = (after[1].due_at, after[1].run) if after else (float("-inf"), "")

        def job(db: sqlite3.Connection) -> list[tuple[Schedule, Firing]]:
            rows = db.execute(WAITING, (*place, limit))
            return [(_schedule(row), Firing(due_at=row[6], run=row[7])) for row in rows]

        return await self._database.read(job)

    async def note_ran(self, runs: Sequence[RunId], *, now: float) -> None:
        """See `Schedules`."""
        await self._database.write(
            lambda db: db.executemany(
                "UPDATE firings SET ran_at = ? WHERE run = ?", [(now, run) for run in runs]
            )
        )

    async def note_end(self, run: RunId, reason: EndReason) -> None:
        """See `Schedules`."""
        await self._database.write(
            lambda db: db.execute("UPDATE firings SET reason = ? WHERE run = ?", (reason, run))
        )

    async def from_the_future(self, moment: float) -> list[Schedule]:
        """See `Schedules`."""

        def job(db: sqlite3.Connection) -> list[Schedule]:
            rows = db.execute(
                f"SELECT {COLUMNS} FROM schedules s"
                " WHERE next_at IS NOT NULL AND (created_at > ? OR last_at > ?)",
                (moment, moment),
            )
            return [_schedule(row) for row in rows]

        return await self._database.read(job)

    async def replan(self, schedules: Sequence[Schedule], *, now: float) -> None:
        """See `Schedules`."""

        def job(db: sqlite3.Connection) -> None:
            db.executemany(
                "UPDATE schedules SET next_at = ?, created_at = MIN(created_at, ?), last_at = MIN(last_at, ?)"
                " WHERE id = ?",
                [(one.next_at, now, now, one.id) for one in schedules],
            )

        await self._database.write(job)


def _claim(db: sqlite3.Connection, claim: Claim, now: float) -> None:
    schedule = claim.schedule
    claimed = db.execute(
        "UPDATE schedules SET next_at = ?, last_at = ? WHERE id = ? AND next_at = ? AND is_paused = 0",
        (claim.next_at, now, schedule.id, schedule.next_at),
    )
    if claimed.rowcount != 1:  # it was changed since it was read
        return
    db.execute(
        "INSERT INTO firings (schedule, due_at, run) SELECT ?, ?, ?"
        " WHERE NOT EXISTS (SELECT 1 FROM firings WHERE schedule = ? AND ran_at IS NULL)"
        " ON CONFLICT (schedule, due_at) DO NOTHING",
        (schedule.id, schedule.next_at, claim.run, schedule.id),
    )
    db.execute(
        "DELETE FROM firings WHERE schedule = ? AND ran_at IS NOT NULL AND seq <="
        " (SELECT seq FROM firings WHERE schedule = ? ORDER BY seq DESC LIMIT 1 OFFSET ?)",
        (schedule.id, schedule.id, KEPT_FIRINGS),
    )
    if claim.next_at is None:
        _forget_old(db, schedule.chat)


def _forget_old(db: sqlite3.Connection, chat: SessionKey) -> None:
    """Keep the newest of the schedules of a chat that are over, and those still to be handed in."""
    old = db.execute(
        "SELECT id FROM schedules WHERE chat = ? AND next_at IS NULL"
        " AND NOT EXISTS (SELECT 1 FROM firings WHERE schedule = id AND ran_at IS NULL)"
        " ORDER BY last_at DESC, number DESC LIMIT -1 OFFSET ?",
        (chat, KEPT_OVER),
    ).fetchall()
    for table, column in (("firings", "schedule"), ("schedules", "id")):
        db.executemany(f"DELETE FROM {table} WHERE {column} = ?", old)


def _schedule(row: Row) -> Schedule:
    """Make a schedule of the columns `COLUMNS`."""
    body, number, created_at, next_at, last_at, is_paused = row[:6]
    return replace(
        decode_schedule(body),
        number=number,
        created_at=created_at,
        next_at=next_at,
        last_at=last_at,
        is_paused=bool(is_paused),
    )


def _firing(row: Row) -> Firing | None:
    due_at, run, ran_at, reason, outbox = row
    if run is None:
        return None
    delivery: Delivery = "open"
    if outbox == "failed":
        delivery = "failed"
    elif reason is not None and outbox is None:  # a confirmed answer has left the outbox
        delivery = "nothing" if reason == "silent" else "delivered"
    return Firing(due_at=due_at, run=run, ran_at=ran_at, reason=reason, delivery=delivery)
