"""What a turn is given of what was said before it."""

import sqlite3

from bot.agent.store import Begun, Overheard
from bot.messages import SessionKey
from memory.ledger import kept_calls
from memory.rows import LINE, line_from
from memory.summaries import summary_of

MAX_ROUNDS = 20  # turns for which a tool call can stay in sight
# Without the name of the index, SQLite walks over all lines that the model must not see.
NEWEST = (
    f"SELECT {LINE} FROM messages INDEXED BY messages_in_context"
    " WHERE session = ? AND number > ? AND number < ? AND in_context = 1 ORDER BY number DESC LIMIT ?"
)


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
    rows = db.execute(NEWEST, (session, covered, before, history)).fetchall()
    lines = tuple(line_from(row) for row in reversed(rows))
    runs = list(dict.fromkeys(line.run for line in reversed(lines)))[:MAX_ROUNDS]
    return Begun(
        attempt=attempt,
        turns=turns,
        history=lines,
        summary=summary,
        overheard=overheard,
        kept_calls=kept_calls(db, runs) if runs else (),
    )
