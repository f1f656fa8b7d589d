"""Edits and deletions of messages that were said before."""

import sqlite3
import time

from msgspec.structs import replace

from bot.agent.store import Amended
from bot.messages import InboundMessage, Kind, RunId, decode_inbound, dedupe_key, encoder
from memory import bursts, overheard
from memory.rows import follow_alias
from memory.summaries import drop_summary

TAKEN_BACK = "[taken back]"


def follow(db: sqlite3.Connection, change: InboundMessage) -> Amended:
    """Change what is kept of a message, by the transaction that takes the change."""
    session = follow_alias(db, change.session)
    added = db.execute(
        "INSERT INTO journal (run, dedupe_key, session, state, message, accepted_at)"
        " VALUES (?, ?, ?, 'done', x'', ?) ON CONFLICT (dedupe_key) DO NOTHING",
        (change.run, change.dedupe_key, session, time.time()),
    )
    if added.rowcount != 1:
        return Amended(is_new=False, session=session)
    overheard.amend(db, change, session)
    key = dedupe_key(change.address, change.target or "")
    row = db.execute("SELECT run FROM journal WHERE dedupe_key = ?", (key,)).fetchone()
    if row is None:
        return Amended(is_new=True, session=session)
    (run,) = row
    kept, text = bursts.amend(db, run, None if change.kind is Kind.DELETE else change.text)
    _amend_line(db, kept, text)
    waiting = db.execute("SELECT message FROM journal WHERE run = ? AND state = 'queued'", (kept,)).fetchone()
    if waiting is None:
        return Amended(is_new=True, session=session)
    if text is None:
        db.execute(
            "UPDATE journal SET state = 'done', message = x'', ended_at = ? WHERE run = ?",
            (time.time(), kept),
        )
    else:
        message = replace(decode_inbound(waiting[0]), text=text)
        db.execute("UPDATE journal SET message = ? WHERE run = ?", (encoder.encode(message), kept))
    return Amended(is_new=True, session=session, waiting=kept, text=text)


def _amend_line(db: sqlite3.Connection, run: RunId, text: str | None) -> None:
    """Change a person's line in the history; of one that was taken back, nothing is kept."""
    for session, number in db.execute(
        "SELECT session, number FROM messages WHERE run = ? AND role = 'user'", (run,)
    ).fetchall():
        drop_summary(db, session, line=number)
    if text is None:
        db.execute(
            "UPDATE messages SET text = ?, in_context = 0 WHERE run = ? AND role = 'user'", (TAKEN_BACK, run)
        )
    else:
        db.execute("UPDATE messages SET text = ? WHERE run = ? AND role = 'user'", (text, run))
