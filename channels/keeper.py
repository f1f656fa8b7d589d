"""Keeps an adapter connected: runs it, and runs it again after a pause when it falls."""

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Final, Self, TypeAlias

from bot.errors import ChannelError
from channels.base import ChannelAdapter, Liveness

log = logging.getLogger(__name__)

FIRST_PAUSE: Final = 1.0  # seconds; doubled at each fall in a row
LONGEST_PAUSE: Final = 60.0
STEADY: Final = 60.0  # seconds of running after which a fall counts as the first
CLOSE_SECONDS: Final = 10.0

Sleep: TypeAlias = Callable[[float], Awaitable[None]]
Clock: TypeAlias = Callable[[], float]


class Keeper:
    """Runs one adapter from `__aenter__` to `__aexit__`; a platform that is away holds nothing else up."""

    def __init__(
        self, adapter: ChannelAdapter, *, sleep: Sleep = asyncio.sleep, clock: Clock = time.monotonic
    ) -> None:
        self._adapter = adapter
        self._sleep = sleep
        self._clock = clock
        self._is_closing = False
        self._cause: str | None = None
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        name = f"channel {self._adapter.name}:{self._adapter.account}"
        self._task = asyncio.create_task(self._keep(), name=name)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop hearing; calls to the platform go on until the adapter is closed."""
        self._is_closing = True
        if self._task is not None:
            self._task.cancel()
            _, late = await asyncio.wait({self._task}, timeout=CLOSE_SECONDS)
            if late:
                log.warning("channel does not close", extra={"channel": self._adapter.name})

    @property
    def adapter(self) -> ChannelAdapter:
        """The one that is kept."""
        return self._adapter

    @property
    def liveness(self) -> Liveness:
        """How its connection is doing, and what brought it down last."""
        liveness = self._adapter.liveness
        if liveness.is_connected or liveness.cause is not None:
            return liveness
        return Liveness(is_connected=False, last_event_at=liveness.last_event_at, cause=self._cause)

    async def _keep(self) -> None:
        pause = FIRST_PAUSE
        while not self._is_closing:  # an adapter that fails while it closes drops our cancellation
            began = self._clock()
            error = await self._run()
            if self._is_closing:
                return
            self._cause = str(error)
            if isinstance(error, ChannelError) and error.permanent:
                log.error("channel is off", extra=self._fields())
                return
            pause = FIRST_PAUSE if self._clock() - began > STEADY else pause
            log.warning("channel fell, connecting again", extra={**self._fields(), "pause": pause})
            asked = error.retry_after if isinstance(error, ChannelError) else None
            await self._sleep(asked or random.uniform(pause / 2, pause))
            pause = min(LONGEST_PAUSE, 2 * pause)

    async def _run(self) -> Exception:
        """Run the adapter until it falls; gives what brought it down."""
        try:
            await self._adapter.run()
        except ChannelError as error:
            return error
        except Exception as error:
            log.exception("channel broke", extra=self._fields())
            return error
        return ChannelError("the connection ended")

    def _fields(self) -> dict[str, object]:
        return {
            "channel": self._adapter.name,
            "account": self._adapter.account,
            "cause": self._cause,
        }
