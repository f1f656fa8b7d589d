"""A bot with the operator's pages for each test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.web.dashboard.site import Site, site


@pytest.fixture
async def bot(home: Path) -> AsyncIterator[Site]:
    """A bot that says again what it is told."""
    async with site(home) as made:
        yield made
