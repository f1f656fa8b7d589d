"""API keys: made, recognised, revoked."""

import hmac
import sqlite3
import time
from collections.abc import Sequence
from hashlib import sha256
from secrets import token_hex, token_urlsafe
from typing import Final

from bot.web.api.base import SCOPES, ApiKey, Scope
from bot.web.keys import PREFIX
from memory.database import Database
from memory.rows import Row

COLUMNS: Final = "id, name, scopes, created_at, used_at, revoked_at"
SECRET_BYTES: Final = 32  # so many that nobody guesses one, and that a fast hash is good enough
NOTE_EVERY: Final = 60.0  # seconds between two notes of when a key was used
NO_HASH: Final = bytes(32)


class ApiKeys:
    """Fulfils `bot.web.api.base.Keys` on the database.

    A key's text is `swb_<id>_<secret>`. Each request asks the database, so that a key which another process
    has revoked is refused at once.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def create(self, name: str, scopes: Sequence[Scope]) -> tuple[ApiKey, str]:
        """See the protocol."""
        kept = tuple(scope for scope in SCOPES if scope in scopes)
        key = ApiKey(id=token_hex(6), name=name, scopes=kept, created_at=time.time())
        text = f"{PREFIX}{key.id}_{token_urlsafe(SECRET_BYTES)}"
        await self._database.write(
            lambda db: db.execute(
                "INSERT INTO api_keys (id, name, scopes, hash, created_at) VALUES (?, ?, ?, ?, ?)",
                (key.id, key.name, " ".join(key.scopes), _hash(text), key.created_at),
            )
        )
        return key, text

    async def check(self, text: str) -> ApiKey | None:
        """See the protocol; takes as long for a near miss as for any other."""
        id_ = text.removeprefix(PREFIX).partition("_")[0]

        def job(db: sqlite3.Connection) -> tuple[ApiKey | None, bytes]:
            row = db.execute(f"SELECT {COLUMNS}, hash FROM api_keys WHERE id = ?", (id_,)).fetchone()
            return (_key(row[:-1]), row[-1]) if row else (None, NO_HASH)

        key, expected = await self._database.read(job)
        is_right = hmac.compare_digest(_hash(text), expected)
        if key is None or not is_right or key.revoked_at is not None:
            return None
        now = time.time()
        if key.used_at is None or now - key.used_at > NOTE_EVERY:
            await self._database.write(
                lambda db: db.execute("UPDATE api_keys SET used_at = ? WHERE id = ?", (now, id_))
            )
        return key

    async def find(self, id_: str) -> ApiKey | None:
        """See the protocol."""

        def job(db: sqlite3.Connection) -> ApiKey | None:
            row = db.execute(f"SELECT {COLUMNS} FROM api_keys WHERE id = ?", (id_,)).fetchone()
            return _key(row) if row else None

        return await self._database.read(job)

    async def all(self) -> list[ApiKey]:
        """See the protocol."""
        statement = f"SELECT {COLUMNS} FROM api_keys ORDER BY created_at DESC, id"
        return await self._database.read(lambda db: [_key(row) for row in db.execute(statement)])

    async def revoke(self, id_: str) -> bool:
        """See the protocol."""

        def job(db: sqlite3.Connection) -> bool:
            changed = db.execute(
                "UPDATE api_keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL", (time.time(), id_)
            )
            return changed.rowcount == 1

        return await self._database.write(job)


def _hash(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogateescape")).digest()


def _key(row: Row) -> ApiKey:
    id_, name, scopes, created_at, used_at, revoked_at = row
    return ApiKey(
        id=id_,
        name=name,
        scopes=tuple(scope for scope in SCOPES if scope in scopes.split()),
        created_at=created_at,
        used_at=used_at,
        revoked_at=revoked_at,
    )
