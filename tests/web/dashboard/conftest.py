"""A bot with the operator's pages for each test, and one Chromium, in one event loop, for all of them."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser

from tests.conftest import launched
from tests.web.dashboard.site import Site, site

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A browser lives in the event loop that it was started in: the tests of the pages share theirs."""
    for item in items:
        if item.path.is_relative_to(HERE) and pytest_asyncio.is_async_test(item):
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@pytest_asyncio.fixture(loop_scope="session")
async def task_gate() -> AsyncIterator[None]:
    """Nothing that a test has begun is left behind."""
    before = asyncio.all_tasks()
    yield
    for _ in range(3):  # a task that was just cancelled needs a moment to hear of it
        await asyncio.sleep(0)
    if left := asyncio.all_tasks() - before - {asyncio.current_task()}:
        pytest.fail("tasks left behind: " + ", ".join(sorted(repr(task) for task in left)))


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def chromium() -> AsyncIterator[Browser]:
    """A real browser, started once: that takes longer than most tests."""
    async with launched() as started:
        yield started


@pytest_asyncio.fixture(loop_scope="session")
async def browser(chromium: Browser) -> AsyncIterator[Browser]:
    """The browser, with no window of another test open."""
    yield chromium
    for context in chromium.contexts:
        await context.close()


@pytest_asyncio.fixture(loop_scope="session")
async def bot(home: Path) -> AsyncIterator[Site]:
    """A bot that says again what it is told."""
    async with site(home) as made:
        yield made
