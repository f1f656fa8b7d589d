"""Messages that were answered together: what each of them said."""

import sqlite3
from collections.abc import Sequence

from bot.messages import InboundMessage, RunId


def keep(db: sqlite3.Connection, kept: RunId, burst: Sequence[InboundMessage]) -> None:
    """Remember the messages that one run answers; one of them may stand for a burst itself."""
    single = [message for message in burst if not _is_burst(db, message.run)]
    for message in burst:
        db.execute("UPDATE bursts SET kept = ? WHERE kept = ?", (kept, message.run))
    for message in single:
        db.execute("INSERT INTO bursts (run, kept, text) VALUES (?, ?, ?)", (message.run, kept, message.text))


def _is_burst(db: sqlite3.Connection, run: RunId) -> bool:
    return db.execute("SELECT 1 FROM bursts WHERE kept = ? LIMIT 1", (run,)).fetchone() is not None


def amend(db: sqlite3.Connection, run: RunId, text: str | None) -> tuple[RunId, str | None]:
    """Change or (`None`) forget what one message said; gives the run that answers it, and its text now.

    The text is `None` where nothing is left to be answered.
    """
    row = db.execute("SELECT kept FROM bursts WHERE run = ?", (run,)).fetchone()
    if row is None:
        return run, text
    if text is None:
        db.execute("DELETE FROM bursts WHERE run = ?", (run,))
    else:
        db.execute("UPDATE bursts SET text = ? WHERE run = ?", (text, run))
    kept = row[0]
    left = [said for (said,) in db.execute("SELECT text FROM bursts WHERE kept = ? ORDER BY run", (kept,))]
    return kept, join(left) if left else None


def join(texts: Sequence[str]) -> str:
    """One text for several messages."""
    return "\n".join(text for text in texts if text)


def forget_done(db: sqlite3.Connection) -> None:
    """Let go of what belongs to entries that the journal has no more."""
    db.execute("DELETE FROM bursts WHERE run NOT IN (SELECT run FROM journal)")
