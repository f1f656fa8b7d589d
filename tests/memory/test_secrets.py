"""Secrets are kept so that only who has the key can read them, and a wrong key says so."""

import asyncio
import os
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from bot.errors import StoreError
from memory.database import DATABASE, Database
from memory.secrets import KEY_FILE, MAX_SECRET, NEXT_KEY_FILE, SecretStore

TOKEN = "xoxb-this-must-never-lie-in-the-clear"
PHRASE = "a phrase that somebody has made up"


@asynccontextmanager
async def opened(home: Path, key: str | None = None) -> AsyncIterator[SecretStore]:
    async with Database(home / DATABASE, synchronous="NORMAL") as database:
        yield SecretStore(database, home, key=key)


async def put(home: Path, key: str | None = None, **secrets: str) -> None:
    async with opened(home, key) as store:
        for name, value in secrets.items():
            await store.put(name, value)


async def get(home: Path, name: str, key: str | None = None) -> str | None:
    async with opened(home, key) as store:
        return await store.get(name)


@pytest.mark.parametrize("key", [None, PHRASE])
async def test_a_secret_outlives_a_restart_and_lies_nowhere_in_the_clear(home: Path, key: str | None) -> None:
    await put(home, key, slack="old", other="äöü 🎉\nsecond line")
    await put(home, key, slack=TOKEN)

    assert await get(home, "slack", key) == TOKEN
    assert await get(home, "other", key) == "äöü 🎉\nsecond line"
    assert await get(home, "unknown", key) is None
    kept = b"".join((home / name).read_bytes() for name in os.listdir(home))
    assert TOKEN.encode() not in kept
    assert (home / KEY_FILE).exists() is (key is None)


async def test_the_key_file_is_for_its_owner_alone(home: Path) -> None:
    await put(home, one="1")

    assert (home / KEY_FILE).stat().st_mode & 0o777 == 0o600


async def test_the_names_are_listed_without_a_key_and_without_values(home: Path) -> None:
    await put(home, PHRASE, b="1", a="2")

    async with opened(home, "another key") as store:
        assert [secret.name for secret in await store.names()] == ["a", "b"]


async def test_with_a_wrong_key_nothing_is_read_and_nothing_is_added(home: Path) -> None:
    await put(home, PHRASE, one="1")

    with pytest.raises(StoreError, match="BOT_SECRET_KEY is not the key"):
        await get(home, "one", "another key of the same length.")
    with pytest.raises(StoreError, match="BOT_SECRET_KEY is not the key"):
        await put(home, "another key of the same length.", two="2")
    with pytest.raises(StoreError, match=r"secret\.key is gone"):
        await put(home, two="2")

    assert not (home / KEY_FILE).exists()
    assert await get(home, "one", PHRASE) == "1"


async def test_a_lost_key_file_is_told_and_not_replaced_by_a_new_one(home: Path) -> None:
    await put(home, one="1")
    (home / KEY_FILE).unlink()

    with pytest.raises(StoreError, match=r"secret\.key is gone.*secret delete"):
        await get(home, "one")
    (home / KEY_FILE).write_text("0" * 64)
    with pytest.raises(StoreError, match=r"secret\.key is not the key"):
        await get(home, "one")
    (home / KEY_FILE).write_bytes(b"\xff\xfe")
    with pytest.raises(StoreError, match=r"secret\.key can't be read"):
        await get(home, "one")


async def test_when_all_is_forgotten_a_new_key_may_begin(home: Path) -> None:
    await put(home, one="1", two="2")
    (home / KEY_FILE).unlink()
    async with opened(home) as store:
        gone = [await store.delete(name) for name in ("one", "two", "two")]

    await put(home, three="3")

    assert gone == [True, True, False]
    assert await get(home, "three") == "3"


async def test_a_secret_that_was_moved_to_another_name_is_not_given_out(home: Path) -> None:
    await put(home, one="1", two="2")
    with closing(sqlite3.connect(home / DATABASE)) as db, db:
        db.execute("UPDATE secrets SET sealed = (SELECT sealed FROM secrets WHERE name = 'one')")

    with pytest.raises(StoreError, match="'two' can't be opened"):
        await get(home, "two")


async def test_what_was_damaged_is_not_given_out(home: Path) -> None:
    await put(home, one="1")
    for sealed in (b"", b"short", b"x" * 40):
        with closing(sqlite3.connect(home / DATABASE)) as db, db:
            db.execute("UPDATE secrets SET sealed = ?", (sealed,))

        with pytest.raises(StoreError, match="can't be opened"):
            await get(home, "one")


@pytest.mark.parametrize("value", ["", "x" * (MAX_SECRET + 1)])
async def test_a_secret_that_is_empty_or_endless_is_refused(home: Path, value: str) -> None:
    with pytest.raises(StoreError, match="characters"):
        await put(home, one=value)


@pytest.mark.parametrize(
    ("before", "after"), [(None, None), (None, PHRASE), (PHRASE, None), (PHRASE, PHRASE * 2)]
)
async def test_secrets_move_to_another_key(home: Path, before: str | None, after: str | None) -> None:
    await put(home, before, one="1", two="2")
    old_file = (home / KEY_FILE).read_bytes() if before is None else b""
    async with opened(home, before) as store:
        moved = await store.rekey(after)
        same_process = await store.get("one")

    assert (moved, same_process) == (2, "1")
    assert await get(home, "two", after) == "2"
    assert not (home / NEXT_KEY_FILE).exists()
    assert (home / KEY_FILE).exists() is (after is None)
    if after is None:
        assert (home / KEY_FILE).read_bytes() != old_file
    if before is not None or after is not None:
        with pytest.raises(StoreError):
            await get(home, "one", before)


async def test_a_move_that_was_cut_off_loses_nothing(home: Path) -> None:
    await put(home, one="1")
    before = (home / KEY_FILE).read_bytes()
    async with opened(home) as store:
        await store.rekey(None)
    (home / KEY_FILE).rename(home / NEXT_KEY_FILE)  # as if it had died between the commit and the renaming
    (home / KEY_FILE).write_bytes(before)

    assert await get(home, "one") == "1"
    assert not (home / NEXT_KEY_FILE).exists()

    (home / NEXT_KEY_FILE).write_text("f" * 64)  # as if it had died before the commit
    assert await get(home, "one") == "1"


async def test_two_processes_that_begin_at_once_agree_on_one_key(home: Path) -> None:
    async with opened(home) as first, opened(home) as second:
        await asyncio.gather(first.put("one", "1"), second.put("two", "2"))

    assert (await get(home, "one"), await get(home, "two")) == ("1", "2")
    assert [name for name in os.listdir(home) if name.startswith(KEY_FILE)] == [KEY_FILE]


async def test_whether_the_key_opens_can_be_asked(home: Path) -> None:
    async with opened(home, PHRASE) as store:
        empty = await store.opens()
        await store.put("one", "1")
    async with opened(home, PHRASE) as right, opened(home, "x" * 20) as wrong:
        assert (empty, await right.opens(), await wrong.opens()) == (True, True, False)
