"""Which files and notes were written by turns that had read something foreign."""

import sqlite3
from collections.abc import Sequence

from bot.agent.taint import Carried, decode_carried, encode_carried
from memory.database import Database

MAX_PLACES = 10_000  # past it, what is written counts for all places of its kind
MAX_ORIGINS = 20  # of one place


class Taints:
    """Fulfils `security.taint.Marks` on the database; all of them are in memory, too."""

    def __init__(self, database: Database, *, most: int = MAX_PLACES) -> None:
        self._database = database
        self._most = most
        self._known: dict[str, Carried] = {}

    async def load(self) -> None:
        """Read what is known; called once, before anything else."""

        def job(db: sqlite3.Connection) -> list[tuple[str, str]]:
            return db.execute("SELECT place, taint FROM tainted_places").fetchall()

        for place, taint in await self._database.read(job):
            if (carried := decode_carried(taint)) is not None:
                self._known[place] = carried

    def of(self, key: str) -> Carried | None:
        """See the protocol."""
        return self._known.get(key) or self._known.get(_kind(key))

    def under(self, prefix: str) -> Sequence[Carried]:
        """See the protocol."""
        everywhere = _kind(prefix)
        return [one for key, one in self._known.items() if key.startswith(prefix) or key == everywhere]

    async def put(self, key: str, carried: Carried) -> None:
        """See the protocol."""
        if key not in self._known and len(self._known) >= self._most:
            key = _kind(key)
        merged = _merged(self._known.get(key), carried)
        self._known[key] = merged
        text = encode_carried(merged)

        def job(db: sqlite3.Connection) -> None:
            db.execute("INSERT OR REPLACE INTO tainted_places (place, taint) VALUES (?, ?)", (key, text))

        await self._database.write(job)

    async def drop(self, key: str) -> None:
        """See the protocol."""
        if self._known.pop(key, None) is None:
            return

        def job(db: sqlite3.Connection) -> None:
            db.execute("DELETE FROM tainted_places WHERE place = ?", (key,))

        await self._database.write(job)


def _kind(key: str) -> str:
    """`file:` of `file:notes/a.md`: what stands for all places of that kind."""
    return key[: key.index(":") + 1]


def _merged(old: Carried | None, new: Carried) -> Carried:
    if old is None:
        return new
    pairs = dict.fromkeys((*old.origins, *new.origins))
    firsts = {source: (source, origin) for source, origin in reversed(pairs)}
    kept = [*firsts.values(), *(pair for pair in pairs if pair not in firsts.values())][:MAX_ORIGINS]
    return Carried(origins=tuple(kept), is_private=old.is_private or new.is_private)
