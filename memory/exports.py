"""Files of what is kept of a chat and of a person, for them to take away."""

import asyncio
import os
import sqlite3
from collections.abc import AsyncGenerator, Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from bot.commands.memory import Format
from bot.commands.sessions import ChatSession
from bot.long_term import Memory
from bot.messages import Attachment, InboundMessage, SessionKey, StoredMessage, new_id
from bot.tools.base import Speaker
from memory.database import Database
from memory.rows import LINE, line_from

PAGE: Final = 500  # lines that are read at once
KINDS: Final[dict[Format, tuple[str, str]]] = {
    "markdown": ("md", "text/markdown"),
    "json": ("json", "application/json"),
}
TEXT: Final = "Here it is."


class Exports:
    """Fulfils `bot.commands.memory.Exports`: writes files that nobody else on the machine may read.

    Args:
        folder: Where they are put; `memory/retention.py` clears it.
        speaker: Who sends them; asked for when one is sent.
        takes_files: Whether a channel can send files.
    """

    def __init__(
        self,
        database: Database,
        folder: Path,
        *,
        speaker: Callable[[], Speaker],
        takes_files: Callable[[str], bool],
    ) -> None:
        self._database = database
        self._folder = folder
        self._speaker = speaker
        self._takes_files = takes_files

    async def hand_over(
        self,
        message: InboundMessage,
        sessions: Sequence[ChatSession],
        memories: Sequence[Memory],
        form: Format,
    ) -> str:
        """See the protocol."""
        ending, mime = KINDS[form]
        path = self._folder / f"{new_id()}.{ending}"
        parts = (self._json if form == "json" else self._markdown)(sessions, memories)
        descriptor = await asyncio.to_thread(_create, path)
        with os.fdopen(descriptor, "wb") as file:
            async for part in parts:
                await asyncio.to_thread(file.write, part)
        if not self._takes_files(message.address.channel):
            return str(path)
        sent = Attachment(
            kind="file", name=f"export.{ending}", mime=mime, size=path.stat().st_size, path=str(path)
        )
        await self._speaker().say(message.address, message.session, TEXT, attachments=(sent,))
        return ""

    async def _markdown(
        self, sessions: Sequence[ChatSession], memories: Sequence[Memory]
    ) -> AsyncGenerator[bytes]:
        if memories:
            yield b"# Remembered\n\n"
            yield "".join(f"- {one.text} ({one.updated_at:%Y-%m-%d})\n" for one in memories).encode()
        for session in sessions:
            yield f"\n# {' '.join((session.title or session.opening or 'Session').split())}\n".encode()
            async for lines in self._pages(session.session):
                said = (f"\n**{line.speaker}**, {line.at:%Y-%m-%d %H:%M}\n\n{line.text}\n" for line in lines)
                yield "".join(said).encode()

    async def _json(
        self, sessions: Sequence[ChatSession], memories: Sequence[Memory]
    ) -> AsyncGenerator[bytes]:
        yield b'{"memories":' + msgspec.json.encode(memories) + b',"sessions":['
        for place, session in enumerate(sessions):
            head = msgspec.json.encode({"title": session.title, "session": session.session})
            yield (b"," if place else b"") + head[:-1] + b',"messages":['
            comma = b""
            async for lines in self._pages(session.session):
                yield comma + msgspec.json.encode(lines)[1:-1]
                comma = b","
            yield b"]}"
        yield b"]}\n"

    async def _pages(self, session: SessionKey) -> AsyncGenerator[list[StoredMessage]]:
        """The lines of a session, oldest first."""
        after = 0

        def job(db: sqlite3.Connection) -> list[StoredMessage]:
            rows = db.execute(
                f"SELECT {LINE} FROM messages WHERE session = ? AND number > ? ORDER BY number LIMIT ?",
                (session, after, PAGE),
            )
            return [line_from(row) for row in rows]

        while lines := await self._database.read(job):
            yield lines
            after = lines[-1].number


def _create(path: Path) -> int:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
