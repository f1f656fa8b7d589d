"""mem0 as the long-term memory: it adds and searches, on our table and with our vectors.

It is loaded in the thread of the memory when it is first needed (2 s, 110 MB). What it would do by itself is
off: telemetry, its log of changes (which keeps what was deleted), its model (a prompt of 36 kB a turn, and a
fact is lost where the answer is spoiled), and the download of a spaCy model.
"""

import logging
import os
import sqlite3
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Final, TypeVar

from bot.errors import StoreError
from bot.long_term import Fact, Found, Memory, Origin, Scope
from bot.messages import encoder
from memory.long_term.embedding import Embedder, Thread
from memory.long_term.rows import Vector
from memory.long_term.shelf import Shelf, cleaned
from memory.long_term.shelved import Shelved, need

Result = TypeVar("Result")

PARTS: Final = "memory.long_term.mem0_parts"
LENGTH: Final = 512  # asked for by mem0's settings, used by none of our parts


class Mem0Memories(Shelved):
    """Fulfils `bot.long_term.LongTerm`.

    Args:
        database: The file of the bot's store.
        folder: Where mem0 may put its own settings.
        most: Memories of one scope.
    """

    def __init__(
        self,
        shelf: Shelf,
        embedder: Embedder,
        thread: Thread,
        *,
        database: Path,
        folder: Path,
        most: int,
    ) -> None:
        super().__init__(shelf)
        self._embedder = embedder
        self._thread = thread
        self._database = database
        self._folder = folder
        self._most = most
        self._texts: dict[str, bytes] = {}
        self._mem0: Any = None  # `Any`: mem0 has no types

    async def learn(self, scope: Scope, facts: Sequence[Fact], origin: Origin) -> Sequence[Memory]:
        """See the protocol."""
        need([scope])
        kept = cleaned(facts)
        vectors = await self.vectors_of(kept) if kept else []
        with self.shelf.adding(scope):
            numbers = [
                await self._run(partial(self._add, scope, fact, origin, vector))
                for fact, vector in zip(kept, vectors, strict=True)
            ]
        return await self.shelf.numbered(scope, [number for number in numbers if number is not None])

    async def search(
        self, scopes: Sequence[Scope], query: str, *, limit: int, threshold: float = 0.0
    ) -> Sequence[Found]:
        """See the protocol."""
        need(scopes)
        asked = [scope for scope in dict.fromkeys(scopes) if not self.shelf.is_known_empty(scope)]
        if not asked or not query.strip() or limit < 1:
            return ()
        standings = await self.shelf.standing(asked, (), 1)
        alive = [scope for scope, standing in zip(asked, standings, strict=True) if standing.version]
        if not alive:
            return ()
        (vector,) = await self._embedder.embed([query])
        scores: dict[int, float] = {}
        wanted = []
        for scope in alive:
            near = await self._run(partial(self._find, scope, query, vector, limit, threshold))
            scores |= near
            wanted.append((scope, tuple(near)))

        def score(id_: int, text: str) -> float:
            return scores[id_]

        return await self.shelf.best(wanted, score, limit=limit, threshold=0.0)

    async def vectors_of(self, facts: Sequence[Fact]) -> Sequence[Vector]:
        """Those of the embedder, which mem0 cannot do without."""
        return await self._embedder.embed([fact.text for fact in facts])

    async def aclose(self) -> None:
        """Close its connection."""
        await self._thread.run(self._close)

    async def _run(self, work: Callable[[], Result]) -> Result:
        try:
            return await self._thread.run(work)
        except sqlite3.Error as error:
            raise StoreError(f"the memory failed: {error}") from error

    def _add(self, scope: Scope, fact: Fact, origin: Origin, vector: Vector) -> int | None:
        """In the thread: keep a fact; gives its number, or nothing where it was known."""
        mem0 = self._open()
        self._texts[fact.text.strip()] = vector.data
        try:
            mem0.add(
                [{"role": "user", "content": fact.text}],
                user_id=import_module(PARTS).user_of(scope),
                metadata={"origin": encoder.encode(origin), "replaces": fact.replaces, "most": self._most},
                infer=False,
            )
        finally:
            self._texts.clear()
        number: int | None = mem0.vector_store.put
        return number

    def _find(
        self, scope: Scope, query: str, vector: Vector, limit: int, threshold: float
    ) -> dict[int, float]:
        """In the thread: the nearest rows of a scope, with mem0's score of meaning and words."""
        mem0 = self._open()
        self._texts[query.strip()] = vector.data
        try:
            found = mem0.search(
                query,
                filters={"user_id": import_module(PARTS).user_of(scope)},
                top_k=limit,
                threshold=threshold,
            )
        finally:
            self._texts.clear()
        return {int(one["id"]): float(one["score"]) for one in found["results"]}

    def _open(self) -> Any:  # `Any`: see above
        """In the thread: load mem0 and give it our parts, once."""
        if self._mem0 is not None:
            return self._mem0
        os.environ["MEM0_TELEMETRY"] = "False"  # both are read when it is imported
        os.environ["MEM0_DIR"] = str(self._folder)
        logging.getLogger("mem0").setLevel(logging.ERROR)  # it logs the text of memories
        main = import_module("mem0.memory.main")
        spacy = import_module("mem0.utils.spacy_models")
        for name in ("_load_failed_full", "_load_failed_lemma"):
            setattr(spacy, name, True)  # it would download a model
        for module in (main, import_module("mem0.memory.telemetry")):
            vars(module)["MEM0_TELEMETRY"] = False  # somebody else may have imported it before
        factories = import_module("mem0.utils.factory")
        base = import_module("mem0.configs.llms.base").BaseLlmConfig
        factories.LlmFactory.provider_to_class["langchain"] = (f"{PARTS}.NoModel", base)
        factories.EmbedderFactory.provider_to_class["langchain"] = f"{PARTS}.PreparedEmbedding"
        factories.VectorStoreFactory.provider_to_class["faiss"] = f"{PARTS}.SqliteVectors"
        self._mem0 = main.Memory.from_config(
            {
                "llm": {"provider": "langchain", "config": {}},
                "embedder": {
                    "provider": "langchain",
                    "config": {"model": self._texts, "embedding_dims": LENGTH},
                },
                "vector_store": {
                    "provider": "faiss",
                    "config": {"path": str(self._database), "collection_name": self._embedder.name},
                },
                "history_db_path": ":memory:",
            }
        )
        self._mem0.db.close()
        self._mem0.db = import_module(PARTS).NoHistory()
        return self._mem0

    def _close(self) -> None:
        if self._mem0 is not None:
            self._mem0.vector_store.close()
            self._mem0 = None
