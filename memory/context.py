"""What turns are given of what was said before them."""

import sqlite3
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TypeAlias

import msgspec

from bot.agent.compaction import Summary
from bot.agent.store import Begun, KeptCall, Overheard
from bot.agent.taint import decode_carried
from bot.messages import Frozen, RunId, SessionKey, StoredMessage
from bot.models.base import FunctionCall, ToolCall
from memory.many import marks

MAX_ROUNDS = 20  # turns for which a tool call can stay in sight
MAX_TAINTS = 1_000  # different ones that a summary stands for
# Lines of a session in sight; without the name of the index, it walks over all that the model must not see.
IN_SIGHT = (
    "FROM messages INDEXED BY messages_in_context WHERE session = begun.session AND in_context = 1"
    " AND number < begun.before AND number > max(begun.since, coalesce(begun.upto, 0))"
)
# All in one row; see `memory/many.py`.
BEFORE = (
    "WITH asked (place, session, run, known) AS (VALUES {marks}),"
    " placed AS MATERIALIZED (SELECT place, asked.session AS session, known, coalesce(turns, 0) AS turns,"
    " coalesce((SELECT number FROM messages WHERE run = asked.run AND role = 'user'),"
    " coalesce(messages, 0) + 1) AS before,"
    " (SELECT upto FROM summaries WHERE session = asked.session) AS upto"
    " FROM asked LEFT JOIN sessions ON sessions.session = asked.session ORDER BY place),"
    " begun AS (SELECT *, iif(known < before, known, 0) AS since FROM placed)"
    " SELECT json_group_array(json_array(turns, before, since,"
    " (SELECT json_array(upto, text, tokens, at) FROM summaries WHERE session = begun.session),"
    " (SELECT json_group_array(json_array(json_object('number', number, 'id', id, 'run', run, 'role', role,"
    " 'speaker', speaker, 'text', text, 'at', at), taint)) FROM (SELECT * FROM"
    f" (SELECT * {IN_SIGHT} ORDER BY number DESC LIMIT ?) ORDER BY number)),"
    " (SELECT json_group_array(json_array(run, call_id, name, arguments, result, rounds))"
    " FROM (SELECT * FROM tool_calls INDEXED BY tool_calls_in_sight"
    " WHERE rounds > 0 AND state IN ('ok', 'error') AND run IN"
    f" (SELECT run FROM (SELECT run, number {IN_SIGHT} ORDER BY number DESC LIMIT ?)"
    f" GROUP BY run ORDER BY max(number) DESC LIMIT {MAX_ROUNDS}) ORDER BY run, started_at)),"
    " (SELECT json_group_array(taint) FROM (SELECT DISTINCT taint FROM messages INDEXED BY messages_tainted"
    f" WHERE session = begun.session AND taint <> '' AND number <= begun.upto LIMIT {MAX_TAINTS}))"
    ")) FROM begun"
)


class Opening(Frozen, frozen=True, kw_only=True):
    """A turn that begins.

    Attributes:
        run: Whose message it answers: what comes behind that is not read. `None` reads all there is.
        attempt, overheard: See `Begun`.
        history: The most lines.
    """

    session: SessionKey
    run: RunId | None
    history: int
    attempt: int = 0
    overheard: tuple[Overheard, ...] = ()


class KeptSummary(msgspec.Struct, frozen=True, array_like=True):
    """The summary of a session."""

    upto: int
    text: str
    tokens: int
    at: float

    def whole(self) -> Summary:
        """The summary as others know it."""
        at = datetime.fromtimestamp(self.at, UTC)
        return Summary(upto=self.upto, text=self.text, tokens=self.tokens, at=at)


class Call(msgspec.Struct, frozen=True, array_like=True):
    """A tool call that is still in sight."""

    run: RunId
    id: str
    name: str
    arguments: str
    result: str
    rounds: int

    def whole(self) -> KeptCall:
        """The call as others know it."""
        call = ToolCall(id=self.id, function=FunctionCall(name=self.name, arguments=self.arguments))
        return KeptCall(run=self.run, call=call, result=self.result, rounds=self.rounds)


SeenLine: TypeAlias = tuple[StoredMessage, str]


class Before(msgspec.Struct, frozen=True, array_like=True):
    """What the store has of one session.

    Attributes:
        before: Number of the message to answer.
        since: Number of a line: what stands up to it was left out, as it is known.
        lines: Each with its taint.
        covered: The taints of the lines that the summary stands for.
    """

    turns: int
    before: int
    since: int
    summary: KeptSummary | None
    lines: list[SeenLine]
    calls: list[Call]
    covered: list[str]

    def opened(self, opening: Opening) -> Begun:
        """What the turn is given."""
        taints = sorted({taint for _, taint in self.lines}.union(self.covered) - {""})
        return Begun(
            attempt=opening.attempt,
            turns=self.turns,
            history=tuple([line for line, _ in self.lines]),
            summary=None if self.summary is None else self.summary.whole(),
            overheard=opening.overheard,
            kept_calls=tuple([call.whole() for call in self.calls]),
            carried=tuple([one for taint in taints if (one := decode_carried(taint)) is not None]),
        )


_decode = msgspec.json.Decoder(list[Before], strict=False).decode  # times are seconds since 1970


def asked(openings: Sequence[Opening], known: Sequence[int]) -> tuple[str, list[object]]:
    """`BEFORE` for some turns that read equally many lines, and its values.

    Args:
        known: For each the number of a line; what stands up to it is not read.
    """
    rows = [
        (place, opening.session, opening.run, number)
        for place, (opening, number) in enumerate(zip(openings, known, strict=True))
    ]
    history = openings[0].history
    values: list[object] = [value for row in rows for value in row]
    return BEFORE.format(marks=marks(len(rows), 4)), [*values, history, history]


def read_context(db: sqlite3.Connection, opening: Opening) -> Begun:
    """The beginning of a turn: the newest lines behind the summary, and the tool calls still in sight."""
    statement, values = asked([opening], [0])
    (answer,) = db.execute(statement, values).fetchone()
    (before,) = _decode(answer)
    return before.opened(opening)
