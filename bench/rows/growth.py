"""What a long past costs a turn: of one session, and of the whole store."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from statistics import median

from bench.load import SECONDS
from bench.place import Effort, Place
from bench.results import Result, percentile, row
from bench.speakers import CHANNEL, Speaker, answer, bot
from memory.database import DATABASE, connect, migrate

LONG: dict[Effort, int] = {"full": 10_000, "quick": 10_000, "tiny": 40}
STORED: dict[Effort, int] = {"full": 100_000, "quick": 20_000, "tiny": 40}
TURNS: dict[Effort, int] = {"full": 100, "quick": 50, "tiny": 2}
ROUNDS: dict[Effort, int] = {"full": 9, "quick": 3, "tiny": 1}
SHORT = 10  # messages
SPREAD = 7_919  # a prime: goes through the stored sessions in a scattered order
LINE = "A line of some forty characters or so. "


async def measure(place: Place) -> list[Result]:
    """Turns alternate between the two sides, so that what the machine does meanwhile hits both."""
    return [*await _long_session(place), *await _full_store(place)]


async def _long_session(place: Place) -> list[Result]:
    effort, home = place.effort, place.path / "long"
    sides = TURNS[effort] * (ROUNDS[effort] + 1)
    _seed(home, [("long", LONG[effort]), *((f"short{n}", SHORT) for n in range(sides))])
    async with bot(home, place.now, synchronous="NORMAL") as speaker:
        ratio = await _compare((speaker, ["long"]), (speaker, [f"short{n}" for n in range(sides)]), effort)
    return [row(f"turn with {LONG[effort]:,} stored messages to one with {SHORT}", ratio, "x", at_most=1.5)]


async def _full_store(place: Place) -> list[Result]:
    effort, stored = place.effort, STORED[place.effort]
    _seed(place.path / "full", [(f"stored{n}", 2) for n in range(stored)])
    sides = TURNS[effort] * (ROUNDS[effort] + 1)
    known = [f"stored{n * SPREAD % stored}" for n in range(sides)]
    fresh = [f"new{n}" for n in range(sides)]
    _seed(place.path / "empty", [("stored0", 2)])
    async with (
        bot(place.path / "full", place.now, synchronous="NORMAL") as full,
        bot(place.path / "empty", place.now, synchronous="NORMAL") as empty,
    ):
        new = await _compare((full, fresh), (empty, fresh), effort)
        old = await _compare((full, known), (empty, ["stored0"]), effort)
    return [
        row(f"turn of a new session, {stored:,} stored to none", new, "x", at_most=1.1),
        row(f"turn of a stored session, one of {stored:,} to the only one", old, "x"),
    ]


async def _compare(
    ours: tuple[Speaker, list[str]], theirs: tuple[Speaker, list[str]], effort: Effort
) -> float:
    """The median, over the rounds, of the ratio of the medians; both sides go round their chats."""
    ratios: list[float] = []
    number = 0
    began = time.monotonic()
    for _ in range(ROUNDS[effort] + 1):
        left: list[float] = []
        right: list[float] = []
        for _ in range(TURNS[effort]):
            for (speaker, chats), times in ((ours, left), (theirs, right)):
                times.append((await answer(speaker, chats[number % len(chats)])).seconds)
            number += 1
        ratios.append(percentile(left, 50) / percentile(right, 50))
        if time.monotonic() - began > SECONDS:
            break
    return median(ratios[1:])  # the first round was the warm-up


def _seed(home: Path, sessions: list[tuple[str, int]]) -> None:
    """Write sessions with so many messages each, and the finished turns that they came from."""
    home.mkdir(parents=True)
    with closing(connect(home / DATABASE, "NORMAL")) as db:
        migrate(db)
        db.execute("BEGIN")
        _insert(db, sessions)
        db.execute("COMMIT")


def _insert(db: sqlite3.Connection, sessions: list[tuple[str, int]]) -> None:
    now = time.time()
    keys = [(f"{CHANNEL}:default:{chat}", messages) for chat, messages in sessions]
    db.executemany(
        "INSERT INTO messages (session, number, id, run, role, speaker, text, at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            (session, number, _id(session, number), _id(session, number | 1), role, "Ann", LINE * 3, now)
            for session, messages in keys
            for number, role in _lines(messages)
        ),
    )
    runs = [(_id(session, n), session) for session, messages in keys for n in range(1, messages + 1, 2)]
    db.executemany(
        "INSERT INTO journal (run, dedupe_key, session, state, attempts, message, accepted_at, ended_at)"
        " VALUES (?, ?, ?, 'done', 1, x'', ?, ?)",
        ((run, f"{CHANNEL}\x1fdefault\x1f{run}", session, now, now) for run, session in runs),
    )
    db.executemany(
        "INSERT INTO turns (run, session, state, attempt, started_at, ended_at)"
        " VALUES (?, ?, 'done', 1, ?, ?)",
        ((run, session, now, now) for run, session in runs),
    )


def _lines(messages: int) -> Iterator[tuple[int, str]]:
    return ((number, "user" if number % 2 else "assistant") for number in range(1, messages + 1))


def _id(session: str, number: int) -> str:
    return f"{session}-{number:08d}"
