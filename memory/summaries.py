"""The summaries of sessions, one each."""

import sqlite3
from datetime import UTC, datetime

from bot.agent.compaction import Summary
from bot.messages import SessionKey, StoredMessage
from memory.database import Database
from memory.rows import LINE, line_from


class Summaries:
    """Fulfils `bot.commands.compaction.Summaries` on the database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of(self, session: SessionKey) -> Summary | None:
        """See the protocol."""
        return await self._database.read(lambda db: summary_of(db, session))

    async def after(self, session: SessionKey, number: int, *, limit: int) -> list[StoredMessage]:
        """See the protocol."""

        def job(db: sqlite3.Connection) -> list[StoredMessage]:
            rows = db.execute(
                f"SELECT {LINE} FROM messages WHERE session = ? AND number > ? AND in_context = 1"
                " ORDER BY number LIMIT ?",
                (session, number, limit),
            ).fetchall()
            return [line_from(row) for row in rows]

        return await self._database.read(job)

    async def keep(self, session: SessionKey, summary: Summary) -> bool:
        """See the protocol."""

        def job(db: sqlite3.Connection) -> bool:
            kept = db.execute(
                "INSERT INTO summaries (session, upto, text, tokens, at) SELECT ?, ?, ?, ?, ? WHERE EXISTS"
                " (SELECT 1 FROM messages WHERE session = ? AND number = ? AND in_context = 1)"
                " ON CONFLICT (session) DO UPDATE SET upto = excluded.upto, text = excluded.text,"
                " tokens = excluded.tokens, at = excluded.at WHERE excluded.upto >= summaries.upto",
                (
                    session,
                    summary.upto,
                    summary.text,
                    summary.tokens,
                    summary.at.timestamp(),
                    session,
                    summary.upto,
                ),
            )
            return kept.rowcount == 1

        return await self._database.write(job)

    async def drop(self, session: SessionKey) -> None:
        """Forget the summary of a session: what it covers is read again."""
        await self._database.write(lambda db: drop_summary(db, session))


def summary_of(db: sqlite3.Connection, session: SessionKey) -> Summary | None:
    """The summary of a session, inside of whatever transaction asks for it."""
    row = db.execute("SELECT upto, text, tokens, at FROM summaries WHERE session = ?", (session,)).fetchone()
    if row is None:
        return None
    upto, text, tokens, at = row
    return Summary(upto=upto, text=text, tokens=tokens, at=datetime.fromtimestamp(at, UTC))


def drop_summary(db: sqlite3.Connection, session: SessionKey, *, line: int | None = None) -> None:
    """Delete the summary of a session, by the transaction that changes what was said.

    Args:
        line: Only if it covers the line of this number.
    """
    db.execute(
        "DELETE FROM summaries WHERE session = ? AND upto >= ?", (session, line if line is not None else 0)
    )
