"""What the tests of the chat page do all the time."""

import asyncio
from collections.abc import AsyncIterator

from playwright.async_api import BrowserContext, Page, expect

from tests.channels.site import Site


async def open_page(context: BrowserContext, site: Site) -> Page:
    page = await context.new_page()
    await page.goto(f"{site.url}/chat")
    await expect(page.get_by_role("status").first).to_have_text("Online")
    return page


async def say(page: Page, text: str) -> None:
    await page.get_by_label("Message", exact=True).fill(text)
    await page.keyboard.press("Enter")


class Gate:
    """A reply that stops after each piece until told to go on."""

    def __init__(self, *pieces: str) -> None:
        self._pieces = pieces
        self._go = asyncio.Semaphore(0)

    def open(self) -> None:
        self._go.release()

    async def __call__(self, text: str) -> AsyncIterator[str]:
        for piece in self._pieces:
            yield piece
            await self._go.acquire()
