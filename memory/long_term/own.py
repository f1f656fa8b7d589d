"""Our own long-term memory: words and meanings together, on the bot's store."""

import asyncio
import logging
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from typing import Final, Protocol

from bot.errors import ModelError
from bot.long_term import Fact, Found, Memory, Origin, Scope
from memory.long_term.embedding import Embedder, Thread
from memory.long_term.rows import Vector
from memory.long_term.shelf import Shelf, cleaned
from memory.long_term.shelved import Shelved, need
from memory.long_term.words import Share, words_of

log = logging.getLogger(__name__)

CANDIDATES: Final = 30  # rows of a scope that are looked at closely, by words and by meaning
FILLED: Final = 256  # texts without a vector that one search makes up for
WORDS_WEIGHT: Final = 0.3  # of what meaning leaves open
WORDS_ALONE: Final = 0.5  # of a threshold, where there are no vectors: a question has many words of its own
PATIENCE: Final = 1.5  # seconds that a search waits for vectors; the model takes longer when it is loaded


class Nearest(Protocol):
    """Finds what is near; `memory/long_term/matrices.py` fulfils it."""

    def has(self, scope: str, version: int) -> bool: ...

    def nearest(
        self, scope: str, version: int, vector: bytes, limit: int, rows: Sequence[tuple[int, bytes]] = ()
    ) -> list[tuple[int, float]]: ...

    def drop(self, scope: str) -> None: ...


class OwnMemories(Shelved):
    """Fulfils `bot.long_term.LongTerm`.

    Args:
        embedder: Without one, memories are found by their words alone.
        cache_mb: MB of vectors at hand.
    """

    def __init__(self, shelf: Shelf, embedder: Embedder | None, thread: Thread, *, cache_mb: int) -> None:
        super().__init__(shelf)
        self._embedder = embedder
        self._thread = thread
        self._cache_mb = cache_mb
        self._nearest: Nearest | None = None
        self._asking: set[asyncio.Task[list[Vector]]] = set()

    async def learn(self, scope: Scope, facts: Sequence[Fact], origin: Origin) -> Sequence[Memory]:
        """See the protocol."""
        need([scope])
        kept = cleaned(facts)
        if not kept:
            return ()
        return await self.shelf.put(scope, kept, origin, await self.vectors_of(kept))

    async def search(
        self, scopes: Sequence[Scope], query: str, *, limit: int, threshold: float = 0.0
    ) -> Sequence[Found]:
        """See the protocol."""
        need(scopes)
        asked = [scope for scope in dict.fromkeys(scopes) if not self.shelf.is_known_empty(scope)]
        if not asked or not query.strip() or limit < 1:
            return ()
        words = words_of(query)
        standings = await self.shelf.standing(asked, words, CANDIDATES)
        alive = [pair for pair in zip(asked, standings, strict=True) if pair[1].version]
        if not alive:
            return ()
        vector = await self._vector_of(query)
        likeness = [
            {} if vector is None else await self._near(scope, standing.version, vector)
            for scope, standing in alive
        ]
        wanted = [
            (scope, tuple(dict.fromkeys((*near, *standing.having))))
            for (scope, standing), near in zip(alive, likeness, strict=True)
        ]
        unlike = None if vector is None else 0.0
        meanings = {id_: value for near in likeness for id_, value in near.items()}
        share = Share(words)

        def score(id_: int, text: str) -> float:
            return _score(share.of(text), meanings.get(id_, unlike))

        least = threshold if vector is not None else threshold * WORDS_ALONE
        return await self.shelf.best(wanted, score, limit=limit, threshold=least)

    async def forget(self, scope: Scope, number: int | None = None) -> int:
        """See the protocol; versions of a scope that is begun anew count from 1 again."""
        gone = await super().forget(scope, number)
        if number is None and self._nearest is not None:
            await self._thread.run(partial(self._nearest.drop, str(scope)))
        return gone

    async def aclose(self) -> None:
        """Let go of what is still being asked for."""
        for task in self._asking:
            task.cancel()
        if self._asking:
            await asyncio.wait(self._asking)

    async def vectors_of(self, facts: Sequence[Fact]) -> Sequence[Vector | None]:
        """None where there is nothing to make them: a search makes up for it."""
        none = [None] * len(facts)
        if self._embedder is None:
            return none
        try:
            return await self._embedder.embed([fact.text for fact in facts])
        except ModelError as error:
            log.warning("memory kept without its meaning", extra={"cause": str(error)})
            return none

    async def _vector_of(self, query: str) -> Vector | None:
        """The vector of a query; `None` where it is not there in time, and words have to do."""
        if self._embedder is None:
            return None
        task = asyncio.create_task(self._embedder.embed([query]), name="embed query")
        self._asking.add(task)
        task.add_done_callback(self._asking.discard)
        try:  # shielded: a model that is being loaded for this query is there for the next one
            (vector,) = await asyncio.wait_for(asyncio.shield(task), PATIENCE)
        except TimeoutError:
            task.add_done_callback(_note_failure)
            return None
        except ModelError as error:
            log.warning("memory searched by words alone", extra={"cause": str(error)})
            return None
        return vector

    async def _near(self, scope: Scope, version: int, vector: Vector) -> dict[int, float]:
        kept = await self._thread.run(partial(self._look, scope, version, vector))
        if kept is None:
            await self._fill(scope)
            version = (await self.shelf.standing([scope], (), 1))[0].version
            rows = await self.shelf.vectors(scope, vector.model)
            kept = await self._thread.run(partial(self._look, scope, version, vector, rows))
        return dict(kept or ())

    def _look(
        self, scope: Scope, version: int, vector: Vector, rows: Sequence[tuple[int, bytes]] | None = None
    ) -> Sequence[tuple[int, float]] | None:
        """In the thread: the nearest rows; `None` where the vectors are not at hand and were not given."""
        if self._nearest is None:
            nearest: Nearest = import_module("memory.long_term.matrices").Matrices(self._cache_mb)
            self._nearest = nearest
        if rows is None and not self._nearest.has(str(scope), version):
            return None
        return self._nearest.nearest(str(scope), version, vector.data, CANDIDATES, rows or ())

    async def _fill(self, scope: Scope) -> None:
        """Make up for vectors that are missing: kept without a model, or made by another one."""
        if self._embedder is None:
            return
        texts = await self.shelf.without_vector(scope, self._embedder.name, FILLED)
        if not texts:
            return
        try:
            vectors = await self._embedder.embed([text for _, text in texts])
        except ModelError as error:
            log.warning("memories stay without their meaning", extra={"cause": str(error)})
            return
        await self.shelf.give_vectors(scope, texts, vectors)


def _score(share: float, meaning: float | None) -> float:
    if meaning is None:
        return share
    near = max(0.0, min(1.0, meaning))
    return near + WORDS_WEIGHT * share * (1 - near)


def _note_failure(task: asyncio.Task[list[Vector]]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        log.warning("memory searched by words alone", extra={"cause": str(error)})
