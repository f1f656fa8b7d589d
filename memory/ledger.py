"""Tool calls, written down before and after they run."""

import sqlite3
import time
from collections.abc import Sequence
from typing import Literal

from bot.agent.store import KeptCall
from bot.errors import Fenced
from bot.messages import RunId
from bot.models.base import FunctionCall, ToolCall
from memory.database import Database


def kept_calls(db: sqlite3.Connection, runs: Sequence[RunId]) -> tuple[KeptCall, ...]:
    """The calls of some turns that the model is to see for a while, oldest first."""
    marks = ", ".join("?" * len(runs))
    rows = db.execute(
        "SELECT run, call_id, name, arguments, result, rounds FROM tool_calls"
        f" WHERE rounds > 0 AND run IN ({marks}) AND state IN ('ok', 'error') ORDER BY run, started_at",
        tuple(runs),
    )
    return tuple(
        KeptCall(
            run=run,
            call=ToolCall(id=call_id, function=FunctionCall(name=name, arguments=arguments)),
            result=result,
            rounds=rounds,
        )
        for run, call_id, name, arguments, result, rounds in rows
    )


class ToolLedger:
    """Fulfils `bot.agent.store.ToolLedger` on the database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def tool_started(self, run: RunId, attempt: int, call: ToolCall) -> bool:
        """See the protocol."""

        def job(db: sqlite3.Connection) -> bool:
            added = db.execute(
                "INSERT INTO tool_calls (run, call_id, attempt, name, arguments, state, started_at)"
                " SELECT run, ?, attempts, ?, ?, 'running', ? FROM journal"
                " WHERE run = ? AND attempts = ? AND state = 'running'"
                # some servers give every call of a turn the same id
                " ON CONFLICT (run, attempt, call_id) DO UPDATE SET name = excluded.name,"
                " arguments = excluded.arguments, state = 'running', result = NULL,"
                " started_at = excluded.started_at, ended_at = NULL",
                (call.id, call.function.name, call.function.arguments, time.time(), run, attempt),
            )
            if added.rowcount != 1:
                raise Fenced(f"run {run} is over, or goes on under another attempt")
            if attempt == 1:  # none before it that could have left something
                return True
            lost = db.execute(
                "SELECT 1 FROM tool_calls WHERE run = ? AND attempt < ? AND name = ? AND arguments = ?"
                " AND state = 'running'",
                (run, attempt, call.function.name, call.function.arguments),
            )
            return lost.fetchone() is None

        return await self._database.write(job)

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

        def job(db: sqlite3.Connection) -> None:
            db.execute(
                "UPDATE tool_calls SET state = ?, result = ?, rounds = ?, ended_at = ?"
                " WHERE run = ? AND attempt = ? AND call_id = ?",
                (status, result, rounds, time.time(), run, attempt, call.id),
            )

        await self._database.write(job)
