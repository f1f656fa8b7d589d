"""A whole bot with platforms of the tests' own and the operator's pages, which a browser opens."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final
from urllib.parse import quote

from playwright.async_api import Browser, BrowserContext, Page, expect

from bot.app import App
from bot.messages import Address, Sender
from bot.settings import ChannelSettings
from channels.base import Setup
from tests.agent.rig import Play, PlayedBackend, echo
from tests.bots import settings_for
from tests.inbox.office import Board, Office, Slate

WIDE: Final = (1440, 900)
PHONE: Final = (390, 844)
LEE: Final = Sender(id="lee", name="Lee")
THERE: Final = Address(channel="slate", chat="lee")


class Site(Office):
    """The bot and where its pages are."""

    @property
    def url(self) -> str:
        """Of the web server."""
        assert self.app.url is not None
        return self.app.url

    async def context(
        self,
        browser: Browser,
        name: str = "Ann",
        *,
        size: tuple[int, int] = WIDE,
        locale: str = "en-GB",
        is_dark: bool = False,
    ) -> BrowserContext:
        """A browser of an operator who has said who they are."""
        context = await browser.new_context(
            viewport={"width": size[0], "height": size[1]},
            locale=locale,
            timezone_id="Europe/Berlin",
            color_scheme="dark" if is_dark else "light",
            reduced_motion="reduce",
        )
        if name:
            cookie = {"name": "switchboard_name", "value": quote(name), "url": f"{self.url}/inbox/"}
            await context.add_cookies([cookie])  # type: ignore[list-item]  # a plain dict will do
        return context

    async def open(self, context: BrowserContext, chat: str = "") -> Page:
        """The inbox, with a conversation open."""
        page = await context.new_page()
        page.set_default_timeout(10_000)
        await page.goto(f"{self.url}/inbox/" + (f"?chat={quote(chat)}" if chat else ""))
        await expect(page.locator(".ib-row").first).to_be_attached()
        if chat:
            await expect(page.locator(".ib-line").first).to_be_visible()
        return page


@asynccontextmanager
async def site(
    home: Path, play: Play = echo, *, kinds: tuple[type[Board], ...] = (Board, Slate), **changes: object
) -> AsyncIterator[Site]:
    """A running bot that `board:boss` steers; `changes` are settings."""
    backend, boards, news = PlayedBackend(play), dict[str, Board](), asyncio.Condition()

    def make(kind: type[Board]) -> Callable[[Setup[ChannelSettings]], Board]:
        def made(setup: Setup[ChannelSettings]) -> Board:
            boards[kind.name] = kind(setup, news)
            return boards[kind.name]

        return made

    settings = settings_for(home, **({"admins": ("board:boss",)} | changes))
    adapters = {kind.name: make(kind) for kind in kinds}
    async with (
        App(settings, backend=backend, adapters=adapters) as app,
        asyncio.TaskGroup() as group,
    ):
        at_work = Site(app, home, backend, boards, news)
        following = group.create_task(at_work.follow())
        async with asyncio.timeout(10), news:
            await news.wait_for(lambda: len(boards) == len(adapters))  # they are opened beside the start
        yield at_work
        following.cancel()
