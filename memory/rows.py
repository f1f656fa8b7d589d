"""Between rows and messages."""

import sqlite3
from datetime import UTC, datetime
from typing import Any, TypeAlias

from bot.agent.taint import Carried, carried_by, encode_carried
from bot.messages import End, InboundMessage, MessageId, RunId, SessionKey, StoredMessage, utc_now

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


def append_line(
    db: sqlite3.Connection, session: SessionKey, line: StoredMessage, carried: Carried | None = None
) -> tuple[int, int]:
    """Write a line at the end of a session's history; the trigger `line_counted` counts it.

    Args:
        carried: What the turn had read that wrote it.

    Returns:
        The number that it got, whatever it carried, and the turns of the session so far with this line.
    """
    number, turns = db.execute(
        f"INSERT INTO messages (session, {LINE}, taint)"
        " SELECT :session, coalesce(max(messages), 0) + 1, :id, :run, :role, :speaker, :text, :at,"
        " :platform_id, :reason, :in_context, :taint FROM sessions WHERE session = :session"
        " RETURNING number,"
        " :in_context + coalesce((SELECT turns FROM sessions WHERE session = :session), 0)",
        {
            "session": session,
            "id": line.id,
            "run": line.run,
            "role": line.role,
            "speaker": line.speaker,
            "text": line.text,
            "at": line.at.timestamp(),
            "platform_id": line.platform_id,
            "reason": line.reason,
            "in_context": int(line.in_context),
            "taint": encode_carried(carried),
        },
    ).fetchone()
    return number, turns


def append_user_line(
    db: sqlite3.Connection, message: InboundMessage, *, in_context: bool = True
) -> tuple[int, int]:
    """Write a person's message at the end of its session, as their words; see `append_line`."""
    line = StoredMessage(
        number=0,
        id=message.id,
        run=message.run,
        role="user",
        speaker=message.sender.name or message.sender.id,
        text=message.text,
        at=message.received_at,
        platform_id=message.platform_id,
        in_context=in_context,
    )
    return append_line(db, message.session, line, carried_by(message))


def append_answer_line(
    db: sqlite3.Connection,
    end: End,
    speaker: str,
    *,
    in_context: bool = True,
    carried: Carried | None = None,
) -> None:
    """Write an answer at the end of its session; see `append_line`."""
    line = StoredMessage(
        number=0,
        id=answer_id(end.run),
        run=end.run,
        role="assistant",
        speaker=speaker,
        text=end.text,
        at=utc_now(),
        reason=end.reason,
        in_context=in_context,
    )
    append_line(db, end.session, line, carried)


def follow_alias(db: sqlite3.Connection, session: SessionKey) -> SessionKey:
    """The session that a key leads to."""
    row = db.execute("SELECT session FROM aliases WHERE alias = ?", (session,)).fetchone()
    return row[0] if row else session


def answer_id(run: RunId) -> MessageId:
    """The id of a run's answer in the history: the same at every attempt."""
    return MessageId(f"{run}:answer")
