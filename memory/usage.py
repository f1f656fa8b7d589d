"""What the turns have used, added up."""

import sqlite3
import time
from collections.abc import Sequence

from bot.commands.usage import Used
from bot.messages import SessionKey
from memory.database import Database

DAY = 86_400.0
SUMS = (
    "COALESCE(model, ''), COUNT(*), SUM(prompt_tokens), SUM(completion_tokens), SUM(cached_tokens)"
    " FROM turns WHERE (prompt_tokens > 0 OR completion_tokens > 0)"
)


class Usage:
    """Fulfils `bot.commands.usage.Usage` on the database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of_session(self, session: SessionKey) -> list[Used]:
        """See the protocol."""
        return await self._sum("session = ?", [session])

    async def of_chat(self, chat: SessionKey, *, since: float) -> list[Used]:
        """See the protocol."""
        sessions = "SELECT session FROM chat_sessions WHERE chat = ?"
        return await self._sum(
            f"started_at >= ? AND (session = ? OR session IN ({sessions}))", [since, chat, chat]
        )

    async def of_all(self, *, since: float) -> list[Used]:
        """See the protocol."""
        return await self._sum("started_at >= ? AND run >= ?", [since, _first_run(since - DAY)])

    async def _sum(self, condition: str, values: Sequence[object]) -> list[Used]:
        def job(db: sqlite3.Connection) -> list[Used]:
            rows = db.execute(f"SELECT {SUMS} AND {condition} GROUP BY 1 ORDER BY 3 DESC", tuple(values))
            return [
                Used(model=model, turns=turns, prompt=prompt, completion=completion, cached=cached)
                for model, turns, prompt, completion, cached in rows
            ]

        return await self._database.read(job)


def _first_run(at: float) -> str:
    """Sorts before every run accepted after a time: their ids begin with it (see `new_id`)."""
    millis = f"{int(max(0.0, min(at, time.time())) * 1000):012x}"
    return f"{millis[:8]}-{millis[8:]}"
