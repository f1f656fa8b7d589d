"""Searches what was said in a session by its words."""

import sqlite3
from collections.abc import Sequence

from bot.messages import SessionKey, StoredMessage
from memory.database import Database
from memory.rows import LINE, line_from

SEARCHED = 5_000  # newest lines of a session


class Recall:
    """Fulfils `bot.tools.recall.Lines` on the database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def search(self, session: SessionKey, words: Sequence[str], limit: int) -> list[StoredMessage]:
        """See the protocol."""

        def job(db: sqlite3.Connection) -> list[StoredMessage]:
            rows = db.execute(
                "SELECT number, text FROM messages WHERE session = ? AND in_context = 1"
                " ORDER BY number DESC LIMIT ?",
                (session, SEARCHED),
            )
            scores = ((_score(text, words), number) for number, text in rows)
            best = sorted((scored for scored in scores if scored[0] > 0), reverse=True)[:limit]
            return [_line(db, session, number) for _, number in best]

        return await self._database.read(job)


def _score(text: str, words: Sequence[str]) -> int:
    """How many of the words a text has."""
    folded = text.casefold()
    return sum(word in folded for word in words)


def _line(db: sqlite3.Connection, session: SessionKey, number: int) -> StoredMessage:
    row = db.execute(f"SELECT {LINE} FROM messages WHERE session = ? AND number = ?", (session, number))
    return line_from(row.fetchone())
