"""`python -m bot simulate`, as people use it: the process and its page in a real browser."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
from playwright.async_api import Browser, Locator, Page, expect

from bot.operations.simulate import variables
from bot.settings import load_settings
from tests.chaos.driver import Child, spawn
from tests.simulators.model import ModelServer

ROOT = Path(__file__).parent.parent
PATIENCE = 20_000  # milliseconds
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154789c63606060000000040001"
    "f61738550000000049454e44ae426082"
)


@dataclass(frozen=True, slots=True)
class Studio:
    """A running studio."""

    child: Child

    def family(self) -> list[psutil.Process]:
        """The studio, the bot, and whatever they have started."""
        parent = psutil.Process(self.child.process.pid)
        return [parent, *parent.children(recursive=True)]

    async def end(self, number: signal.Signals) -> int:
        """Send a signal to the studio alone, and wait for its end."""
        self.child.process.send_signal(number)
        async with asyncio.timeout(30):
            return await self.child.process.wait()


async def start(model: ModelServer, *arguments: str) -> Studio:
    environment = {"BOT_OPENAI__BASE_URL": model.url, "BOT_MODEL": "echo", "BOT_LOG__LEVEL": "ERROR"}
    child = await spawn("bot", "simulate", "--port", "0", *arguments, environment=environment)
    return Studio(child)


@pytest.fixture
async def model() -> AsyncIterator[ModelServer]:
    async with ModelServer() as server:
        yield server


@pytest.fixture
async def studio(model: ModelServer) -> AsyncIterator[Studio]:
    started = await start(model, "--platforms", "slack,feishu")
    try:
        yield started
    finally:
        if started.child.process.returncode is None:
            await started.end(signal.SIGTERM)


@pytest.fixture
async def page(browser: Browser, studio: Studio) -> AsyncIterator[Page]:
    """The page of a studio whose bot runs."""
    opened = await browser.new_page(viewport={"width": 1440, "height": 900})
    await opened.goto(studio.child.url)
    await expect(opened.locator("#bot")).to_have_attribute("data-state", "running", timeout=PATIENCE)
    yield opened
    await opened.close()


def column(page: Page, name: str) -> Locator:
    return page.get_by_role("region", name=name)


async def say(where: Locator, text: str) -> None:
    field = where.get_by_label("Message", exact=True)
    await field.fill(text)
    await field.press("Enter")


async def answered(where: Locator, text: str) -> None:
    await expect(where.locator(".from-bot .text").last).to_have_text(text, timeout=PATIENCE)


@pytest.mark.browser
async def test_what_is_typed_in_a_column_is_answered_in_it(page: Page) -> None:
    slack, feishu = column(page, "Slack"), column(page, "Feishu")
    await say(slack, "hello from slack")
    await answered(slack, "echo: hello from slack")
    await expect(feishu.locator(".message")).to_have_count(0)

    await feishu.get_by_role("button", name="group").click()
    await say(feishu, "hello from the group")

    await expect(feishu.locator(".from-bot .text").last).to_contain_text(
        "hello from the group", timeout=PATIENCE
    )
    await expect(page.locator(".column")).to_have_count(2)


@pytest.mark.browser
async def test_a_word_for_everybody_is_answered_everywhere_and_to_who_said_it(page: Page) -> None:
    await page.get_by_label("bob").check()
    await page.get_by_label("Say on all platforms").fill("hi all")
    await page.keyboard.press("Enter")

    for name in ("Slack", "Feishu"):
        await answered(column(page, name), "echo: hi all")
        await expect(column(page, name).locator(".from-person .author").last).to_have_text("bob")
    await page.get_by_label("ann").check()
    await expect(page.locator(".message")).to_have_count(0)


@pytest.mark.browser
async def test_a_button_can_be_pressed(page: Page) -> None:
    feishu = column(page, "Feishu")
    await say(feishu, "something to forget")
    await answered(feishu, "echo: something to forget")
    await feishu.get_by_label("Slash command").fill("clear")
    await feishu.get_by_role("button", name="Run").click()
    await feishu.locator(".button").click(timeout=PATIENCE)

    await expect(feishu.locator(".from-bot")).to_have_count(3, timeout=PATIENCE)


@pytest.mark.browser
async def test_a_file_is_sent_and_shown(page: Page) -> None:
    slack = column(page, "Slack")
    await slack.get_by_label("File", exact=True).set_input_files(
        {"name": "dot.png", "mimeType": "image/png", "buffer": PIXEL}
    )
    await say(slack, "look")

    picture = slack.get_by_role("img", name="dot.png")
    await expect(picture).to_be_visible(timeout=PATIENCE)
    assert await picture.evaluate("image => image.decode().then(() => image.naturalWidth)") == 1
    await expect(slack.locator(".from-bot .text").last).to_contain_text("look", timeout=PATIENCE)


@pytest.mark.browser
async def test_a_text_is_shown_as_it_is_and_runs_nothing(page: Page) -> None:
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda message: faults.append(message.text))
    hostile = "<img src=x onerror=window.hacked=1><script>window.hacked=2</script>"
    feishu = column(page, "Feishu")
    await say(feishu, hostile)

    await expect(feishu.locator(".from-person .text")).to_have_text(hostile)
    await expect(feishu.locator(".from-bot .text")).to_contain_text("echo:", timeout=PATIENCE)
    assert await page.evaluate("window.hacked") is None
    assert faults == []


@pytest.mark.browser
async def test_what_is_said_to_a_killed_bot_is_answered_by_the_next(page: Page) -> None:
    slack = column(page, "Slack")
    await page.get_by_role("button", name="Kill bot").click()
    await expect(page.locator("#bot")).to_have_attribute("data-state", "stopped", timeout=PATIENCE)
    await say(slack, "are you there?")
    await expect(slack.locator(".from-person")).to_have_count(1)

    await page.get_by_role("button", name="Start bot").click()

    await answered(slack, "echo: are you there?")


@pytest.mark.browser
async def test_a_cut_network_is_mended_by_the_bot(page: Page) -> None:
    feishu = column(page, "Feishu")
    await say(feishu, "before")
    await answered(feishu, "echo: before")
    await feishu.get_by_role("button", name="Cut network").click()

    await say(feishu, "after")

    await answered(feishu, "echo: after")
    await expect(page.locator("#trouble")).to_be_hidden()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
async def test_a_signal_ends_all_processes(studio: Studio, number: signal.Signals) -> None:
    family = studio.family()

    assert await studio.end(number) == 0

    _, alive = psutil.wait_procs(family[1:], timeout=5)
    assert alive == []


async def test_data_stay_where_a_home_is_named_and_a_used_one_is_refused(
    model: ModelServer, tmp_path: Path
) -> None:
    home = tmp_path / "kept"
    studio = await start(model, "--platforms", "feishu", "--home", str(home))
    assert studio.child.process.stdout is not None
    async with asyncio.timeout(30):
        while b"Chat with" not in await studio.child.process.stdout.readline():
            continue
    await studio.end(signal.SIGTERM)

    with pytest.raises(RuntimeError, match="exit code 2"):
        await start(model, "--home", str(home))
    assert [file.name for file in home.glob("*.db")]


async def test_other_peoples_pages_can_do_nothing(studio: Studio) -> None:
    kill = json.dumps({"do": "kill"}).encode()

    def post(**headers: str) -> int:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        request = urllib.request.Request(f"{studio.child.url}/do", data=kill, headers=named)
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            with error:
                return error.code

    assert await asyncio.to_thread(lambda: post(Content_Type="text/plain")) == 415
    rebound = {"Content_Type": "application/json", "Host": "evil.example"}
    assert await asyncio.to_thread(lambda: post(**rebound)) == 403


def test_without_the_simulators_it_says_that_a_checkout_is_needed() -> None:
    code = "import sys; sys.modules['tests'] = None; from bot.cli import app; app(['simulate'])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=False
    )

    assert done.returncode == 2
    assert "checkout of the source" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_platform_that_does_not_exist_is_refused() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bot", "simulate", "--platforms", "slack,icq"],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )

    assert done.returncode == 2
    assert "icq" in done.stderr


def test_the_bot_gets_the_settings_but_no_way_to_real_platforms_or_data(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, value in {
        "BOT_HOME": str(tmp_path / "real"),
        "BOT_MODEL": "my-model",
        "BOT_ADMINS": "slack:U1,feishu:ou_2",
        "BOT_WEB__PORT": "9999",
        "BOT_SLACK__REQUIRE_MENTION": "false",
        "BOT_TELEGRAM__TOKEN": "real",
        "BOT_TELEGRAM__ACCOUNTS__SECOND__TOKEN": "real too",
        "OPENAI_API_KEY": "sk-mine",
    }.items():
        monkeypatch.setenv(name, value)

    assert variables(load_settings()) == {
        "BOT_MODEL": "my-model",
        "BOT_ADMINS": "slack:U1,feishu:ou_2",
        "BOT_SLACK__REQUIRE_MENTION": "false",
        "BOT_OPENAI__API_KEY": "sk-mine",
    }
