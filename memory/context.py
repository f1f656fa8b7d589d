"""What a turn is given of what was said before it."""

import sqlite3
from datetime import UTC, datetime
from typing import Literal

import msgspec

from bot.agent.store import Begun, Overheard
from bot.messages import MessageId, RunId, SessionKey, StoredMessage
from memory.ledger import kept_calls
from memory.rows import answer_id
from memory.summaries import summary_of

MAX_ROUNDS = 20  # turns for which a tool call can stay in sight
# One row for all lines: SQLite lets go of the interpreter at each row, and under load it takes up to a switch
# interval to get it back. Without the name of the index, it walks over all lines that the model must not see.
NEWEST = (
    "SELECT json_group_array(json_array(number, run, role, speaker, text, at)) FROM"
    " (SELECT number, run, role, speaker, text, at FROM messages INDEXED BY messages_in_context"
    " WHERE session = ? AND number > ? AND number < ? AND in_context = 1 ORDER BY number DESC LIMIT ?)"
)


class Line(msgspec.Struct, frozen=True, array_like=True):
    """What a prompt needs of a line of history."""

    number: int
    run: RunId
    role: Literal["user", "assistant"]
    speaker: str
    text: str
    at: float

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


_decode = msgspec.json.Decoder(list[Line]).decode


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
    summary = summary_of(db, session)
    covered = summary.upto if summary is not None else 0
    (found,) = db.execute(NEWEST, (session, covered, before, history)).fetchone()
    lines = tuple(line.whole() for line in sorted(_decode(found), key=_number))
    runs = list(dict.fromkeys(line.run for line in reversed(lines)))[:MAX_ROUNDS]
    return Begun(
        attempt=attempt,
        turns=turns,
        history=lines,
        summary=summary,
        overheard=overheard,
        kept_calls=kept_calls(db, runs) if runs else (),
    )


def _number(line: Line) -> int:
    return line.number
