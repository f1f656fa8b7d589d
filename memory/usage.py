"""What model calls have used, added up by day, person, channel, session and model."""

import sqlite3
from collections.abc import Sequence

from bot.agent.accounts import Amount, Scope
from bot.agent.store import Spent, TurnRecord
from bot.commands.usage import Used
from bot.messages import End, SessionKey
from memory.database import Database
from memory.many import write_rows

SUMS = "SUM(calls), SUM(prompt), SUM(completion), SUM(cached), SUM(cost) FROM usage"
CHAT_SESSIONS = "SELECT session FROM chat_sessions WHERE chat = ?"
ADD_SPENT = (
    "INSERT INTO usage (day, person, channel, session, model, calls, prompt, completion, cached, cost)"
    " VALUES {marks} ON CONFLICT (day, person, channel, session, model) DO UPDATE SET"
    " calls = usage.calls + excluded.calls, prompt = usage.prompt + excluded.prompt,"
    " completion = usage.completion + excluded.completion, cached = usage.cached + excluded.cached,"
    " cost = usage.cost + excluded.cost"
)
ADD_TURNS = (
    "INSERT INTO turns (run, session, state, attempt, model, prompt_tokens, completion_tokens, cached_tokens,"
    " reference, started_at, first_chunk_at, ended_at) VALUES {marks}"
)


class Usage:
    """Fulfils `bot.agent.accounts.Books` and `bot.commands.usage.Usage` on the database.

    Days compare as texts, for they are written with the year first.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def used(self, scopes: Sequence[Scope]) -> Sequence[Amount]:
        """See `Books`."""
        return await self._database.read(lambda db: [_amount(db, scope) for scope in scopes])

    async def add(self, spent: Sequence[Spent]) -> None:
        """See `Books`."""
        await self._database.write(lambda db: add_spent(db, spent))

    async def of_session(self, session: SessionKey) -> list[Used]:
        """See `bot.commands.usage.Usage`; the rest too."""
        return await self._by("model", "session = ?", [session])

    async def of_person(self, person: str, *, since: str) -> list[Used]:
        return await self._by("model", "day >= ? AND person = ?", [since, person])

    async def of_chat(self, chat: SessionKey, *, since: str) -> list[Used]:
        condition = f"day >= ? AND (session = ? OR session IN ({CHAT_SESSIONS}))"
        return await self._by("model", condition, [since, chat, chat])

    async def by_model(self, *, since: str) -> list[Used]:
        return await self._by("model", "day >= ?", [since])

    async def by_person(self, *, since: str, limit: int) -> list[Used]:
        return await self._by("person", "day >= ?", [since], limit=limit)

    async def by_channel(self, *, since: str) -> list[Used]:
        return await self._by("channel", "day >= ?", [since])

    async def by_day(self, *, since: str, limit: int) -> list[Used]:
        return await self._by("day", "day >= ?", [since], order="day DESC", limit=limit)

    async def _by(
        self,
        column: str,
        condition: str,
        values: Sequence[object],
        *,
        order: str = "SUM(prompt + completion) DESC, 1",
        limit: int = -1,
    ) -> list[Used]:
        """Sums, one for each value of a column."""

        def job(db: sqlite3.Connection) -> list[Used]:
            rows = db.execute(
                f"SELECT {column}, {SUMS} WHERE {condition} GROUP BY {column} ORDER BY {order} LIMIT ?",
                (*values, limit),
            )
            return [
                Used(name=name, calls=calls, prompt=prompt, completion=completion, cached=cached, cost=cost)
                for name, calls, prompt, completion, cached, cost in rows
            ]

        return await self._database.read(job)


def _amount(db: sqlite3.Connection, scope: Scope) -> Amount:
    """What was used in a scope: of a day by somebody, or by a session ever."""
    conditions: dict[str, str] = {} if scope.kind == "all" else {scope.kind: scope.name}
    if scope.day is not None:
        conditions["day"] = scope.day
    tests = " AND ".join(f"{column} = ?" for column in conditions)
    tokens, cost = db.execute(
        f"SELECT COALESCE(SUM(prompt + completion), 0), COALESCE(SUM(cost), 0) FROM usage WHERE {tests}",
        tuple(conditions.values()),
    ).fetchone()
    return Amount(tokens, cost)


def add_spent(db: sqlite3.Connection, spent: Sequence[Spent]) -> None:
    """Add what was used to the sums."""
    write_rows(db, ADD_SPENT, [_figures(line) for line in spent])


def _figures(line: Spent) -> tuple[object, ...]:
    return (
        line.day,
        line.person,
        line.channel,
        line.session,
        line.model,
        line.calls,
        line.prompt,
        line.completion,
        line.cached,
        line.cost,
    )


def add_turns(db: sqlite3.Connection, turns: Sequence[tuple[End, TurnRecord]]) -> None:
    """Write down how turns went."""
    write_rows(db, ADD_TURNS, [_course(end, record) for end, record in turns])


def _course(end: End, record: TurnRecord) -> tuple[object, ...]:
    return (
        end.run,
        end.session,
        end.reason,
        end.attempt,
        record.model,
        record.prompt_tokens,
        record.completion_tokens,
        record.cached_tokens,
        end.reference,
        record.started_at,
        record.first_chunk_at,
        record.ended_at,
    )
