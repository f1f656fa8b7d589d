"""The database file: brought up to date once, refused when it is from the future."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from psutil import Process

from bot.errors import StoreError
from memory.database import DATABASE, MAX_LOG_PAGES, Database, connect, migrate, migrations
from memory.store import Store

NEWEST = migrations()[-1][0]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / DATABASE


def version_of(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        return int(version)


def schema_of(path: Path) -> list[tuple[str, str]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT name, sql FROM sqlite_schema ORDER BY name").fetchall()


def test_migrations_are_numbered_from_one_without_gaps() -> None:
    assert [number for number, _ in migrations()] == list(range(1, NEWEST + 1))


async def test_a_fresh_database_is_brought_to_the_newest_version(path: Path) -> None:
    async with Database(path):
        pass

    assert version_of(path) == NEWEST
    assert "journal" in dict(schema_of(path))


async def test_opening_again_changes_nothing(path: Path) -> None:
    async with Database(path):
        pass
    before = schema_of(path)

    async with Database(path):
        pass

    assert schema_of(path) == before


def test_a_migration_that_fails_leaves_nothing_of_itself(path: Path) -> None:
    with closing(connect(path, "FULL")) as connection:
        connection.execute("CREATE TABLE audit_pointer (another INTEGER)")  # the script's last table
        with pytest.raises(sqlite3.Error, match="audit_pointer"):
            migrate(connection)

    assert [name for name, _ in schema_of(path)] == ["audit_pointer"]
    assert version_of(path) == 0


async def test_a_database_of_a_newer_program_is_refused(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {NEWEST + 1}")

    with pytest.raises(StoreError, match=f"version {NEWEST + 1}, this program knows {NEWEST}"):
        await Database(path).__aenter__()


def test_a_file_that_is_no_database_is_refused(path: Path) -> None:
    path.write_bytes(b"not a database at all" * 100)

    with pytest.raises(StoreError, match="can't be opened") as refusal:
        asyncio.run(Database(path).__aenter__())

    assert refusal.value.__cause__ is not None, "its frames still hold what was opened"
    assert [file for file in Process().open_files() if Path(file.path) == path] == []


async def test_a_directory_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="can't be opened"):
        await Store(tmp_path / "nowhere").__aenter__()


async def test_only_the_owner_may_read_the_database(path: Path) -> None:
    async with Database(path) as database:
        await database.write(lambda db: db.execute("INSERT INTO aliases VALUES ('a', 'b')"))
        modes = {file.name: file.stat().st_mode & 0o777 for file in path.parent.iterdir()}

    assert set(modes.values()) == {0o600}


async def test_a_store_that_is_not_open_says_so(path: Path) -> None:
    database = Database(path)

    with pytest.raises(StoreError, match="not open"):
        await database.read(lambda db: None)
    with pytest.raises(StoreError, match="not open"):
        await database.write(lambda db: None)


async def test_a_store_that_was_closed_says_so(path: Path) -> None:
    async with Database(path) as database:
        pass

    with pytest.raises(StoreError, match="closed"):
        await database.read(lambda db: None)
    with pytest.raises(StoreError, match="closed"):
        await database.write(lambda db: None)


@pytest.mark.parametrize("synchronous", ["FULL", "NORMAL"])
async def test_what_was_written_is_there_after_opening_again(path: Path, synchronous: str) -> None:
    assert synchronous in ("FULL", "NORMAL")
    async with Database(path, synchronous="FULL" if synchronous == "FULL" else "NORMAL") as database:
        await database.write(lambda db: db.execute("INSERT INTO aliases VALUES ('a', 'b')"))

    async with Database(path) as database:
        rows = await database.read(lambda db: db.execute("SELECT * FROM aliases").fetchall())

    assert rows == [("a", "b")]


async def test_the_log_does_not_grow_for_ever(home: Path) -> None:
    def insert(db: sqlite3.Connection) -> None:
        db.execute("INSERT INTO heap VALUES (?)", ("x" * 4_000,))

    path = home / DATABASE
    async with Database(path, synchronous="NORMAL") as database:
        await database.write(lambda db: db.execute("CREATE TABLE heap (text TEXT)").close())
        for _ in range(8_000):
            await database.write(insert)
        log_size = path.with_name(f"{DATABASE}-wal").stat().st_size

    assert log_size < 3 * MAX_LOG_PAGES * 4_096  # all of it would be four times that; a busy disk lags behind
