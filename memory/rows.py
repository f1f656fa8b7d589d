"""Between rows and messages."""

import sqlite3
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeAlias

from bot.agent.taint import Carried, carried_by, encode_carried
from bot.messages import End, InboundMessage, MessageId, RunId, SessionKey, StoredMessage, utc_now
from memory.many import write_rows

LINE = "number, id, run, role, speaker, text, at, platform_id, reason, in_context"
# The numbers are counted up by session; the trigger `line_counted` follows only when all of them are in.
APPEND = (
    f"INSERT INTO messages (session, {LINE}, taint)"
    " WITH added (place, session, id, run, role, speaker, text, at, platform_id, reason, in_context, taint)"
    " AS (VALUES {marks})"
    " SELECT added.session, coalesce(messages, 0) + row_number() OVER (PARTITION BY added.session ORDER BY"
    " place), id, run, role, speaker, text, at, platform_id, reason, in_context, taint"
    " FROM added LEFT JOIN sessions ON sessions.session = added.session ORDER BY place"
)

Row: TypeAlias = tuple[Any, ...]  # `Any`: what sqlite3 gives


class NewLine(NamedTuple):
    """A line of history that has no number yet.

    Attributes:
        carried: What the turn had read that wrote it.
    """

    session: SessionKey
    line: StoredMessage
    carried: Carried | None = None


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


def append_lines(db: sqlite3.Connection, lines: Sequence[NewLine]) -> None:
    """Write lines at the end of their sessions' histories, in order; their own numbers do not count."""
    write_rows(db, APPEND, [_values(place, new) for place, new in enumerate(lines)])


def _values(place: int, new: NewLine) -> tuple[object, ...]:
    line = new.line
    return (
        place,
        new.session,
        line.id,
        line.run,
        line.role,
        line.speaker,
        line.text,
        line.at.timestamp(),
        line.platform_id,
        line.reason,
        int(line.in_context),
        encode_carried(new.carried),
    )


def user_line(message: InboundMessage, *, in_context: bool = True) -> NewLine:
    """A person's message as a line of its session, as their words."""
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
    return NewLine(message.session, line, carried_by(message))


def answer_line(
    end: End, speaker: str, *, in_context: bool = True, carried: Carried | None = None
) -> NewLine:
    """An answer as a line of its session."""
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
    return NewLine(end.session, line, carried)


def follow_alias(db: sqlite3.Connection, session: SessionKey) -> SessionKey:
    """The session that a key leads to."""
    row = db.execute("SELECT session FROM aliases WHERE alias = ?", (session,)).fetchone()
    return row[0] if row else session


def answer_id(run: RunId) -> MessageId:
    """The id of a run's answer in the history: the same at every attempt."""
    return MessageId(f"{run}:answer")
