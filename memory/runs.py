"""Runs and sessions as the API shows them, and how much of what waits."""

import sqlite3

from msgspec.structs import replace

from bot.messages import RunId, SessionKey
from bot.metrics import Depth
from bot.web.api.base import RunState, RunStatus, SessionState
from memory.database import Database
from memory.rows import Row

LAST = "\U0010ffff"  # sorts behind every name
RUN = """\
SELECT COALESCE(j.session, t.session), j.state, t.state, j.accepted_at, COALESCE(t.started_at, j.started_at),
       COALESCE(t.ended_at, j.ended_at)
FROM (SELECT ? AS run) r LEFT JOIN journal j ON j.run = r.run LEFT JOIN turns t ON t.run = r.run"""
DEPTHS = """\
SELECT 'journal', substr(session, 1, instr(session, ':') - 1) AS channel, state, COUNT(*) FROM journal
WHERE state <> 'done' GROUP BY channel, state
UNION ALL
SELECT 'outbox', channel, state, COUNT(*) FROM outbox GROUP BY channel, state
UNION ALL
SELECT 'webhooks', 'api', state, COUNT(*) FROM webhook_letters GROUP BY state"""


class Runs:
    """Fulfils `bot.web.api.base.Runs` and `bot.metrics.Depths` on the database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(self, run: RunId) -> RunState | None:
        """See `Runs`."""

        def job(db: sqlite3.Connection) -> RunState | None:
            row = db.execute(RUN, (run,)).fetchone()
            if row[0] is None:
                return None
            answer = db.execute(
                "SELECT text, reason FROM messages WHERE run = ? AND role = 'assistant'"
                " ORDER BY number DESC LIMIT 1",
                (run,),
            ).fetchone()
            return _state(run, row, answer or ("", None))

        return await self._database.read(job)

    async def same(self, dedupe_key: str) -> RunId | None:
        """See `Runs`."""

        def job(db: sqlite3.Connection) -> RunId | None:
            row = db.execute("SELECT run FROM journal WHERE dedupe_key = ?", (dedupe_key,)).fetchone()
            return RunId(row[0]) if row else None

        return await self._database.read(job)

    async def sessions(self, *, prefix: str, before: float | None, limit: int) -> list[SessionState]:
        """See `Runs`."""

        def job(db: sqlite3.Connection) -> list[SessionState]:
            rows = db.execute(
                "SELECT session, title, messages, updated_at FROM sessions"
                " WHERE session >= ? AND session < ? AND updated_at < ? ORDER BY updated_at DESC LIMIT ?",
                (prefix, prefix + LAST, before if before is not None else float("inf"), limit),
            )
            return [
                SessionState(session=SessionKey(session), title=title, messages=messages, updated_at=at)
                for session, title, messages, at in rows
            ]

        return await self._database.read(job)

    async def depths(self) -> list[Depth]:
        """See `Depths`."""
        return await self._database.read(lambda db: [Depth(*row) for row in db.execute(DEPTHS)])


def _state(run: RunId, row: Row, answer: Row) -> RunState:
    session, state, outcome, accepted_at, started_at, ended_at = row
    text, reason = answer  # commands have no turn; how they ended stands in the history
    status: RunStatus = state if state in ("queued", "running", "parked") else outcome or reason or "done"
    known = RunState(run=run, session=SessionKey(session), status=status, accepted_at=accepted_at)
    if not known.is_over:
        return replace(known, started_at=started_at if status == "running" else None)
    return replace(known, started_at=started_at, ended_at=ended_at, text=text)
