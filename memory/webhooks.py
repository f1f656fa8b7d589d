"""Outgoing webhooks: who is told of what, and the letters on their way."""

import sqlite3
import time
from collections.abc import Sequence
from secrets import token_hex
from typing import Final

from bot.web.api.base import DeadLetter, Webhook
from bot.webhooks import Letter, NewLetter
from memory.database import Database
from memory.rows import Row

WEBHOOK: Final = "id, url, events, created_at"
LETTER: Final = "l.id, l.webhook, w.url, l.event, l.body, l.tries"
KEPT_DEAD: Final = 1_000  # of one webhook; the newest


class WebhookBook:
    """Fulfils `bot.webhooks.Book` on the database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def all(self) -> list[Webhook]:
        """See the protocol."""
        statement = f"SELECT {WEBHOOK} FROM webhooks ORDER BY created_at, id"
        return await self._database.read(lambda db: [_webhook(row) for row in db.execute(statement)])

    async def add(self, url: str, events: Sequence[str], *, most: int) -> Webhook | None:
        """See the protocol."""
        webhook = Webhook(id=token_hex(6), url=url, events=tuple(events), created_at=time.time())

        def job(db: sqlite3.Connection) -> Webhook | None:
            (count,) = db.execute("SELECT COUNT(*) FROM webhooks").fetchone()
            if count >= most:
                return None
            db.execute(
                f"INSERT INTO webhooks ({WEBHOOK}) VALUES (?, ?, ?, ?)",
                (webhook.id, url, " ".join(events), webhook.created_at),
            )
            return webhook

        return await self._database.write(job)

    async def remove(self, id_: str) -> bool:
        """See the protocol."""

        def job(db: sqlite3.Connection) -> bool:
            db.execute("DELETE FROM webhook_letters WHERE webhook = ?", (id_,))
            return db.execute("DELETE FROM webhooks WHERE id = ?", (id_,)).rowcount == 1

        return await self._database.write(job)

    async def post(self, letters: Sequence[NewLetter], *, most: int) -> int:
        """See the protocol."""
        now = time.time()

        def job(db: sqlite3.Connection) -> int:
            dropped = 0
            for letter in letters:
                posted = db.execute(
                    "INSERT INTO webhook_letters (id, webhook, event, body, next_at, created_at)"
                    " SELECT ?, id, ?, ?, ?, ? FROM webhooks WHERE id = ?"
                    " AND (SELECT COUNT(*) FROM webhook_letters WHERE webhook = ? AND state = 'waiting') < ?",
                    (letter.id, letter.event, letter.body, now, now, letter.webhook, letter.webhook, most),
                )
                dropped += posted.rowcount == 0
            return dropped

        return await self._database.write(job)

    async def due(self, webhook: str, now: float, *, limit: int) -> list[Letter]:
        """See the protocol."""

        def job(db: sqlite3.Connection) -> list[Letter]:
            rows = db.execute(
                f"SELECT {LETTER} FROM webhook_letters l JOIN webhooks w ON w.id = l.webhook"
                " WHERE l.webhook = ? AND l.state = 'waiting' AND l.next_at <= ?"
                " ORDER BY l.next_at, l.id LIMIT ?",
                (webhook, now, limit),
            )
            return [Letter(*row) for row in rows]

        return await self._database.read(job)

    async def next_due(self, webhook: str) -> float | None:
        """See the protocol."""

        def job(db: sqlite3.Connection) -> float | None:
            found = db.execute(
                "SELECT MIN(next_at) FROM webhook_letters WHERE webhook = ? AND state = 'waiting'", (webhook,)
            ).fetchone()
            next_at: float | None = found[0]
            return next_at

        return await self._database.read(job)

    async def taken(self, id_: str) -> None:
        """See the protocol."""
        await self._database.write(lambda db: db.execute("DELETE FROM webhook_letters WHERE id = ?", (id_,)))

    async def failed(self, letter: Letter, error: str, *, next_at: float | None) -> None:
        """See the protocol."""
        state = "dead" if next_at is None else "waiting"

        def job(db: sqlite3.Connection) -> None:
            db.execute(
                "UPDATE webhook_letters SET tries = tries + 1, error = ?, state = ?, next_at = ?"
                " WHERE id = ?",
                (error, state, next_at or 0.0, letter.id),
            )
            if next_at is None:
                db.execute(
                    "DELETE FROM webhook_letters WHERE webhook = ? AND state = 'dead' AND id NOT IN"
                    " (SELECT id FROM webhook_letters WHERE webhook = ? AND state = 'dead'"
                    "  ORDER BY id DESC LIMIT ?)",
                    (letter.webhook, letter.webhook, KEPT_DEAD),
                )

        await self._database.write(job)

    async def dead(self, *, limit: int) -> list[DeadLetter]:
        """See the protocol."""

        def job(db: sqlite3.Connection) -> list[DeadLetter]:
            rows = db.execute(
                "SELECT id, webhook, event, tries, error, created_at FROM webhook_letters"
                " WHERE state = 'dead' ORDER BY id DESC LIMIT ?",
                (limit,),
            )
            return [_dead(row) for row in rows]

        return await self._database.read(job)

    async def revive(self, id_: str) -> bool:
        """See the protocol."""

        def job(db: sqlite3.Connection) -> bool:
            changed = db.execute(
                "UPDATE webhook_letters SET state = 'waiting', tries = 0, next_at = ?"
                " WHERE id = ? AND state = 'dead'",
                (time.time(), id_),
            )
            return changed.rowcount == 1

        return await self._database.write(job)


def _webhook(row: Row) -> Webhook:
    id_, url, events, created_at = row
    return Webhook(id=id_, url=url, events=tuple(events.split()), created_at=created_at)


def _dead(row: Row) -> DeadLetter:
    id_, webhook, event, tries, error, created_at = row
    return DeadLetter(id=id_, webhook=webhook, event=event, tries=tries, error=error, created_at=created_at)
