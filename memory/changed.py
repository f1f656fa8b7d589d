"""Small facts that outlive a restart: settings changed while running, and how long the audit log is."""

import sqlite3
import time

from bot.adjusting import Changed
from memory.database import Database


class ChangedSettings:
    """Settings that an admin changed at run time."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def all(self) -> dict[str, str]:
        """Every changed setting with its value as it was written."""
        return await self._database.read(
            lambda db: dict(db.execute("SELECT name, value FROM changed_settings ORDER BY name"))
        )

    async def lines(self) -> list[Changed]:
        """The same, with who changed it and when."""
        statement = "SELECT name, value, changed_by, changed_at FROM changed_settings ORDER BY name"
        return await self._database.read(
            lambda db: [Changed(name, value, by, at) for name, value, by, at in db.execute(statement)]
        )

    async def change(self, name: str, value: str | None, *, by: str) -> None:
        """Keep a value; `None` goes back to the configured one."""

        def job(db: sqlite3.Connection) -> None:
            if value is None:
                db.execute("DELETE FROM changed_settings WHERE name = ?", (name,))
                return
            db.execute(
                "INSERT INTO changed_settings (name, value, changed_by, changed_at) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (name) DO UPDATE SET value = excluded.value,"
                " changed_by = excluded.changed_by, changed_at = excluded.changed_at",
                (name, value, by, time.time()),
            )

        await self._database.write(job)


class AuditPointer:
    """How many bytes of each audit file were written, so that a cut file is noticed."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def lengths(self) -> dict[str, int]:
        """Every audit file with the bytes it must have at least."""
        return await self._database.read(
            lambda db: dict(db.execute("SELECT file, length FROM audit_pointer"))
        )

    async def advance(self, file: str, count: int) -> None:
        """So many bytes more were written to the file."""

        def job(db: sqlite3.Connection) -> None:
            db.execute(
                "INSERT INTO audit_pointer (file, length) VALUES (?, ?)"
                " ON CONFLICT (file) DO UPDATE SET length = length + excluded.length",
                (file, count),
            )

        await self._database.write(job)
