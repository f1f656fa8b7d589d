"""A simulator of each platform for each test."""

from collections.abc import AsyncIterator

import pytest

from tests.contract.house import PLATFORMS, new_simulator
from tests.simulators.platform import Simulator


@pytest.fixture(params=PLATFORMS)
async def simulator(request: pytest.FixtureRequest) -> AsyncIterator[Simulator]:
    """One platform after the other."""
    async with new_simulator(request.param) as running:
        yield running
