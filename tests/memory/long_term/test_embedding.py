"""Vectors from a server and from the model on this machine."""

import asyncio
import json
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from math import isclose
from pathlib import Path

import pytest

from bot.errors import ModelError
from bot.long_term import Fact
from bot.settings.memory import MemorySettings
from memory.long_term.embedding import BATCH, LocalEmbedder, Thread, embedder_of
from memory.long_term.remote_model import RemoteEmbedder
from tests.memory.long_term.conftest import ANN, BY_ANN, opened


class Server:
    """An embeddings server: three numbers a text, or whatever it was told to answer."""

    def __init__(self) -> None:
        self.url = ""
        self.heads: list[str] = []
        self.texts: list[list[str]] = []
        self.answer: bytes | None = None
        self.status = 200

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                self.heads.append(head)
                length = int(head.lower().rpartition("content-length: ")[2])
                self.texts.append(json.loads(await reader.readexactly(length))["input"])
                rows = [
                    {"index": at, "embedding": [len(text), at, 1.0], "object": "embedding"}
                    for at, text in enumerate(self.texts[-1])
                ]
                body = self.answer if self.answer is not None else json.dumps({"data": rows[::-1]}).encode()
                writer.write(
                    f"HTTP/1.1 {self.status} X\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
                )
                await writer.drain()
        writer.close()


@asynccontextmanager
async def serving() -> AsyncIterator[Server]:
    server = Server()
    listening = await asyncio.start_server(server.handle, "127.0.0.1", 0)
    server.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1"
    try:
        yield server
    finally:
        listening.close()


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with serving() as running:
        yield running


@pytest.fixture
async def remote(server: Server) -> AsyncIterator[RemoteEmbedder]:
    embedder = RemoteEmbedder(server.url, "small", "a-key")
    yield embedder
    await embedder.aclose()


async def test_a_server_is_asked_in_batches_and_its_vectors_have_length_one(
    server: Server, remote: RemoteEmbedder
) -> None:
    vectors = await remote.embed(["x" * (1 + number) for number in range(BATCH + 3)])
    values = [struct.unpack("<3e", vector.data) for vector in vectors]

    assert [len(texts) for texts in server.texts] == [BATCH, 3]
    assert all(isclose(sum(one * one for one in value), 1, rel_tol=1e-2) for value in values)
    assert values[2][0] / values[2][1] == pytest.approx(3 / 2, rel=1e-2)  # in the order of the texts
    assert "POST /v1/embeddings HTTP/1.1" in server.heads[0]
    assert "Authorization: Bearer a-key" in server.heads[0]
    assert {vector.model for vector in vectors} == {f"small@{server.url}"}


@pytest.mark.parametrize(
    ("status", "answer"),
    [
        (500, b"{}"),
        (401, b'{"error": "bad key a-key"}'),
        (200, b"no json"),
        (200, b'{"data": []}'),
        (200, b'{"data": [{"index": 0, "embedding": [0, 0]}]}'),
        (200, b'{"data": [{"index": 0, "embedding": ["a"]}]}'),
        (200, b'{"data": [{"index": 0, "embedding": [1e400]}]}'),
    ],
)
async def test_a_server_that_talks_nonsense_is_an_error_without_the_key(
    server: Server, remote: RemoteEmbedder, status: int, answer: bytes
) -> None:
    server.status, server.answer = status, answer
    with pytest.raises(ModelError, match="embeddings server") as caught:
        await remote.embed(["x"])

    assert "a-key" not in str(caught.value)


async def test_a_server_that_is_not_there_is_an_error() -> None:
    embedder = RemoteEmbedder("http://127.0.0.1:9", "small")
    with pytest.raises(ModelError, match="does not answer"):
        await embedder.embed(["x"])
    await embedder.aclose()


async def test_memories_are_kept_and_found_while_the_server_is_down(
    home: Path, server: Server, remote: RemoteEmbedder
) -> None:
    server.status = 503
    async with opened("own", home, remote) as memories:
        await memories.learn(ANN, [Fact(text="red boat")], BY_ANN)
        found = await memories.search([ANN], "boat", limit=1)

    assert [one.memory.text for one in found] == ["red boat"]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("am I allergic to something?", "I'm allergic to peanuts"),
        ("我对什么过敏", "I'm allergic to peanuts"),
        ("Wann habe ich Geburtstag?", "My birthday is May 4th"),
    ],
)
async def test_the_local_model_finds_by_meaning_across_languages(
    home: Path, model: LocalEmbedder, query: str, text: str
) -> None:
    others = ("My brother lives in Berlin", "The meeting is on Thursday at 3 pm", "I like tea")
    async with opened("own", home, model) as memories:
        await memories.learn(ANN, [Fact(text=one) for one in (text, *others)], BY_ANN)
        (best, *_) = await memories.search([ANN], query, limit=3)

    assert best.memory.text == text
    assert best.score > 0.3


async def test_the_local_model_takes_any_text(model: LocalEmbedder) -> None:
    vectors = await model.embed(["", " ", "x" * 50_000, "\x00", "👍"])

    assert {len(vector.data) for vector in vectors} == {1_024}


async def test_the_settings_say_what_makes_vectors() -> None:
    thread = Thread()
    server = MemorySettings(embeddings_url="http://127.0.0.1:9/v1", embeddings_model="small")

    assert embedder_of(MemorySettings(embeddings="off"), thread) is None
    assert isinstance(embedder_of(server, thread), RemoteEmbedder)
    await thread.aclose()
