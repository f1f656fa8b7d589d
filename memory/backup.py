"""One file that holds the data directory, taken while the bot runs, and put back when it does not."""

import lzma
import os
import sqlite3
import tarfile
import tempfile
import zlib
from contextlib import closing
from pathlib import Path

from bot.errors import StoreError
from memory.database import DATABASE
from memory.home import LOCK, Home

ROOM = ".backup-"  # where a backup is put together, or taken apart
ASIDE = "before-restore-"  # what stood there before a restore
# A backup with the key in it would hold the secrets in the clear.
SECRET_KEYS = frozenset({"secret.key", "secret.key.new"})
LEFT_OUT = SECRET_KEYS | {LOCK, "models", DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm"}


def back_up(home: Path, target: Path) -> int:
    """Write the database and all files of `home` but the models into `target`, a gzipped tar.

    The key of stored secrets stays behind, as backups travel; that of the audit log goes along, or the log
    could not be checked after a restore.

    The database is copied through SQLite, so that a running bot may go on writing. The target appears
    whole or not at all.

    Returns:
        The size of the target, in bytes.

    Raises:
        StoreError: There is nothing to back up, or the target can't be written.
    """
    source = home / DATABASE
    if not source.is_file():
        raise StoreError(f"{home} holds no database: has the bot run with this BOT_HOME?")
    try:
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=ROOM) as room:
            copy = Path(room) / DATABASE
            _copy_database(source, copy)
            packed = Path(room) / "packed"
            _pack(home, copy, packed, target)
            packed.chmod(0o600)
            os.replace(packed, target)
    except (OSError, sqlite3.Error) as error:
        raise StoreError(f"{target} can't be written: {error}") from error
    return target.stat().st_size


def _pack(home: Path, copy: Path, packed: Path, target: Path) -> None:
    own = target.resolve()

    def wanted(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        is_own = (home / member.name).resolve() == own  # the backup before this one, kept inside `home`
        return None if is_own or Path(member.name).name.startswith((ROOM, ASIDE)) else member

    with tarfile.open(packed, "w:gz") as archive:
        archive.add(copy, DATABASE)
        for entry in sorted(home.iterdir()):
            if entry.name not in LEFT_OUT:
                archive.add(entry, entry.name, filter=wanted)


def _copy_database(source: Path, copy: Path) -> None:
    with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(copy)) as new:
        old.backup(new)


def restore(home: Path, archive: Path) -> Path | None:
    """Put a backup in place of what `home` holds.

    What stood there is moved aside, not deleted; models and the key of stored secrets stay where they are.

    Returns:
        Where the old data are now, if there were any.

    Raises:
        HomeInUse: The bot is running on this directory.
        StoreError: The archive is no backup, or its database is damaged; `home` is as it was.
    """
    with Home(home), tempfile.TemporaryDirectory(dir=home, prefix=ROOM) as room:
        fresh = Path(room)
        _unpack(archive, fresh)
        _check(fresh / DATABASE)
        aside = _move_aside(home, skip=fresh.name)
        for entry in fresh.iterdir():
            if not _stays(entry.name):
                entry.rename(home / entry.name)
    return aside


def _unpack(archive: Path, target: Path) -> None:
    try:
        with tarfile.open(archive) as packed:
            packed.extractall(target, filter=_for_owner_alone)
            while packed.fileobj is not None and packed.fileobj.read(1 << 20):
                continue  # gzip compares its checksum at the end of the file, beyond what tar has to read
    except (OSError, EOFError, zlib.error, lzma.LZMAError, tarfile.TarError) as error:
        raise StoreError(f"{archive} can't be read as a backup: {error}") from error


def _for_owner_alone(member: tarfile.TarInfo, target: str) -> tarfile.TarInfo:
    """What may come out, and with which mode: archives of before may say that others can read it."""
    safe = tarfile.data_filter(member, target)
    return safe if safe.mode is None else safe.replace(mode=safe.mode & 0o700, deep=False)


def _check(database: Path) -> None:
    if not database.is_file():
        raise StoreError(f"the archive holds no {DATABASE}: is it a backup of this bot?")
    try:
        with closing(sqlite3.connect(database)) as connection:
            (verdict,) = connection.execute("PRAGMA integrity_check").fetchone()
            connection.execute("SELECT count(*) FROM journal")
    except sqlite3.Error as error:
        verdict = str(error)
    if verdict != "ok":
        raise StoreError(f"the database in the archive is damaged: {verdict}")


def _stays(name: str) -> bool:
    """Whether a restore leaves an entry of `home` alone."""
    return name in SECRET_KEYS | {LOCK, "models"} or name.startswith(ASIDE)


def _move_aside(home: Path, *, skip: str) -> Path | None:
    old = [entry for entry in home.iterdir() if entry.name != skip and not _stays(entry.name)]
    if not old:
        return None
    aside = Path(tempfile.mkdtemp(dir=home, prefix=ASIDE))
    for entry in old:
        entry.rename(aside / entry.name)
    return aside
