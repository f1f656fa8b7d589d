"""Secrets in the database: encrypted one by one, under a key that is not in it."""

import asyncio
import hashlib
import os
import sqlite3
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from secrets import token_bytes, token_hex
from typing import Final, NamedTuple

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from bot.errors import StoreError
from memory.database import Database

KEY_FILE: Final = "secret.key"
NEXT_KEY_FILE: Final = "secret.key.new"  # while secrets are being moved to it
MAX_SECRET: Final = 64 * 1024  # characters
NONCE_BYTES: Final = 12  # Source: NIST SP 800-38D, section 8.2
SALT_BYTES: Final = 16
PROOF: Final = "the key of the secrets"
PROOF_NAME: Final = " proof"  # no secret has a name with a blank

# 32 MB and about 0.1 s, once: the key may be a phrase that a person has made up.
# Source: RFC 7914, section 2; OWASP Password Storage Cheat Sheet, "scrypt".
SCRYPT_COST: Final = 2**15
SCRYPT_MEMORY: Final = 64 * 1024 * 1024


class NamedSecret(NamedTuple):
    """A secret without its value; `changed_at` in seconds since 1970."""

    name: str
    changed_at: float


class Lock(NamedTuple):
    """What the database knows of its key."""

    salt: bytes
    proof: bytes


class SecretStore:
    """Puts secrets into the database and gives them back.

    Args:
        home: The data directory; holds the file with the key where none is given.
        key: What the operator keeps outside; `None` for a key in a file, made at first use.
    """

    def __init__(self, database: Database, home: Path, *, key: str | None = None) -> None:
        self._database = database
        self._home = home
        self._given = key
        self._key: AESGCM | None = None

    async def put(self, name: str, value: str) -> None:
        """Keep a secret, in place of the one before.

        Raises:
            StoreError: It is empty or too long, or the key is not the one of the other secrets.
        """
        if not value or len(value) > MAX_SECRET:
            raise StoreError(f"a secret has 1 to {MAX_SECRET} characters, not {len(value)}")
        key = await self._open(may_begin=True)
        sealed = _seal(key, name, value)
        await self._database.write(
            lambda db: db.execute(
                "INSERT INTO secrets (name, sealed, changed_at) VALUES (?, ?, ?)"
                " ON CONFLICT (name)"
                " DO UPDATE SET sealed = excluded.sealed, changed_at = excluded.changed_at",
                (name, sealed, time.time()),
            )
        )

    async def get(self, name: str) -> str | None:
        """What was put under a name, if anything was.

        Raises:
            StoreError: The key is not the one it was put under, or the row was tampered with.
        """
        sealed = await self._database.read(lambda db: _row(db, name))
        if sealed is None:
            return None
        return _unseal(await self._open(), name, sealed)

    async def names(self) -> tuple[NamedSecret, ...]:
        """All secrets, without their values; needs no key."""
        return await self._database.read(
            lambda db: tuple(
                NamedSecret(*row) for row in db.execute("SELECT name, changed_at FROM secrets ORDER BY name")
            )
        )

    async def delete(self, name: str) -> bool:
        """Forget a secret; whether there was one. Needs no key, so that a lost one can be got over."""

        def job(db: sqlite3.Connection) -> bool:
            is_there = db.execute("DELETE FROM secrets WHERE name = ?", (name,)).rowcount > 0
            if db.execute("SELECT 1 FROM secrets").fetchone() is None:
                db.execute("DELETE FROM secret_lock")  # what comes next may have a key of its own
            return is_there

        self._key = None
        return await self._database.write(job)

    async def opens(self) -> bool:
        """Whether the key at hand is the right one; true where there is nothing to open."""
        lock = await self._database.read(_read_lock)
        return lock is None or await self._find(lock) is not None

    async def rekey(self, new: str | None) -> int:
        """Encrypt all secrets anew under another key; either all move or none.

        Args:
            new: The new key; `None` for a fresh one in the file.

        Returns:
            How many there are.

        Raises:
            StoreError: The present key is not the right one, or the new one can't be written.
        """
        old = await self._open(may_begin=True)
        text = new if new is not None else _write_key(self._home / NEXT_KEY_FILE)
        salt = token_bytes(SALT_BYTES)
        key = await asyncio.to_thread(_derive, text, salt)

        def job(db: sqlite3.Connection) -> int:
            rows = db.execute("SELECT name, sealed FROM secrets").fetchall()
            moved = [(_seal(key, name, _unseal(old, name, sealed)), name) for name, sealed in rows]
            db.executemany("UPDATE secrets SET sealed = ? WHERE name = ?", moved)
            db.execute(
                "INSERT INTO secret_lock (id, salt, proof) VALUES (1, ?, ?)"
                " ON CONFLICT (id) DO UPDATE SET salt = excluded.salt, proof = excluded.proof",
                (salt, _seal(key, PROOF_NAME, PROOF)),
            )
            return len(rows)

        count = await self._database.write(job)
        self._key = key
        if new is None:
            os.replace(self._home / NEXT_KEY_FILE, self._home / KEY_FILE)
        else:
            (self._home / KEY_FILE).unlink(missing_ok=True)
        return count

    async def _open(self, *, may_begin: bool = False) -> AESGCM:
        """The key, once it has proved to be the right one."""
        if self._key is not None:
            return self._key
        lock = await self._database.read(_read_lock)
        if lock is None and may_begin:
            lock = await self._begin()
        found = await self._find(lock) if lock is not None else None
        if found is None:
            raise StoreError(self._wrong_key())
        self._key = found
        return found

    async def _begin(self) -> Lock:
        """Choose the key, for the first secret; another process may have done so a moment ago."""
        salt = token_bytes(SALT_BYTES)
        key = await asyncio.to_thread(_derive, self._given or _make_key(self._home), salt)
        made = (salt, _seal(key, PROOF_NAME, PROOF))

        def job(db: sqlite3.Connection) -> Lock:
            db.execute("INSERT OR IGNORE INTO secret_lock (id, salt, proof) VALUES (1, ?, ?)", made)
            return _read_lock(db) or Lock(*made)

        return await self._database.write(job)

    async def _find(self, lock: Lock) -> AESGCM | None:
        """The one of the keys at hand that is the right one; a move that was cut off is completed."""
        if self._given is not None:
            return await asyncio.to_thread(_try_key, self._given, lock)
        for name in (KEY_FILE, NEXT_KEY_FILE):
            text = _read_key(self._home / name)
            key = await asyncio.to_thread(_try_key, text, lock) if text is not None else None
            if key is not None and name == NEXT_KEY_FILE:
                os.replace(self._home / NEXT_KEY_FILE, self._home / KEY_FILE)
            if key is not None:
                return key
        return None

    def _wrong_key(self) -> str:
        if self._given is not None:
            return (
                "BOT_SECRET_KEY is not the key that the stored secrets are encrypted with: set the one that "
                "is, or forget them (python -m bot secret delete NAME) and put them in anew"
            )
        path = self._home / KEY_FILE
        fault = "is not the key that the stored secrets are encrypted with" if path.exists() else "is gone"
        return (
            f"{path} {fault}: put the right file there, set BOT_SECRET_KEY if they were stored with it, or "
            "forget them (python -m bot secret delete NAME) and put them in anew"
        )


