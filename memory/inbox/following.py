"""Brings the rows of conversations up to what was said since somebody looked at them."""

import sqlite3
from typing import Final, TypeAlias

import msgspec
from msgspec.structs import replace

from bot.messages import Address, Sender, SessionKey, decode_address, encoder
from bot.tools.base import SUBAGENT
from memory.rows import Row, follow_alias

Key: TypeAlias = str  # of a chat, a session, or both

# A schedule and the heartbeat speak in the place of a person: see `bot.messages.BY_ITSELF`.
OF_PERSON: Final = (
    "role = 'user' AND coalesce(platform_id, '') NOT GLOB 'schedule:*'"
    " AND coalesce(platform_id, '') NOT GLOB 'heartbeat:*'"
)
LOOKED_AT: Final = 200  # newest lines of a session
ADD: Final = (
    "INSERT INTO conversations (chat, channel, address, is_direct, session) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT (chat) DO UPDATE SET channel = excluded.channel, address = excluded.address,"
    " is_direct = excluded.is_direct"
)


class Behind(msgspec.Struct, frozen=True):
    """What the rows do not know yet.

    Attributes:
        keys: Chats and sessions of which something has changed.
        line: Number of the newest line that was looked at.
    """

    keys: tuple[Key, ...]
    line: int


def behind(db: sqlite3.Connection) -> Behind | None:
    """What is to be followed; `None` where the rows are up to date."""
    (seen,) = db.execute("SELECT line FROM inbox_seen").fetchone()
    newest = db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'lines_waiting'").fetchone()
    line = newest[0] if newest else 0
    if line == seen and db.execute("SELECT 1 FROM inbox_stale LIMIT 1").fetchone() is None:
        return None
    keys = db.execute(
        "SELECT key FROM inbox_stale UNION SELECT session FROM lines_waiting WHERE id > :seen"
        " UNION SELECT session FROM lines WHERE id > :seen",
        {"seen": seen},
    )
    return Behind(tuple(key for (key,) in keys), line)


def follow(db: sqlite3.Connection, keys: tuple[Key, ...], *, line: int | None = None) -> None:
    """Bring the conversations of chats and sessions up to date.

    Args:
        line: All lines up to this one have been followed with these keys.
    """
    for key in keys:
        db.execute("DELETE FROM inbox_stale WHERE key = ?", (key,))
        for chat in _chats_of(db, key):
            follow_chat(db, chat)
    if line is not None:
        db.execute("UPDATE inbox_seen SET line = max(line, ?)", (line,))


def note_conversation(db: sqlite3.Connection, address: Address, person: Sender | None) -> None:
    """Write down where a conversation takes place, and who speaks there."""
    chat = address.session()
    _add(db, chat, address)
    if person is not None:
        db.execute(
            "UPDATE conversations SET person = ?, subject = ? WHERE chat = ?",
            (person.name or person.id, f"{address.channel}:{person.id}", chat),
        )
    follow_chat(db, chat)


def follow_chat(db: sqlite3.Connection, chat: SessionKey) -> None:
    """Bring one conversation up to date; one of which nothing is known and nothing was said gets no row."""
    session = follow_alias(db, chat)
    said = db.execute(
        "SELECT title, messages, updated_at FROM sessions WHERE session = ?", (session,)
    ).fetchone()
    title, messages, updated_at = said or (None, 0, 0.0)
    is_listed = messages > 0 or (said is not None and _is_begun(db, session))
    row = _row(db, chat)
    if row is None and is_listed and _is_chat(db, chat):
        _add(db, chat, _address_of(db, chat))
        row = _row(db, chat)
    if row is None:
        return
    id_, person, subject, *put = row
    person = person or _speaker(db, session)
    number, is_persons = _newest(db, session)
    state = _state(db, session, put, is_persons=is_persons) if is_listed else None
    read_session, read_upto = put[4:]
    is_unread = number > (read_upto if read_session == session else 0)
    db.execute(
        "UPDATE conversations SET session = ?, person = ?, state = ?, is_unread = ?, updated_at = ?"
        " WHERE id = ?",
        (session, person, state, is_unread, updated_at, id_),
    )
    db.execute("UPDATE conversation_labels SET updated_at = ? WHERE chat = ?", (updated_at, chat))
    _name(db, id_, "\n".join((person, subject, title or "", chat)).casefold())


