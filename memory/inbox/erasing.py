"""What operators wrote goes with what it is about, by the transaction that deletes that."""

import sqlite3

from bot.messages import SessionKey
from memory.inbox.following import follow_chat


def drop_notes(db: sqlite3.Connection, session: SessionKey) -> None:
    """Delete the notes about a session."""
    db.execute("DELETE FROM inbox_notes WHERE session = ?", (session,))


def drop_old_notes(db: sqlite3.Connection, before: float) -> None:
    """Delete the notes that were written before a time, in seconds since 1970."""
    db.execute("DELETE FROM inbox_notes WHERE at < ?", (before,))


def erase_conversation(db: sqlite3.Connection, chat: SessionKey) -> None:
    """Delete what is known of a chat: its notes, labels, marks, and the name of the person.

    Who answers there, and where answers go, is no knowledge of the person, and stays.
    """
    db.execute("DELETE FROM inbox_notes WHERE chat = ?", (chat,))
    db.execute("DELETE FROM conversation_labels WHERE chat = ?", (chat,))
    db.execute(
        "UPDATE conversations SET person = '', subject = '', mark = NULL, mark_session = NULL, mark_upto = 0,"
        " read_session = NULL, read_upto = 0, assignee = '' WHERE chat = ?",
        (chat,),
    )
    follow_chat(db, chat)  # the index of names has theirs until then
