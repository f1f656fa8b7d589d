"""A hub with an echo bot behind it, and ways to read from its links."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import TypeVar

import pytest
from playwright.async_api import Browser, BrowserContext

from bot.bus import LocalBus
from channels.frames import Hello, Over, ServerFrame, Welcome
from channels.hub import ChatHub
from channels.link import Link
from tests.channels.echo import EchoBot, MemoryStore
from tests.channels.site import COMMANDS, Site

Frame = TypeVar("Frame")


class Reader:
    """Reads a link and remembers all it saw."""

    def __init__(self, link: Link) -> None:
        self.link = link
        self.seen: list[ServerFrame] = []

    async def until(self, kind: type[Frame], fits: Callable[[Frame], bool] = lambda _: True) -> Frame:
        """Read up to the next frame of a kind."""
        async with asyncio.timeout(5):
            async for frame in self.link:
                self.seen.append(frame)
                if isinstance(frame, kind) and fits(frame):
                    return frame
        raise AssertionError(f"the link ended before {kind.__name__}")

    def of(self, kind: type[Frame]) -> list[Frame]:
        return [frame for frame in self.seen if isinstance(frame, kind)]


class Parts:
    """A hub and what is behind it."""

    def __init__(self, bus: LocalBus, store: MemoryStore, hub: ChatHub, bot: EchoBot) -> None:
        self.bus = bus
        self.store = store
        self.hub = hub
        self.bot = bot

    async def open(self, chat: str = "main") -> Reader:
        """Open a window and read up to its welcome."""
        reader = Reader(self.hub.connect())
        await reader.link.receive(Hello(chat=chat))
        await reader.until(Welcome)
        return reader

    async def answered(self, reader: Reader) -> Over:
        return await reader.until(Over)


@pytest.fixture
async def parts() -> AsyncIterator[Parts]:
    bus, store = LocalBus(), MemoryStore()
    async with (
        ChatHub("web", bus, transcript=store, bot_name="Echo", commands=COMMANDS) as hub,
        EchoBot(bus, store) as bot,
    ):
        yield Parts(bus, store, hub, bot)


@pytest.fixture
async def context(browser: Browser) -> AsyncIterator[BrowserContext]:
    context = await browser.new_context(viewport={"width": 1440, "height": 900})
    yield context
    await context.close()


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with Site() as site:
        yield site
