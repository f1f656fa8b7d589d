"""The long-term memory that the settings want, opened and closed."""

from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Protocol

from bot.errors import ConfigError
from bot.long_term import LongTerm
from bot.settings.memory import MemorySettings
from memory.database import DATABASE, Database
from memory.long_term.embedding import Embedder, Thread
from memory.long_term.own import OwnMemories
from memory.long_term.shelf import Shelf

NO_MEM0: Final = "BOT_MEMORY__BACKEND=mem0 needs mem0: pip install 'switchboard-bot[memory]'"
NO_VECTORS: Final = (
    "BOT_MEMORY__BACKEND=mem0 needs embeddings: pip install 'switchboard-bot[memory]', or set "
    "BOT_MEMORY__EMBEDDINGS_URL and BOT_MEMORY__EMBEDDINGS_MODEL"
)


class Opened(LongTerm, Protocol):
    """A memory that has to be closed.

    Attributes:
        shelf: Its rows, for what is no search: moving those of two people who are one.
    """

    shelf: Shelf

    async def aclose(self) -> None: ...


class _Mem0(Opened, Protocol):
    """`memory/long_term/mem0_backend.py` fulfils it."""

    def __init__(
        self,
        shelf: Shelf,
        embedder: Embedder,
        thread: Thread,
        *,
        database: Path,
        folder: Path,
        most: int,
    ) -> None: ...


@asynccontextmanager
async def open_long_term(
    settings: MemorySettings, database: Database, home: Path, embedder: Embedder | None, thread: Thread
) -> AsyncGenerator[Opened | None]:
    """Open it; nothing heavy is loaded before it is first needed. `None` where it is off.

    Args:
        embedder: With its thread; both outlive the memory.

    Raises:
        ConfigError: What the settings want is not installed.
    """
    if settings.backend == "off":
        yield None
        return
    shelf = Shelf(database, most=settings.max_facts)
    opened: Opened
    if settings.backend == "own":
        opened = OwnMemories(shelf, embedder, thread, cache_mb=settings.cache_mb)
    elif find_spec("mem0") is None:
        raise ConfigError(NO_MEM0)
    elif embedder is None:
        raise ConfigError(NO_VECTORS)
    else:
        place, folder, most = home / DATABASE, home / "mem0", settings.max_facts
        mem0: type[_Mem0] = import_module("memory.long_term.mem0_backend").Mem0Memories
        opened = mem0(shelf, embedder, thread, database=place, folder=folder, most=most)
    async with aclosing(opened):
        yield opened
