"""Small texts that an adapter keeps over a restart."""

import sqlite3

from memory.database import Database

LAST = "\U0010ffff"  # sorts behind every name


class State:
    """Fulfils `channels.base.State` on the database.

    Args:
        scope: Whose names these are: `channel:account`.
    """

    def __init__(self, database: Database, scope: str) -> None:
        self._database = database
        self._scope = scope

    async def get(self, name: str) -> str | None:
        """What was put under a name, if anything was."""

        def job(db: sqlite3.Connection) -> str | None:
            row = db.execute(
                "SELECT value FROM state WHERE scope = ? AND name = ?", (self._scope, name)
            ).fetchone()
            return row[0] if row else None

        return await self._database.read(job)

    async def put(self, name: str, value: str) -> None:
        """Keep a value, in place of the one before."""
        await self._database.write(
            lambda db: db.execute(
                "INSERT INTO state (scope, name, value) VALUES (?, ?, ?)"
                " ON CONFLICT (scope, name) DO UPDATE SET value = excluded.value",
                (self._scope, name, value),
            )
        )

    async def items(self, prefix: str) -> dict[str, str]:
        """Everything whose name begins so."""

        def job(db: sqlite3.Connection) -> dict[str, str]:
            rows = db.execute(
                "SELECT name, value FROM state WHERE scope = ? AND name >= ? AND name < ? ORDER BY name",
                (self._scope, prefix, prefix + LAST),
            )
            return dict(rows.fetchall())

        return await self._database.read(job)
