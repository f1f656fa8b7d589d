"""The memories in the bot's database, for whatever searches them."""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, TypeAlias

from msgspec.structs import replace

from bot.long_term import Fact, Found, Memory, Origin, Scope, tidy
from memory.database import Database
from memory.long_term import rows
from memory.long_term.rows import Vector
from memory.long_term.words import asked

STAGES = ((True, False), (False, False), (False, True))  # all words, any, any that begin like one
FEW_WORDS = 4  # more than these no memory has all of
SEARCHED = 20_000  # newest memories of a scope
Score: TypeAlias = Callable[[int, str], float]  # of a row's id and text

MAX_KNOWN_EMPTY = 10_000  # scopes


class Standing(NamedTuple):
    """How a scope is: how often it has changed, and the rows that have words of a query."""

    version: int
    having: tuple[int, ...]


class Shelf:
    """Reads and writes the rows; each method is for one scope, and reaches no other.

    Args:
        most: Memories of one scope.
    """

    def __init__(self, database: Database, *, most: int) -> None:
        self._database = database
        self._most = most
        self._empty: dict[Scope, None] = {}  # asked before, and had nothing: a turn there costs nothing
        self._additions = 0  # begun and ended

    def is_known_empty(self, scope: Scope) -> bool:
        """Whether it is certain that a scope has no memories; False where nobody has looked."""
        return scope in self._empty

    @contextmanager
    def adding(self, scope: Scope) -> Iterator[None]:
        """Know a scope as empty no longer, whoever looked into it while something was written."""
        try:
            yield
        finally:
            self._additions += 1
            self._empty.pop(scope, None)

    async def put(
        self, scope: Scope, facts: Sequence[Fact], origin: Origin, vectors: Sequence[Vector | None]
    ) -> list[Memory]:
        """Keep facts, all or none; gives those that were not known."""

        def job(db: sqlite3.Connection) -> list[Memory]:
            numbers = [
                rows.put(db, scope, fact, origin, vector, most=self._most)
                for fact, vector in zip(facts, vectors, strict=True)
            ]
            return rows.numbered(db, scope, [number for number in numbers if number is not None])

        with self.adding(scope):
            return await self._database.write(job)

    async def change(
        self, scope: Scope, number: int, text: str, origin: Origin, vector: Vector | None
    ) -> Memory | None:
        """Let a memory say something else."""

        def job(db: sqlite3.Connection) -> Memory | None:
            rows.change(db, scope, number, text, origin, vector)
            found = rows.numbered(db, scope, [number])
            return found[0] if found and found[0].text == text else None

        return await self._database.write(job)

    async def drop(self, scope: Scope, number: int | None) -> int:
        """Delete one, or all."""
        return await self._database.write(lambda db: rows.drop(db, scope, number))

    async def move(self, source: Scope, target: Scope) -> int:
        """Give all memories of one scope to another; what that knows already is not kept twice."""
        found = await self.all(source)

        def job(db: sqlite3.Connection) -> int:
            vectors = _vectors(db, source)
            moved = [
                rows.put(db, target, Fact(text=one.text), one.origin, vectors.get(one.number), most=1 << 62)
                for one in found
            ]
            rows.drop(db, source, None)
            return sum(number is not None for number in moved)

        with self.adding(target):
            return await self._database.write(job)

    async def page(self, scope: Scope, *, limit: int, before: int | None = None) -> list[Memory]:
        """The newest, newest first."""
        return await self._database.read(lambda db: rows.page(db, scope, limit=limit, before=before))

    async def all(self, scope: Scope) -> list[Memory]:
        """Every one, oldest first."""
        return (await self.page(scope, limit=1 << 62))[::-1]

    async def standing(self, scopes: Sequence[Scope], words: Sequence[str], limit: int) -> list[Standing]:
        """How scopes are, and which of their rows have words of a query: with most of them first."""

        def job(db: sqlite3.Connection) -> list[Standing]:
            return [_standing(db, scope, words, limit) for scope in scopes]

        before = self._additions
        found = await self._database.read(job)
        for scope, standing in zip(scopes, found, strict=True):
            if standing.version == 0 and before == self._additions:
                while len(self._empty) >= MAX_KNOWN_EMPTY:
                    del self._empty[next(iter(self._empty))]
                self._empty[scope] = None
        return found

    async def vectors(self, scope: Scope, model: str) -> list[tuple[int, bytes]]:
        """The vectors of a scope that a model made, by the ids of their rows; the newest `SEARCHED`."""

        def job(db: sqlite3.Connection) -> list[tuple[int, bytes]]:
            return db.execute(
                "SELECT id, vector FROM memories WHERE scope = ? AND model = ? ORDER BY number DESC LIMIT ?",
                (str(scope), model, SEARCHED),
            ).fetchall()

        return await self._database.read(job)

    async def without_vector(self, scope: Scope, model: str, limit: int) -> list[tuple[int, str]]:
        """Rows of a scope that a model has made no vector of, with their texts."""

        def job(db: sqlite3.Connection) -> list[tuple[int, str]]:
            return db.execute(
                "SELECT id, text FROM memories WHERE scope = ? AND model IS NOT ?"
                " ORDER BY number DESC LIMIT ?",
                (str(scope), model, limit),
            ).fetchall()

        return await self._database.read(job)

    async def give_vectors(
        self, scope: Scope, texts: Sequence[tuple[int, str]], vectors: Sequence[Vector]
    ) -> None:
        """Put vectors beside the texts they were made of; what has changed meanwhile gets none."""
        values = [
            (vector.model, vector.data, str(scope), id_, text)
            for (id_, text), vector in zip(texts, vectors, strict=True)
        ]
        await self._database.write(
            lambda db: db.executemany(
                "UPDATE memories SET model = ?, vector = ? WHERE scope = ? AND id = ? AND text = ?", values
            )
        )

    async def numbered(self, scope: Scope, numbers: Sequence[int]) -> list[Memory]:
        """Some memories by number."""
        return await self._database.read(lambda db: rows.numbered(db, scope, numbers))

    async def best(
        self, wanted: Sequence[tuple[Scope, Sequence[int]]], score: Score, *, limit: int, threshold: float
    ) -> list[Found]:
        """The best of some rows, each only if it is of the scope that it is asked of.

        Args:
            wanted: Ids of rows, by scope.
            threshold: What the score has to reach; it has to be above 0, too.
        """

        def job(db: sqlite3.Connection) -> list[Found]:
            scored = [
                (score(id_, text), updated_at, id_, scope)
                for scope, ids in wanted
                for id_, text, updated_at in rows.texts(db, scope, ids)
            ]
            chosen = sorted((one for one in scored if one[0] > 0 and one[0] >= threshold), key=_best_first)
            return [
                Found(memory=rows.by_ids(db, scope, [id_])[id_], score=points)
                for points, _, id_, scope in chosen[:limit]
            ]

        return await self._database.read(job)


