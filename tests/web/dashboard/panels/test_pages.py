"""The panels in a real browser: what each is for, done once."""

import logging
from pathlib import Path

import pytest
from playwright.async_api import BrowserContext, Download, Page, expect

from bot.agent.audit_query import Query
from bot.app import App
from bot.web.dashboard.base import Parts
from bot.web.dashboard.registry import PANELS
from tests.bots import settings_for
from tests.web.dashboard.panels.conftest import PHONE, WIDE, OpenPanel
from tests.web.dashboard.panels.rig import get_stuck, hold_back, knock, park, plan, use

pytestmark = pytest.mark.browser

HOSTILE = "<img src=x onerror=\"document.title='taken'\"> {{ 7*7 }} **bold**"
OWNERS_ONLY = "Only an owner may see this."


async def agree(page: Page, yes: str) -> None:
    """Confirm what was asked."""
    await page.get_by_role("dialog").get_by_role("button", name=yes).click()


async def take_home(download: Download) -> str:
    """What was downloaded."""
    return Path(await download.path()).read_text("utf-8")  # noqa: ASYNC240 - a small file


def change_log(folder: Path) -> None:
    """Do what nobody must do to an audit log."""
    (file,) = folder.glob("*.jsonl")
    file.write_text(file.read_text("utf-8").replace("setting change", "setting chance"), "utf-8")


async def test_every_panel_opens_wide_and_narrow_without_a_mistake(open_panel: OpenPanel) -> None:
    page = await open_panel("channels")
    for panel in PANELS:
        await page.goto(page.url.rsplit("/", 1)[0] + f"/{panel.name}")
        await page.get_by_role("heading", level=1).wait_for()
        for size in (WIDE, PHONE):
            await page.set_viewport_size(size)
            spill = await page.evaluate("document.documentElement.scrollWidth - innerWidth")
            assert spill <= 0, panel.name


async def test_channels_show_themselves_what_waits(open_panel: OpenPanel, app: App) -> None:
    page = await open_panel("channels")
    card = page.locator(".sb-card", has_text="telegram")
    assert await card.count() == 0

    await get_stuck(app)

    await expect(card).to_contain_text("1")  # by itself, a moment later
    await expect(page.locator(".sb-card", has_text="web")).to_contain_text("connected")


async def test_parked_messages_and_stuck_answers_are_tried_again_or_dropped(
    open_panel: OpenPanel, app: App
) -> None:
    await park(app)
    await get_stuck(app, HOSTILE)
    page = await open_panel("deliveries")
    await page.locator(".sb-item", has_text="parked").get_by_role("button", name="Try again").click()
    await expect(page.get_by_text("Every accepted message is answered.")).to_be_visible()

    answer = page.locator(".sb-item", has_text="telegram:default:42")
    await expect(answer).to_contain_text(HOSTILE)
    await answer.get_by_role("button", name="Drop").click()
    await page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    assert len(await app.store.outbox.undelivered(limit=2)) == 1
    await answer.get_by_role("button", name="Drop").click()
    await agree(page, "Drop")

    await expect(page.get_by_text("Every answer has arrived.")).to_be_visible()
    assert await app.store.outbox.undelivered(limit=2) == []
    assert "taken" not in await page.title()


async def test_who_waits_is_let_in_and_a_blocked_message_is_released(
    open_panel: OpenPanel, app: App, parts: Parts
) -> None:
    await knock(app, name=HOSTILE)
    await hold_back(app)
    page = await open_panel("doors", is_phone=True)
    await expect(page.get_by_text(HOSTILE, exact=True)).to_be_visible()
    await page.get_by_role("button", name="Let in").click()
    await expect(page.get_by_text("Nobody waits.")).to_be_visible()
    await page.get_by_role("button", name="Release").click()
    await agree(page, "Release")
    await expect(page.get_by_text("No message is held back.")).to_be_visible()

    lines = await parts.workings.audit.find(Query(actor="web:Ada"), limit=5)
    assert {line.action for line in lines} == {"pairing", "guardian release"}


async def test_a_schedule_is_paused_and_deleted(open_panel: OpenPanel, app: App, parts: Parts) -> None:
    await plan(app)
    page = await open_panel("schedules")
    await page.get_by_role("button", name="Pause").click()
    await expect(page.get_by_text("paused")).to_be_visible()
    await page.get_by_role("button", name="Delete").click()
    await agree(page, "Delete")
    await expect(page.get_by_text("Nothing is scheduled.")).to_be_visible()

    assert await parts.api.planner.listed(None) == []


async def test_usage_is_shown_for_the_days_that_are_chosen(open_panel: OpenPanel, app: App) -> None:
    await use(app, days=20)
    page = await open_panel("usage")
    by_day = page.locator(".sb-card", has=page.get_by_text("By day", exact=True))
    await expect(by_day.locator(".sb-bar")).to_have_count(7)
    await page.get_by_role("button", name="30 d").click()
    await expect(by_day.get_by_text("More")).to_be_visible()

    await by_day.get_by_text("More").click()
    await expect(by_day.locator(".sb-bar").last).to_be_visible()
    await expect(by_day.locator(".sb-bar")).to_have_count(20)


