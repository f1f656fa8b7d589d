"""Tool calls, written down before and after they run."""

import sqlite3
import time
from collections.abc import Sequence
from typing import Literal, NamedTuple

from bot.messages import RunId
from bot.models.base import ToolCall
from memory.closing import over
from memory.database import Database
from memory.many import write_rows
from memory.worker import Gathered

# Some servers give every call of a turn the same id: the last one stands.
BEGIN = (
    "INSERT INTO tool_calls (run, call_id, attempt, name, arguments, state, started_at)"
    " WITH begun (run, attempt, id, name, arguments, at) AS (VALUES {marks})"
    " SELECT begun.run, id, attempt, name, arguments, 'running', at FROM begun CROSS JOIN journal"
    " ON journal.run = begun.run AND journal.attempts = attempt AND journal.state = 'running' WHERE true"
    " ON CONFLICT (run, attempt, call_id) DO UPDATE SET name = excluded.name,"
    " arguments = excluded.arguments, state = 'running', result = NULL,"
    " started_at = excluded.started_at, ended_at = NULL"
)
END = (
    "UPDATE tool_calls SET state = ended.state, result = ended.result, rounds = ended.rounds,"
    " ended_at = ended.at"
    " FROM (WITH ended (run, attempt, id, state, result, rounds, at) AS (VALUES {marks})"
    " SELECT * FROM ended) AS ended"
    " WHERE tool_calls.run = ended.run AND tool_calls.attempt = ended.attempt"
    " AND tool_calls.call_id = ended.id"
)


class Begin(NamedTuple):
    """A call that begins."""

    run: RunId
    attempt: int
    id: str
    name: str
    arguments: str
    at: float


class Ending(NamedTuple):
    """A call that has ended."""

    run: RunId
    attempt: int
    id: str
    state: Literal["ok", "error"]
    result: str
    rounds: int
    at: float


class ToolLedger:
    """Fulfils `bot.agent.store.ToolLedger` on the database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def tool_started(self, run: RunId, attempt: int, call: ToolCall) -> bool:
        """See the protocol."""

        function = call.function
        begun = Begin(run, attempt, call.id, function.name, function.arguments, time.time())
        return await self._database.write(Gathered(_begin, begun))

    async def tool_ended(
        self,
        run: RunId,
        attempt: int,
        call: ToolCall,
        *,
        status: Literal["ok", "error"],
        result: str,
        rounds: int = 0,
    ) -> None:
        """See the protocol."""
        ended = Ending(run, attempt, call.id, status, result, rounds, time.time())
        await self._database.write(Gathered(_end, ended))


def _begin(db: sqlite3.Connection, calls: Sequence[Begin]) -> list[bool]:
    if write_rows(db, BEGIN, calls) != len(calls):
        raise over(calls[0].run)
    return [call.attempt == 1 or not _is_lost(db, call) for call in calls]


def _is_lost(db: sqlite3.Connection, call: Begin) -> bool:
    """Whether an earlier attempt began the same and never ended it."""
    found = db.execute(
        "SELECT 1 FROM tool_calls WHERE run = ? AND attempt < ? AND name = ? AND arguments = ?"
        " AND state = 'running'",
        (call.run, call.attempt, call.name, call.arguments),
    )
    return found.fetchone() is not None


def _end(db: sqlite3.Connection, calls: Sequence[Ending]) -> list[None]:
    write_rows(db, END, calls)
    return [None] * len(calls)
