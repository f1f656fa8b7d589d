"""Between rows and messages."""

import sqlite3
import time
from datetime import UTC, datetime
from typing import Any, TypeAlias

from bot.messages import InboundMessage, MessageId, RunId, SessionKey, StoredMessage

LINE = "number, id, run, role, speaker, text, at, platform_id, reason, in_context"

Row: TypeAlias = tuple[Any, ...]  # `Any`: what sqlite3 gives


def line_from(row: Row) -> StoredMessage:
    """Make a line of history of the columns `LINE`."""
    number, id_, run, role, speaker, text, at, platform_id, reason, in_context = row
    return StoredMessage(
        number=number,
        id=id_,
        run=run,
        role=role,
        speaker=speaker,
        text=text,
        at=datetime.fromtimestamp(at, UTC),
        platform_id=platform_id,
        reason=reason,
        in_context=bool(in_context),
    )


def count_line(db: sqlite3.Connection, session: SessionKey, *, in_context: bool) -> tuple[int, int]:
    """Make room for one more line of a session: gives its number, and the turns so far with this one."""
    now = time.time()
    number, turns = db.execute(
        "INSERT INTO sessions (session, messages, turns, created_at, updated_at) VALUES (?, 1, ?, ?, ?)"
        " ON CONFLICT (session) DO UPDATE SET messages = sessions.messages + 1,"
        " turns = sessions.turns + excluded.turns, updated_at = excluded.updated_at"
        " RETURNING messages, turns",
        (session, int(in_context), now, now),
    ).fetchone()
    return number, turns


def add_line(db: sqlite3.Connection, session: SessionKey, line: StoredMessage) -> None:
    """Write a line of history under the number that it carries."""
    db.execute(
        f"INSERT INTO messages (session, {LINE}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            session,
            line.number,
            line.id,
            line.run,
            line.role,
            line.speaker,
            line.text,
            line.at.timestamp(),
            line.platform_id,
            line.reason,
            int(line.in_context),
        ),
    )


def follow_alias(db: sqlite3.Connection, session: SessionKey) -> SessionKey:
    """The session that a key leads to."""
    row = db.execute("SELECT session FROM aliases WHERE alias = ?", (session,)).fetchone()
    return row[0] if row else session


def user_line(message: InboundMessage, number: int, *, in_context: bool = True) -> StoredMessage:
    """A person's message as a line of history."""
    return StoredMessage(
        number=number,
        id=message.id,
        run=message.run,
        role="user",
        speaker=message.sender.name or message.sender.id,
        text=message.text,
        at=message.received_at,
        platform_id=message.platform_id,
        in_context=in_context,
    )


def answer_id(run: RunId) -> MessageId:
    """The id of a run's answer in the history: the same at every attempt."""
    return MessageId(f"{run}:answer")