async def test_the_audit_log_is_checked_filtered_and_taken_home(
    open_panel: OpenPanel, app: App, parts: Parts, tmp_path: Path
) -> None:
    await knock(app)
    await parts.workings.adjusting.change("name", HOSTILE.replace("<", "").replace(">", ""), by="web:Ada")
    page = await open_panel("audit")
    await expect(page.get_by_text("The log is whole.")).to_be_visible()
    await expect(page.locator(".sb-item")).to_have_count(2)
    await page.get_by_label("What", exact=True).fill("setting")
    await expect(page.locator(".sb-item")).to_have_count(1)
    await page.get_by_role("button", name="Export").click()
    async with page.expect_download() as coming:
        await page.get_by_text("As CSV").click()
    content = await take_home(await coming.value)
    change_log(tmp_path / "home" / "audit")
    await page.get_by_role("button", name="Check the chain").click()

    await expect(page.get_by_role("alert")).to_contain_text("NOT whole")
    assert "setting change" in content
    assert "pairing" not in content


async def test_what_can_not_be_loaded_says_so_and_is_tried_again(
    open_panel: OpenPanel, app: App, tmp_path: Path
) -> None:
    await knock(app)
    (file,) = (tmp_path / "home" / "audit").glob("*.jsonl")
    file.rename(file.with_suffix(".kept"))
    file.mkdir()
    page = await open_panel("audit")
    fault = page.get_by_role("alert")
    await expect(fault).to_contain_text("This could not be loaded.")

    file.rmdir()
    file.with_suffix(".kept").rename(file)
    await fault.get_by_role("button", name="Refresh").click()

    await expect(page.locator(".sb-item")).to_have_count(1)
    await expect(fault).to_have_count(0)


async def test_logs_are_followed_and_filtered_and_hide_secrets(open_panel: OpenPanel, app: App) -> None:

    log = logging.getLogger("tests.panels")
    logging.getLogger().setLevel("INFO")
    page = await open_panel("logs")
    await expect(page.locator(".sb-log")).to_be_attached()  # without a line it is hidden
    log.warning("sent to ann@example.org", extra={"key": "AKIA" + "QWERT2YUIOP7ASDF"})
    log.info(HOSTILE)
    lines = page.get_by_role("log")
    await expect(lines).to_contain_text(HOSTILE)
    await page.get_by_label("Text in the lines").fill("sent to")
    await expect(lines.locator(".sb-log-line")).to_have_count(1)

    await expect(lines).to_contain_text("warning")
    await expect(lines).not_to_contain_text("QWERT2")


async def test_a_key_is_shown_once_works_and_is_revoked(open_panel: OpenPanel, app: App) -> None:
    page = await open_panel("keys")
    await page.get_by_role("button", name="Make a key").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("button", name="Make a key").click()
    await expect(page.get_by_text("a key's name has 1 to 100 characters")).to_be_visible()
    await dialog.get_by_label("What it is for").fill("Grafana")
    await dialog.get_by_role("button", name="Make a key").click()
    secret = await page.locator(".sb-secret").inner_text()
    await page.get_by_role("button", name="Close").click()
    await expect(page.locator(".sb-secret")).to_have_count(0)
    key = await app.store.api_keys.check(secret)
    await page.locator(".sb-item", has_text="Grafana").get_by_role("button", name="Revoke").click()
    await agree(page, "Revoke")
    await expect(page.get_by_text("revoked")).to_be_visible()

    assert key is not None
    assert await app.store.api_keys.check(secret) is None


async def test_a_setting_is_changed_refused_and_taken_back(open_panel: OpenPanel, app: App) -> None:
    page = await open_panel("settings")
    name = page.get_by_label("Name", exact=True)
    await name.fill("[]")
    await name.press("Enter")
    await expect(page.get_by_text("BOT_NAME: String should have at least 1 character")).to_be_visible()
    await name.fill("Rosie")
    await name.press("Enter")
    await expect(page.get_by_text("by web:Ada")).to_be_visible()
    in_force = await app.store.changed_settings.all()
    await page.get_by_role("button", name="Undo").click()
    await expect(page.get_by_text("by web:Ada")).to_have_count(0)
    await page.get_by_label("Search all settings").fill("api_key")

    await expect(page.get_by_text("BOT_OPENAI__API_KEY", exact=True)).to_be_visible()
    assert in_force == {"name": "Rosie"}
    assert await app.store.changed_settings.all() == {}


async def test_who_only_operates_sees_no_secrets_and_nothing_at_all_once_revoked(
    context: BrowserContext, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    async with App(settings_for(home, web={"port": 0, "token": "of the owner"})) as app:
        key, text = await app.store.api_keys.create("Bo", ["operate"])
        page = await context.new_page()
        await page.goto(f"{app.url}/login?to=/inbox/")
        await page.locator("input[name=token]").fill(text)
        await page.keyboard.press("Enter")
        await page.wait_for_url(f"{app.url}/inbox/")
        for name in ("keys", "settings", "logs", "audit"):
            await page.goto(f"{app.url}/inbox/{name}")
            await expect(page.get_by_text(OWNERS_ONLY)).to_be_visible()

        await page.goto(f"{app.url}/inbox/channels")
        await expect(page.locator(".sb-card").first).to_be_visible()
        await expect(page.get_by_text(OWNERS_ONLY)).to_have_count(0)
        await app.store.api_keys.revoke(key.id)
        await page.get_by_role("button", name="Refresh").click()
        await page.wait_for_url("**/login**")
        await page.close()
