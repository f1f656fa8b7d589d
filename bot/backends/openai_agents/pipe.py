"""The way of events from the SDK's tasks to the reader of a turn."""

import asyncio
from collections.abc import AsyncGenerator

from bot.backends.base import AgentEvent

MOST_WAITING = 64  # events; who makes them waits for the reader then


class Pipe:
    """Hands events over in order; one reader."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[AgentEvent | None] = asyncio.Queue()
        self._room = asyncio.Semaphore(MOST_WAITING)

    async def put(self, event: AgentEvent) -> None:
        """Hand an event over; waits while too many are unread."""
        await self._room.acquire()
        self._queue.put_nowait(event)

    def close(self) -> None:
        """Say that nothing follows; what was put before is still read."""
        self._queue.put_nowait(None)

    async def read(self) -> AsyncGenerator[AgentEvent, None]:
        """The events, until the pipe is closed."""
        while (event := await self._queue.get()) is not None:
            self._room.release()
            yield event
