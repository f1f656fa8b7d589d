"""Messages that the safety check has held back, and what admins decided about them."""

import sqlite3
import time
from collections.abc import Sequence
from datetime import UTC, datetime

from bot.commands.release import Blocked
from bot.messages import RunId, decode_inbound, encoder
from memory.database import Database
from memory.rows import Row

MOST = 1_000
KEEP = 30 * 86_400.0  # seconds; no longer than the journal keeps the dedupe keys of what was released
COLUMNS = "reference, message, level, reasons, at, state, released_run"
SEPARATOR = "\x1f"


class BlockedMessages:
    """Fulfils `bot.commands.release.Shelf` and the shelf of `security/guardian`; keeps the newest."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(self, blocked: Blocked) -> None:
        """Hold a message back, and keep it out of what the model reads later; the same again does nothing."""
        message = blocked.message

        def job(db: sqlite3.Connection) -> None:
            db.execute(
                "INSERT INTO blocked (run, reference, message, level, reasons, at) VALUES (?, ?, ?, ?, ?, ?)"
                " ON CONFLICT DO NOTHING",
                (
                    message.run,
                    blocked.reference,
                    encoder.encode(message),
                    blocked.level,
                    SEPARATOR.join(blocked.reasons),
                    blocked.at.timestamp(),
                ),
            )
            db.execute("UPDATE messages SET in_context = 0 WHERE run = ? AND role = 'user'", (message.run,))
            _forget_old(db)

        await self._database.write(job)

    async def waiting(self, *, limit: int, within: str = "") -> Sequence[Blocked]:
        """See the protocol."""

        def job(db: sqlite3.Connection) -> list[Blocked]:
            rows = db.execute(
                f"SELECT {COLUMNS} FROM blocked WHERE state = 'blocked' AND at > ?"
                " ORDER BY at DESC, run DESC LIMIT ?",
                (time.time() - KEEP, MOST),
            )
            every = (_blocked(row) for row in rows)
            fit = [one for one in every if f"{one.message.address.session()}:".startswith(within)]
            return fit[:limit]

        return await self._database.read(job)

    async def find(self, reference: str) -> Blocked | None:
        """See the protocol."""
        return await self._database.read(lambda db: _find(db, reference))

    async def release(self, reference: str, run: RunId) -> Blocked | None:
        """See the protocol."""

        def job(db: sqlite3.Connection) -> Blocked | None:
            db.execute(
                "UPDATE blocked SET state = 'released', released_run = ?"
                " WHERE reference = ? AND state = 'blocked'",
                (run, reference),
            )
            found = _find(db, reference)
            return found if found is not None and found.state == "released" else None

        return await self._database.write(job)

    async def drop(self, reference: str) -> bool:
        """See the protocol."""

        def job(db: sqlite3.Connection) -> bool:
            changed = db.execute(
                "DELETE FROM blocked WHERE reference = ? AND state = 'blocked'", (reference,)
            )
            return changed.rowcount > 0

        return await self._database.write(job)

    async def is_released(self, run: RunId) -> bool:
        """Whether an admin has let this run."""

        def job(db: sqlite3.Connection) -> bool:
            return db.execute("SELECT 1 FROM blocked WHERE released_run = ?", (run,)).fetchone() is not None

        return await self._database.read(job)


def _find(db: sqlite3.Connection, reference: str) -> Blocked | None:
    row = db.execute(
        f"SELECT {COLUMNS} FROM blocked WHERE reference = ? AND at > ?", (reference, time.time() - KEEP)
    ).fetchone()
    return _blocked(row) if row else None


def _blocked(row: Row) -> Blocked:
    reference, message, level, reasons, at, state, released = row
    return Blocked(
        reference=reference,
        message=decode_inbound(message),
        level=level,
        reasons=tuple(part for part in reasons.split(SEPARATOR) if part),
        at=datetime.fromtimestamp(at, UTC),
        state=state,
        released=released,
    )


def _forget_old(db: sqlite3.Connection) -> None:
    db.execute("DELETE FROM blocked WHERE at <= ?", (time.time() - KEEP,))
    db.execute(
        "DELETE FROM blocked WHERE run IN"
        " (SELECT run FROM blocked ORDER BY at DESC, run DESC LIMIT -1 OFFSET ?)",
        (MOST,),
    )
