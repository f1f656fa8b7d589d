"""The network of the tools, which is loaded and opened when it is first used: most turns need none."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from types import TracebackType
from typing import Protocol, Self

from bot.tools.api import Caller
from bot.tools.web import Fetcher, Page


class Network(Fetcher, Caller, Protocol):
    """Fetches pages and calls APIs."""


class LazyNetwork:
    """Fulfils `Network`; closed when the bot is.

    Args:
        make: Gives the network; called in a thread, because what it loads takes its time.
    """

    def __init__(self, make: Callable[[], AbstractAsyncContextManager[Network]]) -> None:
        self._make = make
        self._stack = AsyncExitStack()
        self._lock = asyncio.Lock()
        self._network: Network | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    async def _opened(self) -> Network:
        async with self._lock:
            if self._network is None:
                made = await asyncio.to_thread(self._make)
                self._network = await self._stack.enter_async_context(made)
            return self._network

    async def get(
        self, url: str, *, headers: Mapping[str, str] | None = None, max_bytes: int, seconds: float
    ) -> Page:
        """See `Fetcher`."""
        network = await self._opened()
        return await network.get(url, headers=headers, max_bytes=max_bytes, seconds=seconds)

    async def call(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes | None = None,
        max_bytes: int,
        seconds: float,
    ) -> Page:
        """See `Caller`."""
        network = await self._opened()
        return await network.call(
            method, url, headers=headers, body=body, max_bytes=max_bytes, seconds=seconds
        )