def _row(db: sqlite3.Connection, chat: SessionKey) -> Row | None:
    found: Row | None = db.execute(
        "SELECT id, person, subject, mark, mark_session, mark_upto, taken_by, read_session, read_upto"
        " FROM conversations WHERE chat = ?",
        (chat,),
    ).fetchone()
    return found


def _state(db: sqlite3.Connection, session: SessionKey, put: list[object], *, is_persons: bool) -> str:
    """The state that a conversation is in; see `bot.inbox.base.Conversation`."""
    mark, mark_session, mark_upto, taken_by = put[:4]
    if mark in ("muted", "waiting"):
        return str(mark)
    if mark == "handled" and mark_session == session and not _has_spoken(db, session, mark_upto):
        return "handled"
    return "waiting" if taken_by is not None and is_persons else "open"


def _has_spoken(db: sqlite3.Connection, session: SessionKey, after: object) -> bool:
    found = db.execute(
        f"SELECT 1 FROM messages WHERE session = ? AND number > ? AND {OF_PERSON} LIMIT 1", (session, after)
    )
    return found.fetchone() is not None


def _newest(db: sqlite3.Connection, session: SessionKey) -> tuple[int, bool]:
    """The number of the newest line, and whether a person said it."""
    row = db.execute(
        f"SELECT number, {OF_PERSON} FROM messages WHERE session = ? ORDER BY number DESC LIMIT 1", (session,)
    ).fetchone()
    return (row[0], bool(row[1])) if row else (0, False)


def _speaker(db: sqlite3.Connection, session: SessionKey) -> str:
    """Who spoke last, as the history has it: for a conversation whose person was not noted."""
    row = db.execute(
        "SELECT speaker FROM (SELECT * FROM messages WHERE session = ? ORDER BY number DESC LIMIT ?)"
        f" WHERE {OF_PERSON} LIMIT 1",
        (session, LOOKED_AT),
    ).fetchone()
    return row[0] if row else ""


def _name(db: sqlite3.Connection, id_: object, names: str) -> None:
    row = db.execute("SELECT names FROM conversation_names WHERE rowid = ?", (id_,)).fetchone()
    if row is None:
        db.execute("INSERT INTO conversation_names (rowid, names) VALUES (?, ?)", (id_, names))
    elif row[0] != names:
        db.execute("UPDATE conversation_names SET names = ? WHERE rowid = ?", (names, id_))


def _add(db: sqlite3.Connection, chat: SessionKey, address: Address) -> None:
    db.execute(ADD, (chat, address.channel, encoder.encode(address), address.is_direct, chat))


def _chats_of(db: sqlite3.Connection, key: Key) -> list[SessionKey]:
    """The chats that a key may be of: that of its name, and those whose alias leads to it."""
    aliases = db.execute("SELECT alias FROM aliases WHERE session = ?", (key,))
    chats = dict.fromkeys([key, *(alias for (alias,) in aliases)])
    return [SessionKey(chat) for chat in chats if _is_chat(db, chat)]


def _is_chat(db: sqlite3.Connection, key: Key) -> bool:
    """Whether a key can be that of an address: no subagent's, and none of a session that a chat has begun."""
    return key.count(":") >= 2 and SUBAGENT not in key and not _is_begun(db, key)


def _is_begun(db: sqlite3.Connection, key: Key) -> bool:
    return db.execute("SELECT 1 FROM chat_sessions WHERE session = ?", (key,)).fetchone() is not None


def _address_of(db: sqlite3.Connection, chat: SessionKey) -> Address:
    """The address of a chat that was not noted since there is an inbox, from what is known otherwise."""
    if (known := _noted(db, chat)) is not None:
        return known
    channel, account, name, *rest = chat.split(":", 3)
    whole = _noted(db, f"{channel}:{account}:{name}")
    address = whole or Address(channel=channel, account=account, chat=name)
    return replace(address, thread=rest[0]) if rest else address


def _noted(db: sqlite3.Connection, chat: Key) -> Address | None:
    row = db.execute("SELECT address FROM chats WHERE chat = ?", (chat,)).fetchone()
    return decode_address(row[0]) if row else None
