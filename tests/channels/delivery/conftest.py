"""Platforms that tests play."""

import pytest

from memory.store import Store
from tests.channels.delivery.platform import Clock, Platform, Setup


@pytest.fixture
def setup(store: Store) -> Setup:
    """On a clock that goes on by itself."""
    clock = Clock()
    return Setup(store, clock, Platform(clock))


@pytest.fixture
def turned(store: Store) -> Setup:
    """On a clock that the test turns."""
    clock = Clock(is_turned=True)
    return Setup(store, clock, Platform(clock))
