"""The SQLite file: opened, brought up to date, written by one thread and read by another."""

import re
import sqlite3
from contextlib import closing
from importlib.resources import files
from pathlib import Path
from types import TracebackType
from typing import Literal, Self, TypeAlias, TypeVar

from bot.errors import StoreError
from memory.worker import Job, Worker

Result = TypeVar("Result")
Synchronous: TypeAlias = Literal["FULL", "NORMAL"]

MIGRATION = re.compile(r"(\d{4})_\w+\.sql")
DATABASE = "switchboard.db"


def connect(path: Path, synchronous: Synchronous) -> sqlite3.Connection:
    """Open a connection for whichever thread uses it first and alone."""
    connection = sqlite3.connect(
        path, isolation_level=None, check_same_thread=False, cached_statements=256, timeout=10
    )
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(f"PRAGMA synchronous = {synchronous}")
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute("PRAGMA journal_size_limit = 67108864")
    return connection


def migrations() -> list[tuple[int, str]]:
    """The numbered scripts, in order."""
    found = []
    for entry in files("memory").joinpath("migrations").iterdir():
        if match := MIGRATION.fullmatch(entry.name):
            found.append((int(match[1]), entry.read_text("utf-8")))
    return sorted(found)


def migrate(connection: sqlite3.Connection) -> int:
    """Run the scripts that the file has not seen, each in one transaction; gives the version it is at.

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
    for number, script in scripts:
        if number > version:
            connection.executescript(f"BEGIN;\n{script}\nPRAGMA user_version = {number};\nCOMMIT;")
            version = number
    return int(version)


class Database:
    """Gives jobs to the writer or to the reader; open from `__aenter__` to `__aexit__`."""

    def __init__(self, path: Path, *, synchronous: Synchronous = "FULL") -> None:
        self._path = path
        self._synchronous = synchronous
        self._writer: Worker | None = None
        self._reader: Worker | None = None

    async def __aenter__(self) -> Self:
        try:
            with closing(self._connect()) as connection:
                migrate(connection)
            self._path.chmod(0o600)
            writer, reader = self._connect(), self._connect()
        except (sqlite3.Error, OSError) as error:
            raise StoreError(
                f"{self._path} can't be opened: {error}; is there a backup to restore?"
            ) from error
        self._writer = Worker(writer, name="store writer", commits=True)
        self._reader = Worker(reader, name="store reader", commits=False)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in (self._writer, self._reader):
            if worker is not None:
                await worker.close()

    def _connect(self) -> sqlite3.Connection:
        return connect(self._path, self._synchronous)

    async def write(self, job: Job[Result]) -> Result:
        """Run a job and commit it; see `Worker.run`."""
        if self._writer is None:
            raise StoreError("the store is not open")
        return await self._writer.run(job)

    async def read(self, job: Job[Result]) -> Result:
        """Run a job that only reads, beside the writer."""
        if self._reader is None:
            raise StoreError("the store is not open")
        return await self._reader.run(job)