def _best_first(scored: tuple[float, float, int, Scope]) -> tuple[float, float, int]:
    points, updated_at, id_, _ = scored
    return -points, -updated_at, id_


def cleaned(facts: Sequence[Fact]) -> list[Fact]:
    """Facts as they are kept: on one line, and none that says nothing."""
    tidied = [replace(fact, text=tidy(fact.text)) for fact in facts]
    return [fact for fact in tidied if any(sign.isalnum() for sign in fact.text)]


def _standing(db: sqlite3.Connection, scope: Scope, words: Sequence[str], limit: int) -> Standing:
    row = db.execute("SELECT version FROM memory_scopes WHERE scope = ?", (str(scope),)).fetchone()
    if row is None:
        return Standing(0, ())
    having: dict[int, None] = {}
    for is_all, is_prefix in STAGES[int(len(words) > FEW_WORDS) :] if words else ():
        found = db.execute(
            "SELECT rowid FROM memory_words WHERE memory_words MATCH ? ORDER BY rowid DESC LIMIT ?",
            (asked(words, tag=rows.tag(scope), is_all=is_all, is_prefix=is_prefix), limit),
        )
        having.update((id_, None) for (id_,) in found)
        if len(having) >= limit or (having and not is_all):
            break
    return Standing(row[0], tuple(having)[:limit])


def _vectors(db: sqlite3.Connection, scope: Scope) -> dict[int, Vector]:
    """The vectors of a scope by the numbers of their memories."""
    found = db.execute(
        "SELECT number, model, vector FROM memories WHERE scope = ? AND vector IS NOT NULL", (str(scope),)
    )
    return {number: Vector(model=model, data=data) for number, model, data in found}
