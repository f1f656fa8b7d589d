"""What was said in groups without being meant for the bot."""

import sqlite3
from datetime import UTC, datetime

from msgspec.structs import replace

from bot.agent.store import Overheard
from bot.messages import InboundMessage, Kind, SessionKey
from memory.rows import follow_alias


def keep(db: sqlite3.Connection, message: InboundMessage, session: SessionKey, *, most: int) -> bool:
    """Keep what was overheard, once; the newest `most` of a session stay. False for one that is known."""
    added = db.execute(
        "INSERT INTO overheard (session, platform_id, speaker, text, at) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (session, platform_id) DO NOTHING",
        (
            session,
            message.platform_id,
            message.sender.name or message.sender.id,
            message.text,
            message.received_at.timestamp(),
        ),
    )
    if added.rowcount != 1:
        return False
    db.execute(
        "DELETE FROM overheard WHERE session = ? AND id <= (SELECT id FROM overheard WHERE session = ?"
        " ORDER BY id DESC LIMIT 1 OFFSET ?)",
        (session, session, most),
    )
    return True


def give(db: sqlite3.Connection, message: InboundMessage) -> tuple[Overheard, ...]:
    """Give a turn what was said since the last one, oldest first; the same at each of its attempts.

    A session in a thread begins with what was said in the chat that the thread hangs on.
    """
    sessions = {message.session}
    if message.address.thread is not None and _is_first(db, message):
        sessions.add(follow_alias(db, replace(message.address, thread=None).session()))
    for session in sessions:
        db.execute("UPDATE overheard SET run = ? WHERE session = ? AND run IS NULL", (message.run, session))
    rows = db.execute("SELECT speaker, text, at FROM overheard WHERE run = ? ORDER BY id", (message.run,))
    return tuple(
        Overheard(speaker=speaker, text=text, at=datetime.fromtimestamp(at, UTC))
        for speaker, text, at in rows
    )


def _is_first(db: sqlite3.Connection, message: InboundMessage) -> bool:
    """Whether nothing was said in a session before a message that stands in it."""
    found = db.execute("SELECT 1 FROM sessions WHERE session = ? AND messages > 1", (message.session,))
    return found.fetchone() is None


def amend(db: sqlite3.Connection, change: InboundMessage, session: SessionKey) -> None:
    """Follow an edit or a deletion."""
    if change.kind is Kind.DELETE:
        db.execute("DELETE FROM overheard WHERE session = ? AND platform_id = ?", (session, change.target))
    else:
        db.execute(
            "UPDATE overheard SET text = ? WHERE session = ? AND platform_id = ?",
            (change.text, session, change.target),
        )
