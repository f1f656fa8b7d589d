"""The clock on the wall, which schedules go by, and waiting for it."""

import asyncio
import time
from typing import Final, Protocol

MAX_NAP: Final = 60.0  # seconds after which a clock that was set, or a machine that slept, is noticed


class Clock(Protocol):
    """Tells the time, and waits for it; tests turn one of their own."""

    def now(self) -> float:
        """Seconds since 1970."""

    async def wait(self, event: asyncio.Event, seconds: float) -> None:
        """Return when the event is set or the seconds are over, or earlier: look at the clock again."""


class WallClock:
    """The machine's.

    Timers of the event loop do not notice when the clock is set, and stand still while the machine sleeps; so
    no wait is longer than a minute.
    """

    def now(self) -> float:
        """See the protocol."""
        return time.time()

    async def wait(self, event: asyncio.Event, seconds: float) -> None:
        """See the protocol."""
        try:
            async with asyncio.timeout(min(max(0.0, seconds), MAX_NAP)):
                await event.wait()
        except TimeoutError:
            return
