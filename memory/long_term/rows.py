"""The rows of memories; every statement names the scope."""

import sqlite3
import time
from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from bot.errors import StoreError
from bot.long_term import Fact, Memory, Origin, Scope
from bot.messages import encoder
from memory.long_term.words import digest, tag_of, to_index
from memory.rows import Row

# `+scope` below: an id leads to its row at once, the index of the scope to all rows of the scope first.
COLUMNS = "number, text, previous, origin, created_at, updated_at"
FULL = "This memory is full: {count:,} facts. Forget some with /memory forget <number> first."

decode_origin = msgspec.json.Decoder(Origin).decode


class Vector(msgspec.Struct, frozen=True):
    """What stands for a text where meanings are compared, and the name of what made it."""

    model: str
    data: bytes


def tag(scope: Scope) -> str:
    """The word for a scope in the index."""
    return tag_of(str(scope))


def put(
    db: sqlite3.Connection, scope: Scope, fact: Fact, origin: Origin, vector: Vector | None, *, most: int
) -> int | None:
    """Keep one fact; gives its number, or nothing where the same is known.

    Raises:
        StoreError: The scope holds `most` already.
    """
    key = digest(fact.text)
    known = db.execute("SELECT 1 FROM memories WHERE scope = ? AND digest = ?", (str(scope), key)).fetchone()
    if known is not None:
        return None
    if fact.replaces is not None and change(db, scope, fact.replaces, fact.text, origin, vector):
        return fact.replaces
    count, last = db.execute(
        "SELECT count(*), coalesce((SELECT last FROM memory_scopes WHERE scope = :scope), 0)"
        " FROM memories WHERE scope = :scope",
        {"scope": str(scope)},
    ).fetchone()
    if count >= most:
        raise StoreError(FULL.format(count=count))
    now = time.time()
    row = db.execute(
        "INSERT INTO memories (scope, number, text, digest, how, session, origin, model, vector, created_at,"
        " updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            str(scope),
            last + 1,
            fact.text,
            key,
            origin.how,
            origin.session,
            encoder.encode(origin),
            vector.model if vector else None,
            vector.data if vector else None,
            now,
            now,
        ),
    )
    db.execute(
        "INSERT INTO memory_words (rowid, words) VALUES (?, ?)",
        (row.lastrowid, to_index(fact.text, tag(scope))),
    )
    return int(last) + 1


def change(
    db: sqlite3.Connection, scope: Scope, number: int, text: str, origin: Origin, vector: Vector | None
) -> bool:
    """Let a memory say something else; False where there is none, or another one says it."""
    row = db.execute(
        "UPDATE OR IGNORE memories SET previous = text, text = ?, digest = ?, how = ?, session = ?,"
        " origin = ?, model = ?, vector = ?, updated_at = ? WHERE scope = ? AND number = ? RETURNING id",
        (
            text,
            digest(text),
            origin.how,
            origin.session,
            encoder.encode(origin),
            vector.model if vector else None,
            vector.data if vector else None,
            time.time(),
            str(scope),
            number,
        ),
    ).fetchone()
    if row is None:
        return False
    db.execute("UPDATE memory_words SET words = ? WHERE rowid = ?", (to_index(text, tag(scope)), row[0]))
    return True


def drop(db: sqlite3.Connection, scope: Scope, number: int | None) -> int:
    """Delete one memory of a scope, or all of it; of a scope without memories nothing stays."""
    if number is not None:
        gone = db.execute("DELETE FROM memories WHERE scope = ? AND number = ?", (str(scope), number))
        return gone.rowcount
    gone = db.execute("DELETE FROM memories WHERE scope = ?", (str(scope),))
    db.execute("DELETE FROM memory_scopes WHERE scope = ?", (str(scope),))
    return gone.rowcount


def drop_learned(db: sqlite3.Connection, session: str) -> None:
    """Delete what was learned from a session, by the transaction that deletes the session."""
    db.execute("DELETE FROM memories WHERE session = ? AND how IN ('learned', 'raw')", (session,))


def page(db: sqlite3.Connection, scope: Scope, *, limit: int, before: int | None) -> list[Memory]:
    """The newest memories of a scope, newest first."""
    rows = db.execute(
        f"SELECT {COLUMNS} FROM memories WHERE scope = ? AND number < ? ORDER BY number DESC LIMIT ?",
        (str(scope), before if before is not None else 1 << 62, limit),
    )
    return [memory_from(scope, row) for row in rows]


def numbered(db: sqlite3.Connection, scope: Scope, numbers: Sequence[int]) -> list[Memory]:
    """Some memories of a scope, by number."""
    marks = ", ".join("?" * len(numbers))
    rows = db.execute(
        f"SELECT {COLUMNS} FROM memories WHERE scope = ? AND number IN ({marks}) ORDER BY number",
        (str(scope), *numbers),
    )
    return [memory_from(scope, row) for row in rows]


def texts(db: sqlite3.Connection, scope: Scope, ids: Sequence[int]) -> list[tuple[int, str, float]]:
    """Id, text and time of the last change of some rows of a scope; those of others are not given."""
    marks = ", ".join("?" * len(ids))
    return db.execute(
        f"SELECT id, text, updated_at FROM memories WHERE +scope = ? AND id IN ({marks})", (str(scope), *ids)
    ).fetchall()


def by_ids(db: sqlite3.Connection, scope: Scope, ids: Sequence[int]) -> dict[int, Memory]:
    """Memories of a scope by the ids of their rows; those of others are not given."""
    marks = ", ".join("?" * len(ids))
    rows = db.execute(
        f"SELECT id, {COLUMNS} FROM memories WHERE +scope = ? AND id IN ({marks})", (str(scope), *ids)
    )
    return {id_: memory_from(scope, tuple(row)) for id_, *row in rows}


def memory_from(scope: Scope, row: Row) -> Memory:
    """Make a memory of the columns `COLUMNS`."""
    number, text, previous, origin, created_at, updated_at = row
    return Memory(
        scope=scope,
        number=number,
        text=text,
        previous=previous,
        origin=decode_origin(origin),
        created_at=datetime.fromtimestamp(created_at, UTC),
        updated_at=datetime.fromtimestamp(updated_at, UTC),
    )
