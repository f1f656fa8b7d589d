"""What mem0 is given in the place of its own parts: our table for its vectors, our vectors, and no model.

Its factories make these by their import path, in the thread of the memory.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol
from urllib.parse import quote, unquote

import numpy as np

from bot.long_term import Fact, Memory, Scope
from memory.database import connect
from memory.long_term import rows
from memory.long_term.matrices import Matrices
from memory.long_term.rows import Vector, decode_origin
from memory.long_term.shelf import SEARCHED
from memory.long_term.words import Share, asked, words_of

MB: Final = 64
USER: Final = "user_id"
BM25_TOP: Final = 20.0  # what mem0 takes for a text that has all words


class Point(NamedTuple):
    """A row as mem0 reads it."""

    id: str
    score: float
    payload: dict[str, Any]  # `Any`: mem0's own


class Texts(Protocol):
    """Vectors that were made before mem0 asks for them."""

    def __getitem__(self, text: str) -> bytes: ...


class PreparedEmbedding:
    """Fulfils `mem0.embeddings.base.EmbeddingBase`: gives vectors that are there already.

    Args:
        config: Its `model` is the `Texts`.
    """

    def __init__(self, config: Any) -> None:  # `Any`: mem0's own
        self.config = config
        self._texts: Texts = config.model

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """The vector of a text."""
        values: list[float] = np.frombuffer(self._texts[text.strip()], "<f2").astype(float).tolist()
        return values

    def embed_batch(self, texts: Sequence[str], memory_action: str = "add") -> list[list[float]]:
        """Those of several."""
        return [self.embed(text) for text in texts]


class NoModel:
    """Fulfils `mem0.llms.base.LLMBase` for a mem0 that is never to ask a model."""

    def __init__(self, config: object) -> None:
        self.config = config

    def generate_response(self, *_: object, **__: object) -> str:
        """Refuse."""
        raise RuntimeError("facts are found before mem0 gets them")


class NoHistory:
    """In the place of mem0's log of changes, which would keep what was forgotten."""

    def add_history(self, *_: object, **__: object) -> None:
        """Keep nothing."""

    def close(self) -> None:
        """There is nothing to close."""


class SqliteVectors:
    """Fulfils `mem0.vector_stores.base.VectorStoreBase` on the table of memories.

    Every method that finds rows takes the scope from `user_id` in the filters, and raises without one.

    mem0 adds rows and searches. It would change and delete by an id alone, which says nothing of the scope:
    that is not for it to do.

    Attributes:
        put: Number of the memory that the last `insert` kept; `None` where it was known.
    """

    def __init__(self, path: str, collection_name: str, **_: object) -> None:
        self._db = connect(Path(path), "FULL")
        self._model = collection_name  # what makes the vectors; they are of no use to another
        self._matrices = Matrices(MB)
        self.put: int | None = None

    def insert(
        self,
        vectors: Sequence[Sequence[float]],
        payloads: Sequence[Mapping[str, Any]],
        ids: Sequence[str],
    ) -> None:
        """Keep memories; their ids are given by the table."""
        for values, payload in zip(vectors, payloads, strict=True):
            scope, origin = _scope(payload), decode_origin(payload["origin"])
            with self._transaction():
                self.put = rows.put(
                    self._db,
                    scope,
                    Fact(text=payload["data"], replaces=payload.get("replaces")),
                    origin,
                    self._vector(values),
                    most=payload["most"],
                )

    def search(
        self, query: str, vectors: Sequence[float], top_k: int = 5, filters: Mapping[str, Any] | None = None
    ) -> list[Point]:
        """The nearest of a scope."""
        scope = _scope(filters)
        row = self._db.execute("SELECT version FROM memory_scopes WHERE scope = ?", (str(scope),)).fetchone()
        if row is None:
            return []
        known = self._matrices.has(str(scope), row[0])
        found = (
            ()
            if known
            else self._db.execute(
                "SELECT id, vector FROM memories WHERE scope = ? AND model = ? ORDER BY number DESC LIMIT ?",
                (str(scope), self._model, SEARCHED),
            ).fetchall()
        )
        near = self._matrices.nearest(str(scope), row[0], self._vector(vectors).data, top_k, found)
        kept = rows.by_ids(self._db, scope, [id_ for id_, _ in near])
        return [_point(id_, kept[id_], max(0.0, score)) for id_, score in near if id_ in kept]

    def keyword_search(
        self, query: str, top_k: int = 5, filters: Mapping[str, Any] | None = None
    ) -> list[Point]:
        """Memories of a scope with words of a text."""
        scope, words = _scope(filters), words_of(query)
        if not words:
            return []
        found = self._db.execute(
            "SELECT rowid FROM memory_words WHERE memory_words MATCH ? ORDER BY rowid DESC LIMIT ?",
            (asked(words, tag=rows.tag(scope), is_prefix=True), top_k),
        ).fetchall()
        kept = rows.by_ids(self._db, scope, [id_ for (id_,) in found])
        share = Share(words)
        points = [_point(id_, one, BM25_TOP * share.of(one.text)) for id_, one in kept.items()]
        return sorted(points, key=lambda point: -point.score)

    def close(self) -> None:
        """Close the connection."""
        self._db.close()

    def _vector(self, values: Sequence[float]) -> Vector:
        return Vector(model=self._model, data=np.asarray(values, "<f2").tobytes())

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")


def user_of(scope: Scope) -> str:
    """A scope as mem0 takes it: it trims names and wants no spaces in them."""
    return quote(str(scope), safe="")


def _scope(filters: Mapping[str, Any] | None) -> Scope:
    """Whose rows are meant.

    Raises:
        ValueError: It is not said.
    """
    kind, _, key = unquote(str((filters or {}).get(USER, ""))).partition(":")
    return Scope(kind="chat" if kind == "chat" else "person", key=key)


def _point(id_: int, memory: Memory, score: float) -> Point:
    payload = {"data": memory.text, USER: user_of(memory.scope), "created_at": memory.created_at.isoformat()}
    return Point(str(id_), score, payload)
