"""What admins decided about people and chats, kept in the database and at hand in memory."""

import sqlite3
import time
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from msgspec.structs import replace

from bot.messages import Address
from memory.database import Database

CONVERSE = "converse"


class Rules:
    """Values by kind and subject; read from memory at every message, so `load` comes first."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._kept: dict[str, dict[str, str]] = {}

    async def load(self) -> None:
        """Read all rules; called when the store opens."""

        def job(db: sqlite3.Connection) -> list[tuple[str, str, str]]:
            return db.execute("SELECT kind, subject, value FROM rules ORDER BY kind, subject").fetchall()

        self._kept = {}
        for kind, subject, value in await self._database.read(job):
            self._kept.setdefault(kind, {})[subject] = value

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of which there are rules."""
        return tuple(sorted(kind for kind, rules in self._kept.items() if rules))

    def of(self, kind: str) -> Mapping[str, str]:
        """Every subject of a kind with its value."""
        return MappingProxyType(self._kept.get(kind, {}))

    async def change(self, changes: Sequence[tuple[str, str, str | None]], *, by: str) -> None:
        """Set values as (kind, subject, value), all or nothing; `None` takes one away."""

        def job(db: sqlite3.Connection) -> None:
            for kind, subject, value in changes:
                _write(db, kind, subject, value, by)

        await self._database.write(job)
        for kind, subject, value in changes:
            if value is None:
                self._kept.get(kind, {}).pop(subject, None)
            else:
                self._kept.setdefault(kind, {})[subject] = value

    def is_conversing(self, address: Address) -> bool:
        """Whether the bot takes part in a chat unasked; a thread that was not told does as its chat."""
        kept = self._kept.get(CONVERSE)
        if not kept:
            return False
        chat = replace(address, thread=None).session()
        return kept.get(address.session(), kept.get(chat)) == "on"

    async def converse(self, address: Address, *, is_on: bool, by: str) -> None:
        """Let the bot take part in a chat without being asked, or no more."""
        await self.change([(CONVERSE, address.session(), "on" if is_on else "off")], by=by)


def _write(db: sqlite3.Connection, kind: str, subject: str, value: str | None, by: str) -> None:
    if value is None:
        db.execute("DELETE FROM rules WHERE kind = ? AND subject = ?", (kind, subject))
        return
    db.execute(
        "INSERT INTO rules (kind, subject, value, changed_by, changed_at) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (kind, subject) DO UPDATE SET value = excluded.value,"
        " changed_by = excluded.changed_by, changed_at = excluded.changed_at",
        (kind, subject, value, by, time.time()),
    )
