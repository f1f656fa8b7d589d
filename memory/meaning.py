"""Finds what was said by its meaning as well as by its words, in one chat."""

import asyncio
import logging
import time
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from typing import Final, Protocol

from bot.errors import ModelError
from bot.messages import SessionKey
from bot.tools.recall import Said
from memory.database import Database
from memory.line_vectors import Line, LineVectors
from memory.long_term.embedding import Embedder, Thread
from memory.long_term.rows import Vector
from memory.recall import Reach, Recall

log = logging.getLogger(__name__)

SECONDS: Final = 2.0  # that vectors may take a search
FILLING: Final = 1.4  # of these, to make the ones that lines lack
FILLED: Final = 1_000  # lines that a search gives one at the most
BATCH: Final = 32  # some 100 ms of the local model, for which turns may have to wait
REST: Final = 10.0  # seconds in which nothing is asked of what has failed
CLOSE: Final = 0.25  # the least likeness, from -1 to 1; what have nothing in common come to 0.2
DAMPING: Final = 60  # how little the places at the top differ
REFUSED: Final = frozenset((400, 413, 422, 500))  # HTTP status for a text that is too long


class Matrices(Protocol):
    """Compares vectors; `memory/long_term/matrices.py` fulfils it."""

    def among(
        self, rows: Sequence[tuple[int, bytes]], vector: bytes, limit: int
    ) -> list[tuple[int, float]]: ...


class RecallByMeaning:
    """Fulfils `bot.tools.recall.Lines`.

    The newest lines of a chat get their vectors when somebody searches there, as many at a time as there is
    time for. Without vectors the words decide, as they do where there is no embedder.

    Args:
        seconds: That a search spends on vectors at the most.
        filling: Seconds of these to make the ones that lines lack.
        rest: Seconds for which an embedder that has failed is left alone.
    """

    def __init__(
        self,
        database: Database,
        recall: Recall,
        embedder: Embedder,
        thread: Thread,
        *,
        seconds: float = SECONDS,
        filling: float = FILLING,
        rest: float = REST,
    ) -> None:
        self._vectors = LineVectors(database)
        self._recall = recall
        self._embedder = embedder
        self._thread = thread
        self._seconds = seconds
        self._filling = filling
        self._rest = rest
        self._rests_until = 0.0
        self._has_failed = False
        self._matrices: Matrices | None = None

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
        """See the protocol."""
        by_words = await self._recall.search(chat, session, words, limit, is_seen=is_seen)
        if not meaning.strip() or time.monotonic() < self._rests_until:
            return by_words
        try:
            async with asyncio.timeout(self._seconds):
                by_meaning = await self._near(Reach(chat, session, is_seen), meaning, limit)
        except (ModelError, TimeoutError) as error:
            self._rests_until = time.monotonic() + self._rest
            self._note(error)
            return by_words
        return fused(by_words, by_meaning)[:limit]

    async def _near(self, reach: Reach, meaning: str, limit: int) -> list[Said]:
        (vector,) = await self._embedder.embed([meaning])
        lines = await self._vectors.newest(reach, vector)
        rows = [(line.id, line.vector) for line in lines if line.vector is not None]
        rows += await self._fill([line for line in lines if line.vector is None][:FILLED])
        if not rows:
            return []
        found = await self._thread.run(partial(self._look, rows, vector, limit))
        return await self._vectors.said(reach, [id_ for id_, likeness in found if likeness >= CLOSE])

    def _look(self, rows: Sequence[tuple[int, bytes]], vector: Vector, limit: int) -> list[tuple[int, float]]:
        """In the thread: the nearest rows."""
        if self._matrices is None:
            matrices: Matrices = import_module("memory.long_term.matrices").Matrices(0)
            self._matrices = matrices
        return self._matrices.among(rows, vector.data, limit)

    async def _fill(self, lines: Sequence[Line]) -> list[tuple[int, bytes]]:
        """Give vectors to lines, as far as there is time; the next searches do the rest."""
        made: list[tuple[int, bytes]] = []
        try:
            async with asyncio.timeout(self._filling):
                for first in range(0, len(lines), BATCH):
                    batch = lines[first : first + BATCH]
                    ids = [line.id for line in batch]
                    vectors = await self._made([line.text for line in batch])
                    await self._vectors.give(ids, vectors)
                    made += zip(ids, (vector.data for vector in vectors), strict=True)
        except TimeoutError as error:
            if not made:
                self._note(error)
        except ModelError as error:
            self._note(error)
        else:
            self._has_failed = False
        return made

    async def _made(self, texts: Sequence[str]) -> list[Vector]:
        """A vector for each text; an empty one for what is refused, though what was looked for was taken."""
        try:
            return await self._embedder.embed(texts)
        except ModelError as error:
            if error.status not in REFUSED:
                raise
            if len(texts) == 1:
                return [Vector(model=self._embedder.name, data=b"")]
        return [vector for text in texts for vector in await self._made([text])]

    def _note(self, error: Exception) -> None:
        """Say so, once until it goes well again."""
        if not self._has_failed:
            log.warning("history without vectors", extra={"cause": str(error) or "timeout"})
        self._has_failed = True


def fused(by_words: Sequence[Said], by_meaning: Sequence[Said]) -> list[Said]:
    """Both lists as one, by the sum of reciprocal ranks; of equals, what has the words comes first.

    Source: Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms Condorcet and individual Rank
    Learning Methods", SIGIR 2009, which also has the 60.
    """
    said: dict[tuple[SessionKey, int], Said] = {}
    points: dict[tuple[SessionKey, int], float] = {}
    for ranked in (by_words, by_meaning):
        for rank, one in enumerate(ranked, start=1):
            key = (one.session, one.line.number)
            said.setdefault(key, one)
            points[key] = points.get(key, 0.0) + 1 / (DAMPING + rank)
    return [said[key] for key in sorted(points, key=lambda key: -points[key])]
