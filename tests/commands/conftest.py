"""The desk of every test of commands."""

from pathlib import Path

import pytest

from memory.store import Store
from tests.commands.desk import Desk


@pytest.fixture
async def desk(home: Path, store: Store) -> Desk:
    """Commands over an empty store."""
    return Desk(home, store)
