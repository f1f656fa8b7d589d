"""A whole bot behind its API, on loopback."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import TypeAlias

import httpx
import pytest

from bot.app import App
from bot.web.api.base import Scope
from tests.agent.rig import Gate, PlayedBackend
from tests.bots import settings_for

TOKEN = "the token of the page"

Connect: TypeAlias = Callable[..., Awaitable[httpx.AsyncClient]]


@pytest.fixture
def backend() -> PlayedBackend:
    """What answers; a test may change what it plays."""
    return PlayedBackend()


@pytest.fixture
def gate(backend: PlayedBackend) -> Gate:
    """Holds answers back: `one ` comes before it, `two` behind it."""
    gate = Gate()
    backend.play = gate.play("one ", "two")
    return gate


@pytest.fixture
async def app(tmp_path: Path, backend: PlayedBackend) -> AsyncIterator[App]:
    """A running bot whose page has a token."""
    settings = settings_for(tmp_path / "home", web={"port": 0, "token": TOKEN})
    async with App(settings, backend=backend) as running:
        yield running


@pytest.fixture
async def connect(app: App) -> AsyncIterator[Connect]:
    """Makes clients: of the owner, or of a key with some scopes."""
    clients: list[httpx.AsyncClient] = []

    async def make(*scopes: Scope) -> httpx.AsyncClient:
        token = (await app.store.api_keys.create("test", scopes))[1] if scopes else TOKEN
        client = httpx.AsyncClient(
            base_url=app.url or "", headers={"Authorization": f"Bearer {token}"}, timeout=20
        )
        clients.append(client)
        return client

    yield make
    for client in clients:
        await client.aclose()


@pytest.fixture
async def owner(connect: Connect) -> httpx.AsyncClient:
    """A client with the token of the page."""
    return await connect()
