"""Albums: several updates that a person sent as one message."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final, TypeAlias

import msgspec

from bot.errors import BotError
from channels.base import State
from channels.telegram.wire import Message, Update

log = logging.getLogger(__name__)

QUIET: Final = 0.6  # seconds after the last part until an album counts as whole
AGAIN: Final = 1.0  # seconds until one that could not be taken is tried again
CLOSE_SECONDS: Final = 5.0
NAME: Final = "albums"

TakeAlbum: TypeAlias = Callable[[tuple[Update, ...]], Awaitable[None]]
_decode = msgspec.json.Decoder(list[Update]).decode


class Albums:
    """Collects the parts of albums; a part is durable as soon as it is added.

    Args:
        take: Takes all parts of an album; may raise `StoreError`.
    """

    def __init__(self, state: State, take: TakeAlbum, *, quiet: float = QUIET) -> None:
        self._state = state
        self._take = take
        self._quiet = quiet
        self._parts: dict[str, list[Update]] = {}
        self._due: dict[str, float] = {}
        self._lock = asyncio.Lock()
        self._news = asyncio.Event()
        self._is_loaded = False

    async def load(self) -> None:
        """Read the parts that came before a restart."""
        if self._is_loaded:
            return
        for update in _decode(await self._state.get(NAME) or "[]"):
            self._put(update)
        self._is_loaded = True

    async def add(self, update: Update) -> None:
        """Add a part; an earlier album of its chat is whole by now.

        Raises:
            StoreError: It could not be made durable.
        """
        async with self._lock:
            await self._end(_message(update).chat.id, but=_album(update))
            self._put(update)
            await self._keep()

    async def end(self, chat: int) -> None:
        """Take the albums of a chat: something else was said in it.

        Raises:
            StoreError: One could not be taken.
        """
        if not self._parts:
            return
        async with self._lock:
            await self._end(chat)

    @asynccontextmanager
    async def watched(self) -> AsyncIterator[None]:
        """Take albums when they are whole, as long as this is open."""
        task = asyncio.create_task(self._watch(), name="telegram albums")
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait({task}, timeout=CLOSE_SECONDS)

    async def _watch(self) -> None:
        while True:
            if not self._due:
                self._news.clear()
                await self._news.wait()
            await asyncio.sleep(max(0.0, min(self._due.values(), default=0.0) - time.monotonic()))
            async with self._lock:
                for album in [one for one, due in self._due.items() if due <= time.monotonic()]:
                    await self._try(album)

    async def _try(self, album: str) -> None:
        try:
            await self._close(album)
        except BotError as error:
            log.warning("album not taken, trying again", extra={"cause": str(error)})
            if album in self._parts:
                self._due[album] = time.monotonic() + AGAIN

    async def _end(self, chat: int, *, but: str | None = None) -> None:
        for album, parts in list(self._parts.items()):
            if album != but and _message(parts[0]).chat.id == chat:
                await self._close(album)

    async def _close(self, album: str) -> None:
        """Take an album, and then forget it: dying in between, it comes again and is recognised."""
        parts = sorted(self._parts[album], key=lambda update: update.update_id)
        await self._take(tuple(parts))
        del self._parts[album], self._due[album]
        await self._keep()

    def _put(self, update: Update) -> None:
        """Add a part, unless it is there."""
        parts = self._parts.setdefault(_album(update), [])
        self._due[_album(update)] = time.monotonic() + self._quiet
        self._news.set()
        if all(part.update_id != update.update_id for part in parts):
            parts.append(update)

    async def _keep(self) -> None:
        waiting = [update for parts in self._parts.values() for update in parts]
        await self._state.put(NAME, msgspec.json.encode(waiting).decode())


def _message(update: Update) -> Message:
    assert update.message is not None
    return update.message


def _album(update: Update) -> str:
    return _message(update).media_group_id or ""
