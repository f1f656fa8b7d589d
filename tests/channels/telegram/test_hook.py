"""Webhook mode: an update is acknowledged when it is durable, and only Telegram's are taken."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from io import BytesIO
from typing import Any

import aiohttp
import pytest
import uvicorn
from starlette.applications import Starlette

from channels.telegram.adapter import TelegramAdapter
from tests.channels.telegram.conftest import Bench
from tests.simulators.platform import File

PATH = "/hooks/telegram/default"


class Doorway:
    """Serves what an adapter made later wants served, at an address that is known before."""

    def __init__(self) -> None:
        self.adapter: TelegramAdapter | None = None
        self.url = ""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:  # as ASGI has it
        routes = self.adapter.routes if self.adapter is not None else ()
        await Starlette(routes=list(routes))(scope, receive, send)


@asynccontextmanager
async def serving() -> AsyncIterator[Doorway]:
    """A web server for the time of a test."""
    door = Doorway()
    config = uvicorn.Config(door, port=0, log_level="error", lifespan="off", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    config.load()
    server.lifespan = config.lifespan_class(config)
    await server.startup()
    door.url = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    looping = asyncio.create_task(server.main_loop(), name="doorway")
    try:
        yield door
    finally:
        server.should_exit = True
        await looping
        await server.shutdown()


@pytest.fixture
async def door(bench: Bench) -> AsyncIterator[Doorway]:
    async with serving() as door:
        door.adapter = bench.adapter(mode="webhook", public_url=door.url)
        bench.run(door.adapter)
        await bench.telegram.until(lambda: bool(bench.telegram.push.hook))
        yield door
        await bench.stop()


async def post(door: Doorway, body: bytes, secret: str) -> int:
    headers = {"X-Telegram-Bot-Api-Secret-Token": secret}
    async with (
        aiohttp.ClientSession() as session,
        session.post(door.url + PATH, data=BytesIO(body), headers=headers) as response,
    ):
        return response.status


async def test_what_is_said_comes_to_the_hook(bench: Bench, door: Doorway) -> None:
    await bench.telegram.user_says("ann", "hello")

    await bench.ear.heard("hello")
    await bench.telegram.until(lambda: bench.telegram.push.confirmed == 1)

    assert bench.telegram.push.hook["url"] == door.url + PATH
    assert bench.telegram.token not in str(bench.telegram.push.hook)
    assert door.adapter is not None
    assert door.adapter.liveness.is_connected


async def test_what_could_not_be_kept_is_not_acknowledged_and_comes_again(
    bench: Bench, door: Doorway
) -> None:
    bench.ear.failures = 2
    await bench.telegram.user_says("ann", "keep me")

    await bench.ear.heard("keep me")
    await bench.telegram.until(lambda: bench.telegram.push.confirmed == 1)

    assert bench.ear.takes == 3


async def test_an_album_comes_together_over_the_hook(bench: Bench, door: Doorway) -> None:
    files = [File(name=f"{name}.png", data=b"\x89PNG", mime="image/png", kind="image") for name in "abc"]
    await bench.telegram.album("ann", files, text="three")

    assert len((await bench.ear.heard("three")).attachments) == 3


async def test_requests_that_are_not_telegrams_are_refused(bench: Bench, door: Doorway) -> None:
    secret = str(bench.telegram.push.hook["secret_token"])

    assert await post(door, b"{}", "wrong") == 401
    assert await post(door, b"", "") == 401
    assert await post(door, b"no json", secret) == 400
    assert await post(door, b'"' + b"x" * 2**20 + b'"', secret) == 413
    assert await post(door, b'{"update_id": 1}', secret) == 200
    assert bench.ear.takes == 0


async def test_the_secret_of_the_settings_is_used(bench: Bench) -> None:
    async with serving() as door:
        door.adapter = bench.adapter(mode="webhook", public_url=door.url, webhook_secret="open-sesame")
        bench.run(door.adapter)
        await bench.telegram.until(lambda: bool(bench.telegram.push.hook))

        assert bench.telegram.push.hook["secret_token"] == "open-sesame"
        await bench.stop()


async def test_before_we_know_who_we_are_nothing_is_taken(bench: Bench) -> None:
    async with serving() as door:
        door.adapter = bench.adapter(mode="webhook", public_url=door.url, webhook_secret="s")

        assert await post(door, b'{"update_id": 1}', "s") == 503
