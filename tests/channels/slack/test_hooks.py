"""In HTTP mode, signed requests are taken, and answered with 200 only when they are kept."""

import asyncio
import json
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest
import uvicorn
from pydantic import SecretStr
from starlette.applications import Starlette

from bot.messages import Button
from channels.slack.adapter import SlackAdapter
from tests.channels.slack.conftest import Bench, final


class Server(uvicorn.Server):
    """A server that says when it serves."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()


@asynccontextmanager
async def served(adapter: SlackAdapter) -> AsyncIterator[str]:
    """The adapter's routes on loopback."""
    config = uvicorn.Config(Starlette(routes=list(adapter.routes)), port=0, log_config=None, lifespan="off")
    server = Server(config)
    task = asyncio.create_task(server.serve())
    async with asyncio.timeout(10):
        await server.ready.wait()
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}/hooks/slack/default"
    server.should_exit = True
    await task


@pytest.fixture
async def adapter(bench: Bench) -> AsyncIterator[SlackAdapter]:
    adapter = bench.adapter(app_token=None, signing_secret=SecretStr(bench.slack.secret))
    async with served(adapter) as url:
        bench.slack.push.hook_url = url
        yield adapter


async def test_events_presses_and_commands_come_by_requests(bench: Bench, adapter: SlackAdapter) -> None:
    await bench.slack.user_says("ann", "hello")
    await bench.ear.heard("hello")
    yes = Button(label="Yes", value="yes:1")
    posted = await adapter.post(bench.place("ann"), final("Shall I?", buttons=(yes,)), key="k1")
    await bench.slack.click(posted, "Yes")
    await bench.ear.heard("yes:1")
    await bench.slack.slash("ann", "help", "me")
    await bench.ear.heard("/help me")

    await bench.slack.push.settled()

    assert bench.slack.push.acknowledged == len(bench.slack.push.deliveries)


async def test_a_request_that_could_not_be_kept_comes_again(bench: Bench, adapter: SlackAdapter) -> None:
    bench.ear.failures = 2
    await bench.slack.user_says("ann", "keep me")

    await bench.ear.heard("keep me")
    await bench.slack.push.settled()

    assert [attempt for _, attempt in bench.slack.push.deliveries] == [0, 1, 2]


async def test_only_slack_may_post_and_only_now(bench: Bench, adapter: SlackAdapter) -> None:
    url = bench.slack.push.hook_url or ""
    body = json.dumps({"type": "url_verification", "challenge": "c3"}).encode()
    sign = bench.slack.push.signature
    async with httpx.AsyncClient(headers={"Content-Type": "application/json"}) as client:

        async def status(headers: dict[str, str], sent: bytes = body) -> tuple[int, str]:
            answer = await client.post(url, content=sent, headers=headers)
            return answer.status_code, answer.text

        assert await status(sign(body)) == (200, "c3")
        assert (await status(sign(body, at=time.time() - 301)))[0] == 401
        assert (await status(sign(b"something else")))[0] == 401
        assert (await status({}))[0] == 401
        assert (await status(sign(body) | {"X-Slack-Request-Timestamp": "soon"}))[0] == 401
        assert (await status(sign(b"{"), b"{"))[0] == 400
        assert (await status(sign(b"\xff"), b"\xff"))[0] == 401
        assert (await status(sign(body), body * 50_000))[0] == 413


async def test_an_app_with_a_socket_serves_no_requests(bench: Bench) -> None:
    assert list(bench.adapter(signing_secret=SecretStr("x" * 32)).routes) == []


async def test_in_http_mode_run_sees_that_the_token_is_good(bench: Bench, adapter: SlackAdapter) -> None:
    run = asyncio.create_task(adapter.run())
    bench.runs.append(run)
    await bench.slack.user_says("ann", "hello")
    await bench.ear.heard("hello")

    assert adapter.liveness.is_connected
    assert not run.done()
