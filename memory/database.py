"""The SQLite file: opened, brought up to date, written by one thread and read by another."""

import asyncio
import logging
import re
import sqlite3
from collections.abc import Callable
from contextlib import ExitStack, closing
from importlib.resources import files
from pathlib import Path
from types import TracebackType
from typing import Literal, Self, TypeAlias, TypeVar

from bot.errors import StoreError
from memory.windows import WATCH
from memory.worker import Job, Worker

Result = TypeVar("Result")
Synchronous: TypeAlias = Literal["FULL", "NORMAL"]

log = logging.getLogger(__name__)

MIGRATION = re.compile(r"(\d{4})_\w+\.sql")
DATABASE = "switchboard.db"
CHECKPOINT_EVERY = 300  # writes; some four pages each
MAX_LOG_PAGES = 4_000  # of 4 KiB


def connect(path: Path, synchronous: Synchronous) -> sqlite3.Connection:
    """Open a connection for whichever thread uses it first and alone.

    Raises:
        sqlite3.Error: The file is no database, or can't be opened.
    """
    connection = sqlite3.connect(
        path, isolation_level=None, check_same_thread=False, cached_statements=256, timeout=10
    )
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {synchronous}")
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute("PRAGMA wal_autocheckpoint = 0")  # no time for it in the writer: see `checkpoint`
        connection.execute("PRAGMA journal_size_limit = 67108864")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def checkpoint(connection: sqlite3.Connection) -> None:
    """Move what was committed from the log into the database, beside the writer.

    A log that has grown all the same, for want of a quiet moment to begin it anew, is worth making the writer
    wait.
    """
    _, pages, _ = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    if pages > MAX_LOG_PAGES:
        connection.execute("PRAGMA wal_checkpoint(RESTART)").fetchone()


def migrations() -> list[tuple[int, str]]:
    """The numbered scripts, in order."""
    found = []
    for entry in files("memory").joinpath("migrations").iterdir():
        if match := MIGRATION.fullmatch(entry.name):
            found.append((int(match[1]), entry.read_text("utf-8")))
    return sorted(found)


def migrate(connection: sqlite3.Connection) -> int:
    """Run the scripts that the file has not seen, all in one transaction; gives the version it is at.

    Raises:
        StoreError: The file was written by a newer version of the bot.
    """
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    scripts = migrations()
    if version > scripts[-1][0]:
        raise StoreError(
            f"the database is at version {version}, this program knows {scripts[-1][0]}: "
            "install the version that wrote it, or restore a backup"
        )
    fresh = [script for number, script in scripts if number > version]
    if fresh:
        version = scripts[-1][0]
        script = "\n".join(fresh)
        connection.executescript(f"BEGIN;\n{script}\nPRAGMA user_version = {version};\nCOMMIT;")
    return int(version)


class Database:
    """Gives jobs to the writer or to the reader; open from `__aenter__` to `__aexit__`."""

    def __init__(self, path: Path, *, synchronous: Synchronous = "FULL") -> None:
        self._path = path
        self._synchronous = synchronous
        self._writer: Worker | None = None
        self._reader: Worker | None = None
        self._keeper: Worker | None = None
        self._writes = 0
        self._checkpoint: asyncio.Task[None] | None = None
        self._undoing: list[Callable[[], None]] = []

    async def __aenter__(self) -> Self:
        try:
            with closing(self._connect()) as connection:
                migrate(connection)
            self._path.chmod(0o600)
            with ExitStack() as stack:
                writer, reader, keeper = (stack.enter_context(closing(self._connect())) for _ in range(3))
                writer.executescript(WATCH)
                stack.pop_all()  # they are open, and closed by their workers
        except (sqlite3.Error, OSError) as error:
            raise StoreError(
                f"{self._path} can't be opened: {error}; is there a backup to restore?"
            ) from error
        self._writer = Worker(writer, name="store writer", commits=True, on_undo=self._undo)
        self._reader = Worker(reader, name="store reader", commits=False)
        self._keeper = Worker(keeper, name="store keeper", commits=False)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._checkpoint is not None:
            await asyncio.wait({self._checkpoint})
        for worker in (self._writer, self._reader, self._keeper):
            if worker is not None:
                await worker.close()

    def on_undo(self, forget: Callable[[], None]) -> None:
        """Have something called in the writer's thread whenever a transaction was taken back."""
        self._undoing.append(forget)

    def _undo(self) -> None:
        for forget in self._undoing:
            forget()

    def _connect(self) -> sqlite3.Connection:
        return connect(self._path, self._synchronous)

    async def write(self, job: Job[Result]) -> Result:
        """Run a job and commit it; see `Worker.run`."""
        if self._writer is None:
            raise StoreError("the store is not open")
        result = await self._writer.run(job)
        self._writes += 1
        if self._writes % CHECKPOINT_EVERY == 0 and (self._checkpoint is None or self._checkpoint.done()):
            self._checkpoint = asyncio.create_task(self._keep(), name="checkpoint")
        return result

    async def _keep(self) -> None:
        if self._keeper is None:
            return
        try:
            await self._keeper.run(checkpoint)
        except StoreError as error:  # the next one may do it; until then the log grows
            log.error("checkpoint failed", extra={"cause": str(error)})

    async def read(self, job: Job[Result]) -> Result:
        """Run a job that only reads, beside the writer."""
        if self._reader is None:
            raise StoreError("the store is not open")
        return await self._reader.run(job)
