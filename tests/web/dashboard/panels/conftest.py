"""A whole bot, what its panels are given, and a browser in front of it."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Final, TypeAlias

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, Page, ViewportSize

from bot.app import App
from bot.web.dashboard.base import Parts
from tests.agent.rig import PlayedBackend
from tests.bots import settings_for
from tests.web.dashboard.panels.rig import parts_of, put_plugins

OpenPanel: TypeAlias = Callable[..., Awaitable[Page]]
WIDE: Final[ViewportSize] = {"width": 1440, "height": 900}
PHONE: Final[ViewportSize] = {"width": 390, "height": 844}


@pytest.fixture(autouse=True)
def level() -> Iterator[None]:
    """Settings change the level of the root logger."""
    before = logging.getLogger().level
    yield
    logging.getLogger().setLevel(before)


@pytest_asyncio.fixture(loop_scope="session")
async def app(tmp_path: Path) -> AsyncIterator[App]:
    """A running bot with two plugins, one of which can't be loaded."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    put_plugins(home)
    async with App(settings_for(home), backend=PlayedBackend()) as running:
        yield running


@pytest.fixture
def parts(app: App) -> Parts:
    """What the pages of the bot are given."""
    return parts_of(app)


@pytest_asyncio.fixture(loop_scope="session")
async def context(browser: Browser) -> AsyncIterator[BrowserContext]:
    """An operator's browser; a mistake of a page fails the test."""
    mistakes: list[str] = []

    def watch(page: Page) -> None:
        page.set_default_timeout(15_000)
        page.on("pageerror", lambda error: mistakes.append(str(error)))
        page.on("console", lambda line: mistakes.append(line.text) if line.type == "error" else None)

    made = await browser.new_context(viewport=WIDE, locale="en-US")
    made.on("page", watch)
    yield made
    await made.close()
    assert mistakes == []


@pytest.fixture
def open_panel(app: App, context: BrowserContext) -> OpenPanel:
    """Opens a panel as Ada, the owner."""

    async def open_it(name: str, *, is_phone: bool = False) -> Page:
        assert app.url is not None
        await context.add_cookies([{"name": "switchboard_name", "value": "Ada", "url": app.url}])
        page = await context.new_page()
        if is_phone:
            await page.set_viewport_size(PHONE)
        await page.goto(f"{app.url}/inbox/{name}")
        await page.get_by_role("heading", level=1).wait_for()
        return page

    return open_it
