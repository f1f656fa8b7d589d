"""A backup holds all but the models; a restore puts it back whole, or changes nothing."""

import asyncio
import sqlite3
import tarfile
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.errors import HomeInUse, StoreError
from memory.backup import back_up, restore
from memory.database import DATABASE
from memory.home import LOCK, Home
from memory.store import Store
from tests.factories import inbound


async def fill(home: Path, *texts: str) -> None:
    """Give `home` a database with messages, and files beside it."""
    async with Store(home, synchronous="NORMAL") as store:
        for text in texts:
            await store.journal.accept(inbound(text))
    (home / "workspace").mkdir(exist_ok=True)
    (home / "workspace" / "AGENTS.md").write_text(" ".join(texts), "utf-8")
    (home / "models").mkdir(exist_ok=True)
    (home / "models" / "demo.gguf").write_text("weights", "utf-8")


@pytest.fixture
async def filled(home: Path) -> Path:
    await fill(home, "one", "two")
    return home


def contents(home: Path) -> dict[str, bytes]:
    """Every file below `home` but the lock."""
    files = (path for path in sorted(home.rglob("*")) if path.is_file() and path.name != LOCK)
    return {str(path.relative_to(home)): path.read_bytes() for path in files}


def members(archive: Path) -> set[str]:
    with tarfile.open(archive) as packed:
        return set(packed.getnames())


async def texts(home: Path) -> list[str]:
    async with Store(home, synchronous="NORMAL") as store:
        return [pending.message.text for pending in (await store.journal.recover(99)).pending]


async def test_what_was_backed_up_is_there_after_a_restore(filled: Path, tmp_path: Path) -> None:
    target, elsewhere = tmp_path / "backup.tar.gz", tmp_path / "elsewhere"

    size = back_up(filled, target)
    aside = restore(elsewhere, target)

    assert size == target.stat().st_size
    assert target.stat().st_mode & 0o777 == 0o600
    assert aside is None
    assert await texts(elsewhere) == ["one", "two"]
    assert (elsewhere / "workspace" / "AGENTS.md").read_text("utf-8") == "one two"


async def test_models_are_not_backed_up(filled: Path, tmp_path: Path) -> None:
    back_up(filled, tmp_path / "backup.tar.gz")

    assert members(tmp_path / "backup.tar.gz") == {DATABASE, "workspace", "workspace/AGENTS.md"}


async def test_a_backup_is_whole_while_the_bot_writes(filled: Path, tmp_path: Path) -> None:
    target, elsewhere = tmp_path / "backup.tar.gz", tmp_path / "elsewhere"
    is_done = asyncio.Event()

    async def keep_writing(store: Store) -> int:
        count = 0
        while not is_done.is_set():
            await store.journal.accept(inbound(str(count)))
            count += 1
        return count

    async with Store(filled, synchronous="NORMAL") as store:
        writing = asyncio.create_task(keep_writing(store))
        await asyncio.to_thread(back_up, filled, target)
        is_done.set()
        written = await writing
    restore(elsewhere, target)

    found = (await texts(elsewhere))[2:]
    assert found == [str(number) for number in range(len(found))]
    assert len(found) <= written


@pytest.mark.parametrize("place", ["backup.tar.gz", "workspace/backup.tar.gz"])
async def test_a_backup_inside_home_does_not_swallow_itself(filled: Path, place: str) -> None:
    target = filled / place
    back_up(filled, target)
    restore(filled, target)
    target.parent.mkdir(exist_ok=True)

    back_up(filled, target)
    back_up(filled, target)

    assert members(target) == {DATABASE, "workspace", "workspace/AGENTS.md"}


def test_a_directory_without_a_database_is_not_backed_up(home: Path, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="holds no database"):
        back_up(home, tmp_path / "backup.tar.gz")


async def test_a_target_that_cannot_be_written_is_told(filled: Path, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="can't be written"):
        back_up(filled, tmp_path / "nowhere" / "backup.tar.gz")


async def test_a_running_home_is_not_restored(filled: Path, tmp_path: Path) -> None:
    back_up(filled, tmp_path / "backup.tar.gz")
    before = contents(filled)

    with Home(filled), pytest.raises(HomeInUse):
        restore(filled, tmp_path / "backup.tar.gz")

    assert contents(filled) == before


async def test_what_stood_there_is_moved_aside_and_models_stay(filled: Path, tmp_path: Path) -> None:
    target = tmp_path / "backup.tar.gz"
    back_up(filled, target)
    await fill(filled, "three")
    (filled / "new.txt").write_text("new", "utf-8")

    aside = restore(filled, target)

    assert aside is not None
    assert await texts(aside) == ["one", "two", "three"]
    assert (aside / "new.txt").read_text("utf-8") == "new"
    assert await texts(filled) == ["one", "two"]
    assert not (filled / "new.txt").exists()
    assert (filled / "models" / "demo.gguf").read_text("utf-8") == "weights"


