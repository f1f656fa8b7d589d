"""How the chat page looks and reads: on a phone, in the dark, to a screen reader."""

from typing import Final

import pytest
from playwright.async_api import Browser, BrowserContext, ViewportSize, expect

from tests.channels.browsing import open_page, say
from tests.channels.site import Site

pytestmark = pytest.mark.browser

PHONE: Final = ViewportSize(width=390, height=844)


async def test_a_phone_shows_all_without_scrolling_sideways(browser: Browser, site: Site) -> None:
    context = await browser.new_context(viewport=PHONE, is_mobile=True, has_touch=True)
    page = await open_page(context, site)
    wide = f"{'long' * 60} `{'code' * 60}`\n\n```\n{'wide ' * 60}\n```\n\n|a|b|\n|-|-|\n|{'cell' * 40}|b|"
    await say(page, wide)
    await expect(page.locator(".answer[data-reason=done]")).to_be_visible()

    widths = await page.evaluate(
        "[document.documentElement, document.getElementById('scroller')].map(one => one.scrollWidth)"
    )
    assert max(widths) <= 390
    await expect(page.get_by_role("button", name="Send")).to_be_in_viewport()
    await context.close()


async def test_light_and_dark_follow_the_system_until_chosen(browser: Browser, site: Site) -> None:
    context = await browser.new_context(color_scheme="dark")
    page = await open_page(context, site)
    background = "getComputedStyle(document.body).backgroundColor"
    dark = await page.evaluate(background)
    button = page.get_by_role("button", name="Dark theme")
    await expect(button).to_have_attribute("aria-pressed", "true")
    await button.click()
    light = await page.evaluate(background)
    await page.reload()

    assert dark != light
    assert await page.evaluate(background) == light
    await context.close()


async def test_a_screen_reader_finds_its_way(context: BrowserContext, site: Site) -> None:
    page = await open_page(context, site)
    await say(page, "hello")

    log = page.get_by_role("log", name="Messages")
    await expect(log).to_have_attribute("aria-live", "polite")
    await expect(log.get_by_role("article", name="You")).to_have_count(1)
    await expect(log.get_by_role("article", name="Echo")).to_have_count(1)
    await expect(page.get_by_role("main", name="Conversation")).to_be_visible()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Echo")
    for button in await page.get_by_role("button").all():
        assert await button.get_attribute("aria-label") or await button.inner_text()
    assert await page.evaluate("document.documentElement.lang") == "en"