def _read_lock(db: sqlite3.Connection) -> Lock | None:
    row = db.execute("SELECT salt, proof FROM secret_lock").fetchone()
    return Lock(*row) if row else None


def _row(db: sqlite3.Connection, name: str) -> bytes | None:
    row: Sequence[bytes] | None = db.execute("SELECT sealed FROM secrets WHERE name = ?", (name,)).fetchone()
    return row[0] if row else None


def _derive(text: str, salt: bytes) -> AESGCM:
    key = hashlib.scrypt(
        text.encode("utf-8", "surrogateescape"),
        salt=salt,
        n=SCRYPT_COST,
        r=8,
        p=1,
        maxmem=SCRYPT_MEMORY,
        dklen=32,
    )
    return AESGCM(key)


def _try_key(text: str, lock: Lock) -> AESGCM | None:
    key = _derive(text, lock.salt)
    with suppress(StoreError):
        _unseal(key, PROOF_NAME, lock.proof)
        return key
    return None


def _seal(key: AESGCM, name: str, value: str) -> bytes:
    nonce = token_bytes(NONCE_BYTES)
    return nonce + key.encrypt(nonce, value.encode("utf-8", "surrogatepass"), name.encode())


def _unseal(key: AESGCM, name: str, sealed: bytes) -> str:
    try:
        plain = key.decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], name.encode())
    except (InvalidTag, ValueError) as error:
        raise StoreError(f"the secret {name!r} can't be opened: its row was changed by others") from error
    return plain.decode("utf-8", "surrogatepass")


def _read_key(path: Path) -> str | None:
    try:
        return path.read_text("ascii").strip() or None
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(f"{path} can't be read: {error}") from error


def _make_key(home: Path) -> str:
    """The key in the file, made where there is none; of two processes that make one, the first wins."""
    found = _read_key(home / KEY_FILE)
    if found is not None:
        return found
    draft = home / f"{KEY_FILE}.{token_hex(4)}"
    text = _write_key(draft)
    try:
        os.link(draft, home / KEY_FILE)
    except FileExistsError:
        text = _read_key(home / KEY_FILE) or text
    except OSError as error:
        raise StoreError(f"{home / KEY_FILE} can't be written: {error}") from error
    finally:
        draft.unlink()
    return text


def _write_key(path: Path) -> str:
    """Put a new key into a file for its owner alone; on the disk before anything depends on it."""
    text = token_hex(32)
    try:
        path.unlink(missing_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            os.write(descriptor, f"{text}\n".encode())
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise StoreError(f"{path} can't be written: {error}") from error
    return text
