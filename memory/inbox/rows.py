"""From rows to conversations: what a page shows beside what the list is found by."""

import sqlite3
from typing import Final

from bot.inbox.base import PREVIEW, Conversation, Last
from bot.messages import SessionKey, decode_address
from memory.inbox.following import LOOKED_AT, OF_PERSON
from memory.rows import Row

COLUMNS: Final = (
    "chat, session, address, person, subject, state, read_session, read_upto, assignee, taken_by, taken_upto,"
    " docked_to, updated_at"
)
MOST_UNREAD: Final = 1_000  # lines that are counted


def conversation_at(db: sqlite3.Connection, id_: int) -> Conversation:
    """The conversation of a row."""
    return _conversation(
        db, db.execute(f"SELECT {COLUMNS} FROM conversations WHERE id = ?", (id_,)).fetchone()
    )


def conversation_of(db: sqlite3.Connection, chat: SessionKey) -> Conversation | None:
    """The conversation of a chat, if something was said there."""
    row = db.execute(
        f"SELECT {COLUMNS} FROM conversations WHERE chat = ? AND state IS NOT NULL", (chat,)
    ).fetchone()
    return None if row is None else _conversation(db, row)


def _conversation(db: sqlite3.Connection, row: Row) -> Conversation:
    chat, session, address, person, subject, state, read_session, read_upto, *put = row
    assignee, taken_by, taken_upto, docked_to, updated_at = put
    title, messages = db.execute(
        "SELECT title, messages - coalesce((SELECT min(number) FROM messages WHERE session = :session) - 1,"
        " messages) FROM sessions WHERE session = :session",
        {"session": session},
    ).fetchone() or (None, 0)
    labels = db.execute("SELECT label FROM conversation_labels WHERE chat = ? ORDER BY label", (chat,))
    (unread,) = db.execute(
        "SELECT count(*) FROM (SELECT 1 FROM messages WHERE session = ? AND number > ? LIMIT ?)",
        (session, read_upto if read_session == session else 0, MOST_UNREAD),
    ).fetchone()
    tokens, cost = db.execute(
        "SELECT coalesce(sum(prompt + completion), 0), coalesce(sum(cost), 0) FROM usage WHERE session = ?",
        (session,),
    ).fetchone()
    return Conversation(
        chat=chat,
        session=session,
        address=decode_address(address),
        title=title,
        person=person,
        subject=subject,
        state=state,
        unread=unread,
        assignee=assignee or None,
        labels=tuple(label for (label,) in labels),
        taken_by=taken_by,
        docked_to=None if docked_to is None else decode_address(docked_to),
        last=_last(db, session),
        waiting_since=_waiting_since(db, session, None if taken_by is None else taken_upto),
        messages=messages,
        updated_at=updated_at,
        tokens=tokens,
        cost=cost,
    )


def _last(db: sqlite3.Connection, session: SessionKey) -> Last | None:
    row = db.execute(
        "SELECT role, speaker, substr(text, 1, ?), at, reason FROM messages WHERE session = ?"
        " ORDER BY number DESC LIMIT 1",
        (PREVIEW, session),
    ).fetchone()
    if row is None:
        return None
    role, speaker, text, at, reason = row
    return Last(role=role, speaker=speaker, text=text, at=at, reason=reason)


def _waiting_since(db: sqlite3.Connection, session: SessionKey, taken_upto: int | None) -> float | None:
    """When the oldest word was said that has no answer: of what was read, and of what waits to be."""
    (queued,) = db.execute(
        "SELECT min(accepted_at) FROM journal WHERE session = ? AND state <> 'done' AND state = 'queued'",
        (session,),
    ).fetchone()
    times = [] if queued is None else [float(queued)]
    rows = db.execute(
        f"SELECT m.number, role, {OF_PERSON}, m.at, t.state FROM messages m"
        " LEFT JOIN turns t ON t.run = m.run WHERE m.session = ? ORDER BY m.number DESC LIMIT ?",
        (session, LOOKED_AT),
    )
    for number, role, is_persons, at, outcome in rows:
        if role == "assistant":
            break
        is_taken = taken_upto is not None and number > taken_upto
        if is_persons and (
            outcome != "silent" or is_taken
        ):  # the agent may decide that it has nothing to say
            times.append(at)
    rows.close()
    return min(times, default=None)
