"""Something that is done again and again, but not too often."""

import asyncio
from collections.abc import Awaitable, Callable

from nicegui import Client, background_tasks


class Paced:
    """Does something when asked to, and once more for all that was asked within the pause after it.

    Args:
        client: The page; what is done ends with it.
        seconds: Between two times.
    """

    def __init__(self, doing: Callable[[], Awaitable[object]], client: Client, seconds: float) -> None:
        self._doing = doing
        self._client = client
        self._seconds = seconds
        self._is_wanted = False
        self._is_running = False

    def ask(self) -> None:
        """Have it done."""
        self._is_wanted = True
        if not self._is_running:
            self._is_running = True
            background_tasks.create(self._run(), name="inbox paced", context=self._client)

    async def _run(self) -> None:
        try:
            while self._is_wanted and not self._client.is_deleted:
                self._is_wanted = False
                await self._doing()
                await asyncio.sleep(self._seconds)
        finally:
            self._is_running = False
