"""How turns end in the store, many by the same statements."""

import sqlite3
import time
from collections.abc import Sequence

from bot.agent.store import TurnRecord
from bot.errors import Fenced
from bot.messages import End, Frozen, InboundMessage, RunId
from memory.many import write_rows
from memory.outbox import put_in_outbox
from memory.rows import answer_line, append_lines, user_line
from memory.usage import add_spent, add_turns

CLOSE = (
    "UPDATE journal SET state = 'done', message = x'', ended_at = now"
    " FROM (WITH closed (run, attempt, now) AS (VALUES {marks}) SELECT * FROM closed) AS closed"
    " WHERE journal.run = closed.run AND attempts = attempt AND state = 'running'"
)


class Ending(Frozen, frozen=True, kw_only=True):
    """A turn that is over; see `bot.agent.store.Journal.finish`."""

    end: End
    record: TurnRecord
    speaker: str
    has_outbox: bool
    in_context: bool = True
    absorbed: tuple[InboundMessage, ...] = ()


def finish(db: sqlite3.Connection, endings: Sequence[Ending]) -> list[None]:
    """Commit the answers, the history, the figures and the outbox.

    Raises:
        Fenced: One of the turns is over, or goes on under another attempt.
    """
    _close(db, [ending.end for ending in endings])
    lines = [
        user_line(message, in_context=ending.in_context)
        for ending in endings
        for message in ending.absorbed
        if close_waiting(db, message.run)  # one that was taken back is gone
    ]
    lines += [
        answer_line(each.end, each.speaker, in_context=each.in_context, carried=each.record.carried)
        for each in endings
        if each.end.text
    ]
    append_lines(db, lines)
    add_turns(db, [(ending.end, ending.record) for ending in endings if ending.in_context])
    add_spent(db, [spent for ending in endings for spent in ending.record.spent])
    for ending in endings:
        if ending.has_outbox and (_has_something(ending.end) or _is_shown(db, ending.end.run)):
            put_in_outbox(db, ending.end)
    return [None] * len(endings)


def _close(db: sqlite3.Connection, ends: Sequence[End]) -> None:
    now = time.time()
    if write_rows(db, CLOSE, [(end.run, end.attempt, now) for end in ends]) != len(ends):
        raise over(ends[0].run)


def over(run: RunId) -> Fenced:
    """What to raise for a run that is not ours any more."""
    return Fenced(f"run {run} is over, or goes on under another attempt")


def close_waiting(db: sqlite3.Connection, run: RunId) -> bool:
    """End a message that still waits, without a turn; False if it does not wait."""
    changed = db.execute(
        "UPDATE journal SET state = 'done', message = x'', ended_at = ? WHERE run = ? AND state = 'queued'",
        (time.time(), run),
    )
    return changed.rowcount == 1


def _has_something(end: End) -> bool:
    return end.reason != "silent" and bool(end.text or end.attachments)


def _is_shown(db: sqlite3.Connection, run: RunId) -> bool:
    """Whether a platform shows something of a run, which an answer without text has to take back."""
    return db.execute("SELECT 1 FROM deliveries WHERE run = ? LIMIT 1", (run,)).fetchone() is not None
