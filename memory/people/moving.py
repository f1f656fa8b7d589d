"""Memories of people who become one, and of those who part again, by the transaction that does it.

Each move changes where the memories of all who take part are kept: what a turn still writes to the old place
is reached by nobody, until `gather` puts it where it belongs.
"""

import secrets
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from bot.long_term import Scope
from memory.long_term.rows import decode_origin, tag
from memory.long_term.words import to_index

FRESH: Final = "~"  # and no colon behind it, which every identity has
COPIED: Final = "text, digest, how, session, origin, model, vector, created_at, updated_at"


def fresh_key() -> str:
    """A key that nothing was ever kept under."""
    return f"{FRESH}{secrets.token_hex(12)}"


def scope_of(key: str) -> Scope:
    """The scope of a person with a key."""
    return Scope(kind="person", key=key)


def join(db: sqlite3.Connection, sources: Sequence[tuple[str, Sequence[str]]], target: str) -> None:
    """Put memories together under a fresh key; what several know is kept once.

    Args:
        sources: Keys with the identities that they stand for; the numbers of the first stay.
    """
    for key, identities in sources:
        for id_, digest in _rows(db, key):
            homes = identities if len(identities) == 1 else _homes(db, id_, identities)
            _take_in(db, id_, digest, target, homes)
        _touch(db, key)
    _touch(db, target)


def part(
    db: sqlite3.Connection, source: str, identity: str, others: Sequence[str], targets: tuple[str, str]
) -> None:
    """Give an identity what stems from it, and the others the rest.

    What it said before it was put right may stem from the other side: that is not kept.

    Args:
        targets: The key of the one, and that of the others.
    """
    alone, left = targets
    for id_, digest in _rows(db, source):
        db.execute("UPDATE memories SET previous = NULL WHERE id = ?", (id_,))
        homes = _homes(db, id_, (identity, *others))
        if identity not in homes:
            _move_once(db, id_, digest, left)
            continue
        if len(homes) > 1:
            _copy(db, id_, digest, left, homes - {identity})
        _move_once(db, id_, digest, alone)
        db.execute("DELETE FROM memory_homes WHERE memory = ?", (id_,))
    for key in (source, alone, left):
        _touch(db, key)


def gather(db: sqlite3.Connection, keys: Mapping[str, str]) -> None:
    """Put what was written late, under a key that holds no more, to whom it stems from.

    Args:
        keys: Those of identities that are linked.
    """
    for identity, key in keys.items():
        for id_, digest in _rows(db, identity):
            _take_in(db, id_, digest, key, [identity])
            _touch(db, key)
        _touch(db, identity)
    for id_, digest, by in _late(db):
        key = keys.get(by, by)
        _move_once(db, id_, digest, key)
        _touch(db, key)


def is_any_late(db: sqlite3.Connection) -> bool:
    """Whether something is under a key that holds no more."""
    return bool(_late(db))


def erase(db: sqlite3.Connection, key: str, identities: Sequence[str]) -> None:
    """Delete what is remembered of somebody, what was written late, too."""
    for one in (key, *identities):
        db.execute("DELETE FROM memories WHERE scope = ?", (str(scope_of(one)),))
        _touch(db, one)
    ids = [(id_,) for id_, _, by in _late(db) if by in identities]
    db.executemany("DELETE FROM memories WHERE id = ?", ids)


def _late(db: sqlite3.Connection) -> list[tuple[int, str, str]]:
    """Ids and digests of what is under a fresh key that nobody has any more, and who has said it."""
    begin = str(scope_of(FRESH))
    found = db.execute(
        "SELECT id, digest, origin FROM memories WHERE scope >= ? AND scope < ?"
        " AND instr(substr(scope, ?), ':') = 0"
        " AND substr(scope, ?) NOT IN (SELECT key FROM people WHERE key IS NOT NULL)",
        (begin, f"{begin}\x7f", len(begin), len(begin)),
    ).fetchall()
    return [(id_, digest, decode_origin(origin).by) for id_, digest, origin in found]


