"""The audit log: one JSON line a decision, appended to a file a month in `BOT_HOME/audit`."""

import asyncio
import logging
import os
from datetime import datetime
from pathlib import Path
from typing import Protocol

import msgspec

from bot.agent.audit import AuditEvent
from bot.errors import StoreError
from bot.messages import encoder, new_id, utc_now

log = logging.getLogger(__name__)


class Pointer(Protocol):
    """Counts the bytes written to each file, outside of the file: what is cut off stays missing."""

    async def lengths(self) -> dict[str, int]: ...

    async def advance(self, file: str, count: int) -> None: ...


class Line(AuditEvent, frozen=True, kw_only=True, omit_defaults=False):
    """An event as it is written: with an id and the time."""

    id: str
    at: datetime


class AuditLog:
    """Fulfils `bot.agent.audit.Audit`; writes in a thread, one line after another."""

    def __init__(self, directory: Path, pointer: Pointer) -> None:
        self._directory = directory
        self._pointer = pointer
        self._turn = asyncio.Lock()

    async def record(self, event: AuditEvent) -> None:
        """See `Audit.record`."""
        now = utc_now()
        line = Line(id=new_id(), at=now, **msgspec.structs.asdict(event))
        file = f"{now:%Y-%m}.jsonl"
        try:
            async with self._turn:
                encoded = encoder.encode(line) + b"\n"
                await asyncio.to_thread(self._append, file, encoded)
                await self._pointer.advance(file, len(encoded))
        except (OSError, StoreError) as error:
            log.critical(
                "audit line lost", extra={"action": event.action, "status": event.status, "cause": str(error)}
            )

    def _append(self, file: str, line: bytes) -> None:
        self._directory.mkdir(mode=0o700, exist_ok=True)
        descriptor = os.open(self._directory / file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            written = os.write(descriptor, line)
            if written < len(line):  # take the half line back, so that the next one is not spoilt by it
                os.ftruncate(descriptor, os.fstat(descriptor).st_size - written)
                raise OSError(f"only {written} of {len(line)} bytes could be written")
        finally:
            os.close(descriptor)

    async def cut_files(self) -> list[str]:
        """The files that are shorter than what was written to them, or gone."""
        lengths = await self._pointer.lengths()
        return await asyncio.to_thread(self._find_cut, lengths)

    def _find_cut(self, lengths: dict[str, int]) -> list[str]:
        return [file for file, length in sorted(lengths.items()) if _size(self._directory / file) < length]


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
