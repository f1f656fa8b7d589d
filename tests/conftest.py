"""What every test gets: settings of nobody, a directory of its own, and no task left behind."""

import asyncio
import inspect
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import pytest
from playwright.async_api import Browser, async_playwright

from memory.store import Store

CHROMIUM: Final = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
MISSING: Final = "Chromium is missing: apt-get install chromium (the browser tests drive it)"


@pytest.fixture(autouse=True)
def nobodys_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Hide the settings of whoever runs the tests: variables, `.env` and `bot.toml`."""
    for name in list(os.environ):
        if name.upper().startswith(("BOT_", "OPENAI_")):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


@pytest.fixture(autouse=True)
def no_task_left_behind(request: pytest.FixtureRequest) -> None:
    """Fail an async test that ends with tasks still there; looks after all its fixtures are closed."""
    test = getattr(request.node, "obj", None)
    test = getattr(getattr(test, "hypothesis", None), "inner_test", test)
    if inspect.iscoroutinefunction(test):
        request.getfixturevalue("task_gate")


@pytest.fixture
async def task_gate() -> AsyncIterator[None]:
    yield
    for _ in range(3):  # a task that was just cancelled needs a moment to hear of it
        await asyncio.sleep(0)
    if left := asyncio.all_tasks() - {asyncio.current_task()}:
        pytest.fail("tasks left behind: " + ", ".join(sorted(repr(task) for task in left)))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An empty data directory."""
    path = tmp_path / "home"
    path.mkdir()
    return path


@pytest.fixture
async def store(home: Path) -> AsyncIterator[Store]:
    """An open store that need not survive a power cut."""
    async with Store(home, synchronous="NORMAL") as opened:
        yield opened


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    """A real browser; without one the test is skipped, and fails where tests are the gate."""
    async with launched() as chromium:
        yield chromium


@asynccontextmanager
async def launched() -> AsyncIterator[Browser]:
    """See `browser`."""
    if CHROMIUM is None and os.environ.get("CI") == "true":
        pytest.fail(MISSING)
    if CHROMIUM is None:
        pytest.skip(MISSING)
    async with async_playwright() as playwright:
        chromium = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        await chromium.close()