def _rows(db: sqlite3.Connection, key: str) -> list[tuple[int, str]]:
    """Ids and digests, in the order of the numbers."""
    return db.execute(
        "SELECT id, digest FROM memories WHERE scope = ? ORDER BY number", (str(scope_of(key)),)
    ).fetchall()


def _holding(db: sqlite3.Connection, key: str, digest: str) -> int | None:
    """The memory under a key that says the same."""
    row = db.execute(
        "SELECT id FROM memories WHERE scope = ? AND digest = ?", (str(scope_of(key)), digest)
    ).fetchone()
    return row[0] if row else None


def _homes(db: sqlite3.Connection, id_: int, identities: Sequence[str]) -> set[str]:
    """The identities that a memory stems from."""
    kept = {name for (name,) in db.execute("SELECT identity FROM memory_homes WHERE memory = ?", (id_,))}
    if not kept:
        (origin,) = db.execute("SELECT origin FROM memories WHERE id = ?", (id_,)).fetchone()
        kept = {decode_origin(origin).by}
    return kept & set(identities)


def _add_homes(db: sqlite3.Connection, id_: int, identities: Iterable[str]) -> None:
    db.executemany(
        "INSERT OR IGNORE INTO memory_homes (memory, identity) VALUES (?, ?)",
        [(id_, identity) for identity in identities],
    )


def _number(db: sqlite3.Connection, scope: Scope, wanted: int) -> int:
    """A number that the scope has never given: the wanted one, if it can be."""
    row = db.execute("SELECT last FROM memory_scopes WHERE scope = ?", (str(scope),)).fetchone()
    number = max(wanted, row[0] + 1 if row else 1)
    db.execute(
        "INSERT INTO memory_scopes (scope, last, version) VALUES (?, ?, 1)"
        " ON CONFLICT (scope) DO UPDATE SET last = excluded.last",
        (str(scope), number),
    )
    return number


def _move(db: sqlite3.Connection, id_: int, key: str) -> None:
    scope = scope_of(key)
    number, text = db.execute("SELECT number, text FROM memories WHERE id = ?", (id_,)).fetchone()
    db.execute(
        "UPDATE memories SET scope = ?, number = ? WHERE id = ?",
        (str(scope), _number(db, scope, number), id_),
    )
    db.execute("UPDATE memory_words SET words = ? WHERE rowid = ?", (to_index(text, tag(scope)), id_))


def _take_in(db: sqlite3.Connection, id_: int, digest: str, key: str, homes: Iterable[str]) -> None:
    """Move a memory, and keep in mind where it comes from; what is known there has one more home."""
    _move_once(db, id_, digest, key)
    if (kept := _holding(db, key, digest)) is not None:
        _add_homes(db, kept, homes)


def _move_once(db: sqlite3.Connection, id_: int, digest: str, key: str) -> None:
    """Move a memory, unless the same is known there."""
    if _holding(db, key, digest) is None:
        _move(db, id_, key)
    else:
        db.execute("DELETE FROM memories WHERE id = ?", (id_,))


def _copy(db: sqlite3.Connection, id_: int, digest: str, key: str, homes: Iterable[str]) -> None:
    if _holding(db, key, digest) is not None:
        return
    scope = scope_of(key)
    wanted, text = db.execute("SELECT number, text FROM memories WHERE id = ?", (id_,)).fetchone()
    number = _number(db, scope, wanted)
    row = db.execute(
        f"INSERT INTO memories (scope, number, {COPIED}) SELECT ?, ?, {COPIED} FROM memories WHERE id = ?",
        (str(scope), number, id_),
    )
    assert row.lastrowid is not None
    _add_homes(db, row.lastrowid, homes)
    db.execute(
        "INSERT INTO memory_words (rowid, words) VALUES (?, ?)", (row.lastrowid, to_index(text, tag(scope)))
    )


def _touch(db: sqlite3.Connection, key: str) -> None:
    """Have nobody trust vectors that they hold; of a fresh key without memories nothing stays."""
    scope = str(scope_of(key))
    db.execute("UPDATE memory_scopes SET version = version + 1 WHERE scope = ?", (scope,))
    if key.startswith(FRESH) and not _rows(db, key):
        db.execute("DELETE FROM memory_scopes WHERE scope = ?", (scope,))
