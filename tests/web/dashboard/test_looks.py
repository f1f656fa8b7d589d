"""How the pages look: both widths, both themes, both languages."""

import pytest
from playwright.async_api import Browser, Page, expect

from bot.messages import Sender
from tests.inbox.office import ANN, CHAT
from tests.web.dashboard.site import LEE, PHONE, THERE, WIDE, Site

pytestmark = pytest.mark.browser

OVERFLOW = "() => document.documentElement.scrollWidth > document.documentElement.clientWidth"
LIGHTNESS = """() => {
  const all = getComputedStyle(document.body).backgroundColor.match(/[0-9.]+/g).map(Number);
  return Math.round((all[0] + all[1] + all[2]) / 3);
}"""


async def lightness(page: Page) -> int:
    """Of the page's background, from 0 to 255."""
    return int(await page.evaluate(LIGHTNESS))


async def test_on_a_phone_there_is_one_column_and_a_way_back(bot: Site, browser: Browser) -> None:
    await bot.says("hello")
    await bot.says("a long line without any break " + "x" * 300, LEE, THERE)
    page = await bot.open(await bot.context(browser, size=PHONE))
    await expect(page.locator(".ib-talk")).to_be_hidden()

    await page.locator(f'.ib-row[data-chat="{THERE.session()}"]').click()
    await expect(page.locator(".ib-lines")).to_be_visible()
    await expect(page.locator(".ib-list")).to_be_hidden()
    is_too_wide = await page.evaluate(OVERFLOW)
    await page.get_by_role("button", name="About the person").click()
    await expect(page.locator(".ib-aside")).to_be_in_viewport()
    await page.get_by_role("button", name="About the person").click()
    await page.get_by_role("button", name="Back to the list").click()

    await expect(page.locator(".ib-list")).to_be_visible()
    assert not is_too_wide
    assert not await page.evaluate(OVERFLOW)


async def test_on_a_phone_the_name_has_room_beside_icons(bot: Site, browser: Browser) -> None:
    await bot.says("hello", Sender(id="kim", name="Mara Lindqvist"))
    await bot.desk.take_over(CHAT, ANN)
    page = await bot.open(await bot.context(browser, size=PHONE), CHAT)

    for name in ("Hand back", "Handled"):
        button = page.get_by_role("button", name=name)
        box = await button.bounding_box()
        assert box is not None
        assert box["width"] <= 40
    assert await page.locator(".ib-name").evaluate("name => name.scrollWidth <= name.clientWidth")


async def test_on_a_desk_all_three_columns_are_there(bot: Site, browser: Browser) -> None:
    await bot.says("hello")
    page = await bot.open(await bot.context(browser, size=WIDE), CHAT)

    for part in (".ib-list", ".ib-lines", ".ib-composer", ".ib-aside"):
        await expect(page.locator(part)).to_be_in_viewport()
    await expect(page.locator(".ib-pie")).to_have_attribute("data-level", "good")
    assert not await page.evaluate(OVERFLOW)


async def test_the_theme_goes_by_the_system_until_one_is_chosen(bot: Site, browser: Browser) -> None:
    await bot.says("hello")
    light = await bot.open(await bot.context(browser))
    dark = await bot.open(await bot.context(browser, is_dark=True))
    by_system = (await lightness(light), await lightness(dark))

    await light.get_by_role("button", name="Light or dark").click()
    await light.get_by_text("Dark", exact=True).click()
    await expect(light.locator("body.body--dark")).to_be_attached()
    await light.reload()
    await expect(light.locator("body.body--dark")).to_be_attached()

    assert by_system[0] > 200
    assert by_system[1] < 60
    assert await lightness(light) < 60


async def test_the_language_goes_by_the_browser_until_one_is_chosen(bot: Site, browser: Browser) -> None:
    await bot.says("hello")
    page = await bot.open(await bot.context(browser, locale="zh-CN"), CHAT)
    await expect(page.get_by_role("button", name="接管")).to_be_visible()
    await expect(page.locator("html")).to_have_attribute("lang", "zh-CN")
    await expect(page.get_by_label("回复", exact=True)).to_be_visible()

    await page.get_by_role("button", name="语言").click()
    await page.get_by_text("English", exact=True).click()

    await expect(page.get_by_role("button", name="Take over")).to_be_visible()
    await expect(page.locator("html")).to_have_attribute("lang", "en-US")


async def test_times_are_those_of_the_browser(bot: Site, browser: Browser) -> None:
    await bot.says("hello")
    page = await bot.open(await bot.context(browser), CHAT)
    (first, *_) = await bot.lines()
    format_ = "at => new Intl.DateTimeFormat('en-GB', { timeStyle: 'short' }).format(at * 1000)"

    shown = await page.locator(".ib-line time").first.inner_text()

    assert shown == await page.evaluate(format_, first.at.timestamp())


async def test_nothing_is_said_on_the_console(bot: Site, browser: Browser) -> None:
    await bot.says("hello")
    context = await bot.context(browser)
    said: list[str] = []
    context.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
    context.on("weberror", lambda fault: said.append(str(fault.error)))
    page = await bot.open(context, CHAT)
    await expect(page.locator(".ib-line")).to_have_count(2)

    assert said == []