async def test_every_restore_keeps_what_the_one_before_put_aside(filled: Path, tmp_path: Path) -> None:
    target = tmp_path / "backup.tar.gz"
    back_up(filled, target)

    aside = [restore(filled, target) for _ in range(3)]

    assert len(set(aside)) == 3
    assert all(path is not None and (path / DATABASE).is_file() for path in aside)


def write_archive(path: Path, **files: bytes) -> Path:
    room = path.with_suffix(".d")
    room.mkdir()
    with tarfile.open(path, "w:gz") as packed:
        for name, content in files.items():
            (room / "entry").write_bytes(content)
            packed.add(room / "entry", name.replace("__", "."))
    return path


async def test_an_archive_that_is_no_backup_changes_nothing(filled: Path, tmp_path: Path) -> None:
    before = contents(filled)
    with closing(sqlite3.connect(tmp_path / "other.db")) as other:
        other.execute("CREATE TABLE something (else_ TEXT)")
    archives = [
        write_archive(tmp_path / "a", note=b"no database"),
        write_archive(tmp_path / "b", switchboard__db=b"not a database" * 1000),
        write_archive(tmp_path / "c", switchboard__db=b""),
        write_archive(tmp_path / "d", switchboard__db=(tmp_path / "other.db").read_bytes()),
        tmp_path / "nowhere",
        filled / "workspace" / "AGENTS.md",
    ]

    for archive in archives:
        with pytest.raises(StoreError):
            restore(filled, archive)

        assert contents(filled) == before


async def test_an_archive_cannot_replace_the_lock_or_the_models(filled: Path, tmp_path: Path) -> None:
    database = (filled / DATABASE).read_bytes()
    archive = write_archive(tmp_path / "a", switchboard__db=database, lock=b"x", models=b"x")

    restore(filled, archive)

    assert (filled / "models" / "demo.gguf").is_file()
    with Home(filled), pytest.raises(HomeInUse):
        Home(filled).__enter__()


@settings(max_examples=60, deadline=None)
@given(share=st.floats(0, 1, exclude_max=True), is_cut=st.booleans(), mask=st.integers(1, 255))
def test_a_damaged_archive_is_restored_whole_or_not_at_all(
    share: float, is_cut: bool, mask: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    room = tmp_path_factory.mktemp("room")
    source, home, archive = room / "source", room / "home", room / "backup.tar.gz"
    for path, text in ((source, "backed up"), (home, "present")):
        path.mkdir()
        asyncio.run(fill(path, text))
    back_up(source, archive)
    whole = archive.read_bytes()
    place = int(share * len(whole))
    flipped = b"" if is_cut else bytes([whole[place] ^ mask]) + whole[place + 1 :]
    archive.write_bytes(whole[:place] + flipped)
    before = contents(home)

    try:
        restore(home, archive)
    except StoreError:
        assert contents(home) == before
    else:
        assert asyncio.run(texts(home)) == ["backed up"]


async def test_the_key_of_the_secrets_neither_leaves_nor_gives_way(filled: Path, tmp_path: Path) -> None:
    (filled / "secret.key").write_text("ours")
    target = tmp_path / "backup.tar.gz"
    back_up(filled, target)
    database = (filled / DATABASE).read_bytes()
    foreign = write_archive(tmp_path / "a", switchboard__db=database, secret__key=b"theirs")

    restore(filled, target)
    kept = (filled / "secret.key").read_text()
    restore(filled, foreign)

    assert members(target).isdisjoint({"secret.key"})
    assert (kept, (filled / "secret.key").read_text()) == ("ours", "ours")


async def test_what_is_restored_is_for_its_owner_alone(filled: Path, tmp_path: Path) -> None:
    (filled / "workspace").chmod(0o777)
    (filled / "workspace" / "AGENTS.md").chmod(0o644)
    (filled / "workspace" / "run.sh").write_text("#!/bin/sh")
    (filled / "workspace" / "run.sh").chmod(0o755)
    target, elsewhere = tmp_path / "backup.tar.gz", tmp_path / "elsewhere"
    back_up(filled, target)

    restore(elsewhere, target)

    modes = {path.name: path.stat().st_mode & 0o777 for path in elsewhere.rglob("*")}
    assert {mode & 0o077 for mode in modes.values()} == {0}
    assert modes["run.sh"] == 0o700
