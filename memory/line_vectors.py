"""Vectors of lines of the history: made for a chat where somebody searches it, gone with their line."""

import sqlite3
from collections.abc import Sequence
from heapq import nlargest
from typing import Final, NamedTuple

import msgspec

from bot.messages import SessionKey
from bot.tools.recall import Said
from memory.database import Database
from memory.long_term.embedding import MAX_CHARACTERS
from memory.long_term.rows import Vector
from memory.recall import COLUMNS, Reach, marks
from memory.rows import line_from

SEARCHED: Final = 5_000  # newest lines of a chat, which are found by their meaning
MAX_BYTES: Final = 16_000_000  # of vectors that a search looks at; comparing takes four times as much
# Commands, and what the bot tells about them, would be the nearest to all that somebody searches for.
COMMAND: Final = (
    "m.in_context = 0 AND EXISTS (SELECT 1 FROM messages c WHERE c.run = m.run AND c.session = m.session"
    " AND c.role = 'user' AND substr(c.text, 1, 1) = '/')"
)


class Line(NamedTuple):
    """A line by its id in the index, with what it means to a model or, where that lacks, with its text."""

    id: int
    vector: bytes | None
    text: str


class LineVectors:
    """The rows; every statement names the sessions that somebody may look into."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def newest(self, reach: Reach, like: Vector) -> list[Line]:
        """The newest lines first, as many as `MAX_BYTES` have room for vectors like this one."""
        most = min(SEARCHED, MAX_BYTES // max(1, len(like.data)))

        def job(db: sqlite3.Connection) -> list[Line]:
            where, places = reach.scope(db)
            ids = msgspec.json.encode(_newest(db, places, most)).decode()
            rows = db.execute(
                "SELECT l.id, CASE WHEN v.model = ? THEN v.vector END,"
                " CASE WHEN v.model = ? THEN '' ELSE substr(m.text, 1, ?) END"
                " FROM json_each(?) j CROSS JOIN lines l ON l.id = j.value"
                " CROSS JOIN messages m ON m.session = l.session AND m.number = l.number"
                " LEFT JOIN line_vectors v ON v.line = l.id"
                f" WHERE {where} AND (v.model = ? OR (trim(m.text) <> '' AND NOT ({COMMAND})))",
                (like.model, like.model, MAX_CHARACTERS, ids, *places, like.model),
            )
            return sorted((Line(*row) for row in rows), key=lambda line: -line.id)

        return await self._database.read(job)

    async def give(self, lines: Sequence[int], vectors: Sequence[Vector]) -> None:
        """Put vectors beside lines; what has been edited or deleted meanwhile has another id, or none."""
        values = [(vector.model, vector.data, id_) for id_, vector in zip(lines, vectors, strict=True)]
        await self._database.write(
            lambda db: db.executemany(
                "INSERT INTO line_vectors (line, model, vector) SELECT id, ?, ? FROM lines WHERE id = ?"
                " ON CONFLICT (line) DO UPDATE SET model = excluded.model, vector = excluded.vector",
                values,
            )
        )

    async def said(self, reach: Reach, ids: Sequence[int]) -> list[Said]:
        """Lines by their ids, in this order; without those that are out of reach, or gone by now."""

        def job(db: sqlite3.Connection) -> list[Said]:
            where, places = reach.scope(db)
            rows = db.execute(
                f"SELECT l.id, s.title, m.session, {COLUMNS} FROM lines l"
                " CROSS JOIN messages m ON m.session = l.session AND m.number = l.number"
                " LEFT JOIN sessions s ON s.session = m.session"
                f" WHERE l.id IN ({marks(ids)}) AND {where}",
                (*ids, *places),
            )
            found = {row[0]: Said(session=row[2], title=row[1], line=line_from(row[3:])) for row in rows}
            return [found[id_] for id_ in ids if id_ in found]

        return await self._database.read(job)


def _newest(db: sqlite3.Connection, places: Sequence[SessionKey], most: int) -> list[int]:
    """Ids of the newest lines of sessions, by the index of each: one may hold a million."""
    own = "SELECT id FROM lines WHERE session = ? ORDER BY number DESC LIMIT ?"
    return nlargest(most, (id_ for place in places for (id_,) in db.execute(own, (place, most))))
