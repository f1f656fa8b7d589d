"""A stage for each kind of backend."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from tests.backends.conformance.rig import KINDS, Stage
from tests.simulators.model import ModelServer


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    """The backend under test."""
    return str(request.param)


@pytest.fixture
async def stage(kind: str) -> AsyncIterator[Stage]:
    """A model server, and the way to backends over it."""
    async with ModelServer() as server, AsyncExitStack() as closing:
        yield Stage(kind, server, closing)
