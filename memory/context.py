"""What a turn is given of what was said before it."""

import sqlite3
from datetime import UTC, datetime
from typing import Literal

import msgspec

from bot.agent.compaction import Summary
from bot.agent.store import Begun, KeptCall, Overheard
from bot.agent.taint import decode_carried
from bot.messages import MessageId, RunId, SessionKey, StoredMessage
from bot.models.base import FunctionCall, ToolCall
from memory.rows import answer_id

MAX_ROUNDS = 20  # turns for which a tool call can stay in sight
MAX_TAINTS = 1_000  # different ones that a summary stands for
# All in one row: SQLite lets go of the interpreter at each row of each statement, and under load it takes up
# to a switch interval to get it back. Without the name of the index, it walks over all lines that the model
# must not see.
BEFORE = (
    "WITH summary AS (SELECT upto, text, tokens, at FROM summaries WHERE session = :session),"
    " newest AS MATERIALIZED (SELECT number, run, role, speaker, text, at, taint"
    " FROM messages INDEXED BY messages_in_context"
    " WHERE session = :session AND in_context = 1 AND number < :before"
    " AND number > coalesce((SELECT upto FROM summary), 0) ORDER BY number DESC LIMIT :history)"
    " SELECT json_array((SELECT json_array(upto, text, tokens, at) FROM summary),"
    " (SELECT json_group_array(json_array(number, run, role, speaker, text, at, taint)) FROM newest),"
    " (SELECT json_group_array(json_array(run, call_id, name, arguments, result, rounds))"
    " FROM (SELECT * FROM tool_calls INDEXED BY tool_calls_in_sight"
    " WHERE rounds > 0 AND state IN ('ok', 'error') AND run IN"
    " (SELECT run FROM newest GROUP BY run ORDER BY max(number) DESC LIMIT :rounds)"
    " ORDER BY run, started_at)),"
    " (SELECT json_group_array(taint) FROM (SELECT DISTINCT taint FROM messages INDEXED BY messages_tainted"
    " WHERE session = :session AND taint <> '' AND number <= (SELECT upto FROM summary) LIMIT :taints)))"
)


class Line(msgspec.Struct, frozen=True, array_like=True):
    """What a prompt needs of a line of history."""

    number: int
    run: RunId
    role: Literal["user", "assistant"]
    speaker: str
    text: str
    at: float
    taint: str

    def whole(self) -> StoredMessage:
        """The line as others know it."""
        return StoredMessage(
            number=self.number,
            id=MessageId(self.run) if self.role == "user" else answer_id(self.run),
            run=self.run,
            role=self.role,
            speaker=self.speaker,
            text=self.text,
            at=datetime.fromtimestamp(self.at, UTC),
        )


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


_decode = msgspec.json.Decoder(tuple[KeptSummary | None, list[Line], list[Call], list[str]]).decode


def read_context(
    db: sqlite3.Connection,
    session: SessionKey,
    *,
    before: int,
    history: int,
    turns: int,
    attempt: int = 0,
    overheard: tuple[Overheard, ...] = (),
) -> Begun:
    """The beginning of a turn: the newest lines behind the summary, and the tool calls still in sight.

    Args:
        before: Number of the message that the turn answers; what comes behind it is not read.
        history: The most lines.
        turns, attempt, overheard: See `Begun`.
    """
    asked = {
        "session": session,
        "before": before,
        "history": history,
        "rounds": MAX_ROUNDS,
        "taints": MAX_TAINTS,
    }
    (found,) = db.execute(BEFORE, asked).fetchone()
    summary, lines, calls, covered = _decode(found)
    taints = sorted({line.taint for line in lines}.union(covered) - {""})
    return Begun(
        attempt=attempt,
        turns=turns,
        history=tuple(line.whole() for line in sorted(lines, key=_number)),
        summary=None if summary is None else summary.whole(),
        overheard=overheard,
        kept_calls=tuple(call.whole() for call in calls),
        carried=tuple(one for taint in taints if (one := decode_carried(taint)) is not None),
    )


def _number(line: Line) -> int:
    return line.number
