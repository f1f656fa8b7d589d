"""Vectors from a server with the embeddings endpoint of OpenAI."""

import asyncio
import struct
from collections.abc import Sequence
from math import sqrt
from typing import Final

import msgspec

from bot.errors import ModelError
from bot.models.http import HttpClient, HttpError
from memory.long_term.embedding import BATCH, MAX_CHARACTERS
from memory.long_term.rows import Vector

SECONDS: Final = 10.0
MAX_ANSWER: Final = 64_000_000  # bytes


class RemoteEmbedder:
    """A server with the endpoint `/embeddings` of OpenAI's API.

    Source: OpenAI API reference, Create embeddings.
    """

    def __init__(self, url: str, model: str, key: str = "") -> None:
        self.name = f"{model}@{url}"
        self._model = model
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
        self._client = HttpClient(f"{url.rstrip('/')}/embeddings", headers, connect_seconds=5)

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """See the protocol."""
        cut = [text[:MAX_CHARACTERS] or " " for text in texts]
        vectors: list[Vector] = []
        for first in range(0, len(cut), BATCH):
            vectors += await self._ask(cut[first : first + BATCH])
        return vectors

    async def aclose(self) -> None:
        """See the protocol."""
        await self._client.aclose()

    async def _ask(self, texts: Sequence[str]) -> list[Vector]:
        body = msgspec.json.encode({"model": self._model, "input": texts})
        try:
            async with asyncio.timeout(SECONDS):
                status, answer = await self._post(body)
        except (HttpError, TimeoutError) as error:
            raise ModelError(f"the embeddings server does not answer: {type(error).__name__}") from error
        if status != 200:
            raise ModelError(f"the embeddings server refuses (HTTP {status})", status=status)
        try:
            rows = sorted(_decode(answer).data, key=lambda row: row.index)
            vectors = [Vector(model=self.name, data=_packed(row.embedding)) for row in rows]
        except (msgspec.MsgspecError, ValueError, OverflowError) as error:
            raise ModelError("the embeddings server answers with something else than vectors") from error
        if len(vectors) != len(texts) or len({len(vector.data) for vector in vectors}) > 1:
            raise ModelError("the embeddings server answers with too few vectors, or of several lengths")
        return vectors

    async def _post(self, body: bytes) -> tuple[int, bytes]:
        """Send a request; gives the status and the whole body."""
        response = await self._client.post(body)
        try:
            parts = bytearray()
            while part := await response.body.read():
                parts += part
                if len(parts) > MAX_ANSWER:
                    raise ModelError("the embeddings server answers with more than anybody asked for")
            return response.status, bytes(parts)
        finally:
            response.close()


class _Row(msgspec.Struct):
    index: int
    embedding: list[float]


class _Answer(msgspec.Struct):
    data: list[_Row]


_decode = msgspec.json.Decoder(_Answer).decode


def _packed(numbers: Sequence[float]) -> bytes:
    """A vector of length 1, in halves of a float."""
    length = sqrt(sum(number * number for number in numbers))
    if not 0 < length < float("inf"):
        raise ValueError("a vector without a length")
    return struct.pack(f"<{len(numbers)}e", *(number / length for number in numbers))
