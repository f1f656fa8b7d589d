"""What is kept no longer: messages past their age, and files of messages that are gone."""

import asyncio
import logging
import re
import shutil
import sqlite3
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import msgspec

from bot.errors import StoreError
from bot.messages import RunId, SessionKey
from memory.database import Database
from memory.inbox.book import Inbox
from memory.inbox.erasing import drop_old_notes
from memory.recall import Recall
from memory.summaries import drop_summary

log = logging.getLogger(__name__)

DAY: Final = 86_400.0
CLOSE_SECONDS: Final = 5.0
ID: Final = re.compile(r"[0-9A-Za-z-]+")  # nothing that leads out of a folder
INDEX_SECONDS: Final = 3_600.0  # that a first index of a long history may take, beside everything else


class Retention:
    """Clears up once a day, from `__aenter__` to `__aexit__`; keeps full-text index and inbox current.

    Args:
        media: Where files of messages are, a folder a message.
        exports: Where exports are put; they go after a day.
        days: How long messages are kept; 0 keeps them for ever.

    Attributes:
        swept: Set when it has cleared up once.
    """

    def __init__(self, database: Database, recall: Recall, *, media: Path, exports: Path, days: int) -> None:
        self._database = database
        self._recall = recall
        self._inbox = Inbox(database, recall)
        self._media = media
        self._exports = exports
        self._days = days
        self._task: asyncio.Task[None] | None = None
        self.swept = asyncio.Event()

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._work(), name="retention")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=CLOSE_SECONDS)

    async def erase_files(self, runs: Sequence[RunId]) -> None:
        """Delete the files that came with messages."""
        folders = [self._media / run for run in runs if ID.fullmatch(run)]
        await asyncio.to_thread(_remove, folders)

    async def sweep(self) -> int:
        """Clear up now; gives how many turns were deleted."""
        now = time.time()
        gone = await self._expire(now - self._days * DAY) if self._days else 0
        await asyncio.to_thread(_remove, _older(self._exports, now - DAY))
        strays = [
            folder
            for folder in await asyncio.to_thread(_older, self._media, now - DAY)
            if not await self.knows(RunId(folder.name))
        ]
        await asyncio.to_thread(_remove, strays)
        if gone or strays:
            log.info("cleared up", extra={"turns": gone, "folders": len(strays)})
        return gone

    async def _work(self) -> None:
        while True:
            try:
                await self.sweep()
                self.swept.set()
                await self._recall.catch_up(INDEX_SECONDS)
                await self._inbox.catch_up()
            except (StoreError, OSError) as error:
                log.error("clearing up failed", extra={"cause": str(error)})
            await asyncio.sleep(DAY)

    async def _expire(self, before: float) -> int:
        """Delete what was said before a time, a session a job, so that no turn waits for long."""
        sessions: list[tuple[SessionKey]] = await self._database.read(
            lambda db: db.execute("SELECT session FROM sessions WHERE created_at < ?", (before,)).fetchall()
        )
        count = 0
        for (session,) in sessions:
            runs = await self._database.read(partial(_expired, session=session, before=before))
            if runs:
                await self._database.write(partial(_delete, session=session, before=before))
                await self.erase_files(runs)
                count += len(runs)
        await self._database.write(partial(drop_old_notes, before=before))
        return count

    async def knows(self, run: RunId) -> bool:
        """Whether a message is in the history, or still to be answered."""
        found = await self._database.read(
            lambda db: db.execute(
                "SELECT 1 FROM messages WHERE run = :run UNION ALL"
                " SELECT 1 FROM journal WHERE run = :run AND state <> 'done' LIMIT 1",
                {"run": run},
            ).fetchone()
        )
        return found is not None


def _expired(db: sqlite3.Connection, session: SessionKey, before: float) -> list[RunId]:
    """Turns of a session of which every line is too old."""
    rows = db.execute(
        "SELECT run FROM messages WHERE session = ? GROUP BY run HAVING max(at) < ?", (session, before)
    )
    return [run for (run,) in rows]


def _delete(db: sqlite3.Connection, session: SessionKey, before: float) -> None:
    """Delete those turns, what their tools did, and the summary that tells of them."""
    runs = _expired(db, session, before)
    first, seen = db.execute(
        "SELECT min(number), sum(in_context) FROM messages WHERE session = ?"
        " AND run IN (SELECT value FROM json_each(?))",
        (session, msgspec.json.encode(runs).decode()),
    ).fetchone()
    for run in runs:
        db.execute("DELETE FROM tool_calls WHERE run = ?", (run,))
        db.execute("DELETE FROM bursts WHERE kept = ?", (run,))
        db.execute("DELETE FROM messages WHERE session = ? AND run = ?", (session, run))
    db.execute("DELETE FROM overheard WHERE session = ? AND at < ?", (session, before))
    db.execute("UPDATE sessions SET turns = max(0, turns - ?) WHERE session = ?", (seen or 0, session))
    if first is not None:
        drop_summary(db, session, line=first)


def _older(folder: Path, before: float) -> list[Path]:
    """What lies in a folder and was not touched since a time."""
    try:
        return [entry for entry in folder.iterdir() if entry.stat().st_mtime < before]
    except FileNotFoundError:
        return []


def _remove(paths: Sequence[Path]) -> None:
    for path in paths:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
