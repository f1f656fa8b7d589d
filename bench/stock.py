"""A million memories and messages, made by the database itself: row by row they would take minutes."""

import random
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from bot.long_term import Origin
from bot.messages import encoder
from memory.long_term.words import tag_of, to_index

SEED: Final = 7
SYLLABLES: Final = ("ka", "lo", "mi", "ter", "san", "vo", "ri", "den", "pul", "ex", "天气", "明天")
HALF: Final = 4  # words
POOL: Final = 20_000  # halves of sentences
FEW: Final = 10  # memories of everybody
SESSIONS: Final = 1_000
SESSION: Final = "bench:default:"
ORIGIN: Final = Origin(how="learned", by="bench:1")
NUMBERS: Final = (
    "WITH RECURSIVE numbers (n) AS (SELECT ? UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < ?)"
)
# By a prime, and by the round: the second halves come in another order each time.
HALVES: Final = (
    f"JOIN pool a ON a.n = numbers.n % {POOL}"
    f" JOIN pool b ON b.n = (numbers.n * 7919 + numbers.n / {POOL}) % {POOL}"
)


def sentences() -> Iterator[str]:
    """Sentences without end, of words of which some are common and most are rare."""
    chosen = random.Random(SEED)
    words = ["".join(chosen.choices(SYLLABLES, k=chosen.randint(1, 4))) for _ in range(20_000)]
    while True:
        yield " ".join(words[int(chosen.paretovariate(0.5)) % len(words)] for _ in range(2 * HALF))


def fill_pool(db: sqlite3.Connection, texts: Iterator[str]) -> None:
    """Halves of sentences, and their words as the indexes keep them."""
    db.execute("CREATE TEMP TABLE pool (n INTEGER PRIMARY KEY, text TEXT, words TEXT)")
    halves = (" ".join(text.split()[at : at + HALF]) for text in texts for at in (0, HALF))
    rows = ((n, half, to_index(half)) for n, half in zip(range(POOL), halves, strict=False))
    db.executemany("INSERT INTO pool VALUES (?, ?, ?)", rows)


def fill_memories(db: sqlite3.Connection, count: int) -> None:
    """Memories of people who have `FEW` each, without vectors."""
    _fill_names(db, "people", [f"person:bench:{number}" for number in range(-(-count // FEW))])
    (last,) = db.execute("SELECT coalesce(max(id), 0) FROM memories").fetchone()
    with _without_triggers(db, "memories"):
        db.execute(
            f"{NUMBERS} INSERT INTO memories"
            " (id, scope, number, text, digest, how, origin, created_at, updated_at)"
            " SELECT ? + 1 + numbers.n, name, numbers.n % ? + 1, text, numbers.n, 'learned', ?, 0, 0"
            " FROM numbers JOIN people p ON p.n = numbers.n / ? JOIN pool l ON l.n = numbers.n % ?",
            (0, count, last, FEW, encoder.encode(ORIGIN), FEW, POOL),
        )
    db.execute(
        f"{NUMBERS} INSERT INTO memory_words (rowid, words)"
        " SELECT ? + 1 + numbers.n, tag || replace(words, ' ', ' ' || tag)"
        " FROM numbers JOIN people p ON p.n = numbers.n / ? JOIN pool l ON l.n = numbers.n % ?",
        (0, count, last, FEW, POOL),
    )
    db.execute(
        "INSERT INTO memory_scopes (scope, last, version)"
        " SELECT scope, max(number), count(*) FROM memories WHERE id > ? GROUP BY scope",
        (last,),
    )


def fill_history(db: sqlite3.Connection, count: int) -> None:
    """Lines of many sessions that are in the index already."""
    with _without_triggers(db, "messages"):
        add_lines(db, 0, count)
    _fill_names(db, "places", [f"{SESSION}{number}" for number in range(SESSIONS)])
    db.execute(
        f"{NUMBERS} INSERT INTO lines (id, session, number)"
        " SELECT n + 1, ? || (n % ?), n / ? + 1 FROM numbers",
        (0, count, SESSION, SESSIONS, SESSIONS),
    )
    db.execute(
        f"{NUMBERS} INSERT INTO line_words (rowid, words)"
        " SELECT numbers.n + 1, tag || ' ' || a.words || ' ' || b.words"
        f" FROM numbers JOIN places p ON p.n = numbers.n % {SESSIONS} {HALVES}",
        (0, count),
    )
    # ids of lines that wait go on from those that do not
    db.execute("INSERT INTO lines_waiting (id, session, number) VALUES (?, '', 0)", (count,))
    db.execute("DELETE FROM lines_waiting")


def add_lines(db: sqlite3.Connection, start: int, end: int) -> None:
    """Lines of history: all sessions go on side by side, and are written one after another."""
    rounds = (end - start) // SESSIONS
    db.execute(
        f"{NUMBERS}, lines_of (n, session, number)"
        " AS (SELECT ? + n % ? * ? + n / ?, ? || (n / ?), ? + n % ? + 1 FROM numbers)"
        " INSERT INTO messages (session, number, id, run, role, speaker, text, at)"
        " SELECT session, number, numbers.n, numbers.n, 'user', 'Ann', a.text || ' ' || b.text, 0"
        f" FROM lines_of numbers {HALVES}",
        (0, end - start, start, rounds, SESSIONS, rounds, SESSION, rounds, start // SESSIONS, rounds),
    )


def _fill_names(db: sqlite3.Connection, table: str, names: Sequence[str]) -> None:
    """Names with what stands for them in an index."""
    db.execute(f"CREATE TEMP TABLE {table} (n INTEGER PRIMARY KEY, name TEXT, tag TEXT)")
    rows = ((number, name, tag_of(name)) for number, name in enumerate(names))
    db.executemany(f"INSERT INTO {table} VALUES (?, ?, ?)", rows)


@contextmanager
def _without_triggers(db: sqlite3.Connection, table: str) -> Iterator[None]:
    """What they would do a million times is done at once."""
    triggers = db.execute(
        "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = ?", (table,)
    ).fetchall()
    for name, _ in triggers:
        db.execute(f"DROP TRIGGER {name}")
    yield
    for _, statement in triggers:
        db.execute(statement)
