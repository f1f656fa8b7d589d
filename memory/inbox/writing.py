"""What operators write down: notes for each other, labels, and replies that are written once."""

import sqlite3
import time
from collections.abc import Sequence
from typing import Final

from bot.inbox.base import (
    MAX_CANNED,
    MAX_LABEL,
    MAX_LABELS,
    MAX_NAME,
    MAX_NOTE,
    Canned,
    InboxError,
    Note,
)
from bot.messages import SessionKey

MOST_LISTED_LABELS: Final = 1_000
MOST_NOTES: Final = 500  # of a conversation
MOST_CANNED: Final = 500


def checked(text: str, most: int, what: str, *, is_line: bool = True) -> str:
    """A text without blanks around it.

    Raises:
        InboxError: It is longer than `most` characters.
    """
    text = " ".join(text.split()) if is_line else text.strip()
    if len(text) > most:
        raise InboxError(f"{what} has {most:,} characters at most, not {len(text):,}")
    return text


def put_labels(db: sqlite3.Connection, chat: SessionKey, labels: Sequence[str]) -> None:
    """Let a conversation have these labels and no others."""
    chosen = {label for one in labels if (label := checked(one, MAX_LABEL, "a label"))}
    if len(chosen) > MAX_LABELS:
        raise InboxError(f"a conversation has {MAX_LABELS} labels at most, not {len(chosen)}")
    db.execute("DELETE FROM conversation_labels WHERE chat = ?", (chat,))
    db.executemany(
        "INSERT INTO conversation_labels (chat, label, updated_at)"
        " SELECT chat, ?, updated_at FROM conversations WHERE chat = ?",
        [(label, chat) for label in chosen],
    )


def labels_in_use(db: sqlite3.Connection) -> list[str]:
    """All labels: from one to the next by the index, however many conversations have it."""
    rows = db.execute(
        "WITH RECURSIVE used (label) AS (SELECT min(label) FROM conversation_labels UNION ALL"
        " SELECT (SELECT min(label) FROM conversation_labels WHERE label > used.label) FROM used"
        " WHERE used.label IS NOT NULL) SELECT label FROM used WHERE label IS NOT NULL LIMIT ?",
        (MOST_LISTED_LABELS,),
    )
    return [label for (label,) in rows]


def notes_of(db: sqlite3.Connection, chat: SessionKey) -> list[Note]:
    """The notes about a conversation, the oldest first."""
    rows = db.execute("SELECT id, author, text, at FROM inbox_notes WHERE chat = ? ORDER BY id", (chat,))
    return [Note(id=id_, chat=chat, by=author, text=text, at=at) for id_, author, text, at in rows]


def add_note(db: sqlite3.Connection, chat: SessionKey, text: str, by: str) -> Note:
    """Keep a note about the session that a conversation is in now."""
    text, now = checked(text, MAX_NOTE, "a note", is_line=False), time.time()
    if not text:
        raise InboxError("a note without words says nothing")
    (count,) = db.execute("SELECT count(*) FROM inbox_notes WHERE chat = ?", (chat,)).fetchone()
    if count >= MOST_NOTES:
        raise InboxError(f"there are {MOST_NOTES} notes about this conversation; delete one first")
    (id_,) = db.execute(
        "INSERT INTO inbox_notes (chat, session, author, text, at)"
        " SELECT chat, session, ?, ?, ? FROM conversations WHERE chat = ? RETURNING id",
        (by, text, now, chat),
    ).fetchone()
    return Note(id=id_, chat=chat, by=by, text=text, at=now)


def delete_note(db: sqlite3.Connection, chat: SessionKey, id_: int) -> bool:
    """Take a note away; False where there is none."""
    return db.execute("DELETE FROM inbox_notes WHERE chat = ? AND id = ?", (chat, id_)).rowcount == 1


def canned_replies(db: sqlite3.Connection) -> list[Canned]:
    """All of them, by name."""
    rows = db.execute("SELECT name, text FROM canned_replies ORDER BY name")
    return [Canned(name=name, text=text) for name, text in rows]


def put_canned(db: sqlite3.Connection, canned: Canned) -> None:
    """Keep a reply, in the place of another of the same name."""
    name = checked(canned.name, MAX_NAME, "the name of a reply")
    text = checked(canned.text, MAX_CANNED, "a reply", is_line=False)
    if not name or not text:
        raise InboxError("a canned reply has a name and a text")
    db.execute(
        "INSERT INTO canned_replies (name, text) VALUES (?, ?)"
        " ON CONFLICT (name) DO UPDATE SET text = excluded.text",
        (name, text),
    )
    if db.execute("SELECT count(*) FROM canned_replies").fetchone()[0] > MOST_CANNED:
        raise InboxError(f"there are {MOST_CANNED} canned replies; delete one first")


def delete_canned(db: sqlite3.Connection, name: str) -> bool:
    """Take a reply away; False where there is none."""
    return db.execute("DELETE FROM canned_replies WHERE name = ?", (name,)).rowcount == 1
