"""What turns are given of what was said before them."""

import sqlite3
from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from bot.agent.compaction import Summary
from bot.agent.store import Begun, KeptCall, Overheard
from bot.agent.taint import decode_carried
from bot.messages import Frozen, RunId, SessionKey, StoredMessage
from bot.models.base import FunctionCall, ToolCall
from memory.many import marks, pieces

MAX_ROUNDS = 20  # turns for which a tool call can stay in sight
MAX_TAINTS = 1_000  # different ones that a summary stands for
# Lines of a session in sight; without the name of the index, it walks over all that the model must not see.
IN_SIGHT = (
    "FROM messages INDEXED BY messages_in_context WHERE session = begun.session AND in_context = 1"
    " AND number < begun.before AND number > coalesce(begun.upto, 0)"
)
# All in one row; see `memory/many.py`.
BEFORE = (
    "WITH asked (place, session, run) AS (VALUES {marks}),"
    " begun AS MATERIALIZED (SELECT place, asked.session AS session, coalesce(turns, 0) AS turns,"
    " coalesce((SELECT number FROM messages WHERE run = asked.run AND role = 'user'),"
    " coalesce(messages, 0) + 1) AS before,"
    " (SELECT upto FROM summaries WHERE session = asked.session) AS upto"
    " FROM asked LEFT JOIN sessions ON sessions.session = asked.session ORDER BY place)"
    " SELECT json_group_array(json_array(turns,"
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


class Before(msgspec.Struct, frozen=True, array_like=True):
    """What the store has of one session; `lines` with the taint of each, `covered` the taints before them."""

    turns: int
    summary: KeptSummary | None
    lines: list[tuple[StoredMessage, str]]
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


def read_contexts(db: sqlite3.Connection, openings: Sequence[Opening]) -> list[Begun]:
    """The beginnings of turns: the newest lines behind the summary, and the tool calls still in sight."""
    found: list[Begun] = []
    for some in pieces(openings):
        history = some[0].history
        if any(opening.history != history for opening in some):
            found += [begun for opening in some for begun in read_contexts(db, [opening])]
            continue
        asked = [value for place, each in enumerate(some) for value in (place, each.session, each.run)]
        (answer,) = db.execute(
            BEFORE.format(marks=marks(len(some), 3)), (*asked, history, history)
        ).fetchone()
        found += [before.opened(opening) for before, opening in zip(_decode(answer), some, strict=True)]
    return found
