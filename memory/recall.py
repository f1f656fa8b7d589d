"""Finds what was said by its words, in one chat or everywhere, by an index that is made on demand."""

import sqlite3
import time
from collections.abc import Sequence
from functools import partial
from typing import Final, NamedTuple

from bot.messages import SessionKey
from bot.tools.recall import Said
from memory.database import Database
from memory.long_term.words import Share, asked, tag_of, to_index, words_of
from memory.rows import LINE, Row, line_from
from memory.sessions import OF_CHAT

CANDIDATES: Final = 200  # newest lines with words of a query, of which the best are given
STEP: Final = 400  # some 20 ms
SECONDS: Final = 2.0  # that a search may spend on the index first
STAGES: Final = ((True, False), (False, False), (False, True))  # all words, any, any that begin like one
COLUMNS: Final = ", ".join(f"m.{name}" for name in LINE.split(", "))


class Reach(NamedTuple):
    """Which lines somebody may find: those of a chat's sessions and of one more; or only what is seen."""

    chat: SessionKey
    session: SessionKey
    is_seen: bool

    def scope(self, db: sqlite3.Connection) -> tuple[str, tuple[SessionKey, ...]]:
        """The condition on `messages m`, and its values: the sessions."""
        own = [key for _, key in db.execute(OF_CHAT, (self.chat, self.chat))]
        places = tuple(dict.fromkeys((*own, self.session)))
        return f"m.session IN ({marks(places)})" + (" AND m.in_context = 1" if self.is_seen else ""), places


class Recall:
    """Fulfils `bot.tools.recall.Lines` on the database.

    Args:
        step: Lines that one job puts into the index: the writer does nothing else meanwhile.
    """

    def __init__(self, database: Database, *, step: int = STEP) -> None:
        self._database = database
        self._step = step

    async def search(
        self,
        chat: SessionKey,
        session: SessionKey,
        words: Sequence[str],
        limit: int,
        *,
        meaning: str = "",
        is_seen: bool = True,
    ) -> list[Said]:
        """See the protocol; by words alone."""
        await self.catch_up(SECONDS)
        parts = words_of(" ".join(words))
        tags = dict.fromkeys((tag_of(chat), tag_of(session)))
        reach = Reach(chat, session, is_seen)

        def job(db: sqlite3.Connection) -> list[Said]:
            where, places = reach.scope(db)
            found: dict[int, Row] = {}
            for tag in tags:
                found |= _candidates(db, parts, limit, tag=tag, where=where, values=places)
            return _best(found, parts, limit)

        return await self._database.read(job) if parts else []

    async def everywhere(self, words: Sequence[str], limit: int) -> list[Said]:
        """The same over all sessions, for whoever may read them all; always by words alone."""
        await self.catch_up(SECONDS)
        parts = words_of(" ".join(words))
        if not parts:
            return []
        return await self._database.read(
            lambda db: _best(_candidates(db, parts, limit, tag="", where="1", values=()), parts, limit)
        )

    async def catch_up(self, seconds: float) -> bool:
        """Put what was said since the last time into the index, the newest first.

        Returns:
            Whether all is in it.
        """
        end = time.monotonic() + seconds
        while await self._database.read(_has_waiting):
            await self._database.write(partial(_index_some, most=self._step))
            if time.monotonic() > end:
                return False
        return True


def marks(values: Sequence[object]) -> str:
    """A mark for each value of a statement."""
    return ", ".join("?" * len(values))


def _has_waiting(db: sqlite3.Connection) -> bool:
    return db.execute("SELECT 1 FROM lines_waiting LIMIT 1").fetchone() is not None


def _index_some(db: sqlite3.Connection, most: int) -> None:
    """Take some lines into the index; what has been deleted since is left out."""
    rows = db.execute(
        "SELECT w.id, w.session, w.number, m.text, coalesce(c.chat, w.session)"
        " FROM (SELECT * FROM lines_waiting ORDER BY id DESC LIMIT ?) w"
        " LEFT JOIN messages m ON m.session = w.session AND m.number = w.number"
        " LEFT JOIN chat_sessions c ON c.session = w.session",
        (most,),
    ).fetchall()
    tags = {chat: tag_of(chat) for chat in {row[4] for row in rows}}
    for id_, session, number, text, chat in rows:
        if text is None:
            continue
        added = db.execute(
            "INSERT OR IGNORE INTO lines (id, session, number) VALUES (?, ?, ?)", (id_, session, number)
        )
        if added.rowcount == 1:  # a line that was amended while it waited is there already
            words = f"{tags[chat]} {to_index(text)}"
            db.execute("INSERT INTO line_words (rowid, words) VALUES (?, ?)", (id_, words))
    db.executemany("DELETE FROM lines_waiting WHERE id = ?", [(row[0],) for row in rows])


def _candidates(
    db: sqlite3.Connection,
    words: Sequence[str],
    limit: int,
    *,
    tag: str,
    where: str,
    values: tuple[object, ...],
) -> dict[int, Row]:
    """Lines with all of the words; if these are few, with any, and then with what begins like one."""
    found: dict[int, Row] = {}
    for is_all, is_prefix in STAGES:
        if len(found) >= limit:
            break
        query = asked(words, is_all=is_all, is_prefix=is_prefix)
        rows = db.execute(
            f"SELECT i.rowid, s.title, m.session, {COLUMNS} FROM line_words i"
            " CROSS JOIN lines l ON l.id = i.rowid"
            " CROSS JOIN messages m ON m.session = l.session AND m.number = l.number"
            " LEFT JOIN sessions s ON s.session = m.session"
            f" WHERE line_words MATCH ? AND {where} ORDER BY i.rowid DESC LIMIT ?",
            (f'"{tag}" AND ({query})' if tag else query, *values, CANDIDATES),
        )
        found.update((row[0], row[1:]) for row in rows)
    return found


def _best(found: dict[int, Row], words: Sequence[str], limit: int) -> list[Said]:
    """The lines with most of the words, then the newest."""
    share, place = Share(words), 2 + LINE.split(", ").index("text")
    said = [(share.of(row[place]), id_, row) for id_, row in found.items()]
    said = sorted((one for one in said if one[0] > 0), key=lambda one: (-one[0], -one[1]))[:limit]
    return [Said(session=row[1], title=row[0], line=line_from(row[2:])) for _, _, row in said]
