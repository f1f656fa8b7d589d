"""Events that come as requests."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import pytest
import uvicorn
from starlette.applications import Starlette

from bot.errors import ConfigError
from bot.messages import Button
from channels.base import Content
from channels.feishu.webhook import Gate, NotTheirs
from tests.channels.feishu.conftest import Bot, Memory, hearing, made
from tests.simulators.feishu import VERIFICATION, FeishuSimulator
from tests.simulators.feishu_push import encrypt, sign

KEY = "a key for the test"


class Server(uvicorn.Server):
    """A server that says when it serves."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()


@asynccontextmanager
async def served(simulator: FeishuSimulator, *, encrypt_key: str | None = None) -> AsyncIterator[Bot]:
    """An adapter in webhook mode behind a real web server; the simulator knows where."""
    async with hearing(
        simulator, mode="webhook", verification_token=VERIFICATION, encrypt_key=encrypt_key
    ) as bot:
        app = Starlette(routes=list(bot.adapter.routes))
        server = Server(uvicorn.Config(app, port=0, log_config=None, lifespan="off"))
        serving = asyncio.create_task(server.serve())
        async with asyncio.timeout(10):
            await server.ready.wait()
        port = server.servers[0].sockets[0].getsockname()[1]
        simulator.use_hook(f"http://127.0.0.1:{port}", encrypt_key=encrypt_key)
        try:
            yield bot
        finally:
            simulator.push.hook = None
            server.should_exit = True
            await serving


@pytest.mark.parametrize("encrypt_key", [None, KEY])
async def test_an_event_arrives_and_the_hook_proves_itself(
    simulator: FeishuSimulator, encrypt_key: str | None
) -> None:
    async with served(simulator, encrypt_key=encrypt_key) as bot:
        proof = await simulator.challenge()
        await simulator.user_says("ann", "by request")
        message = await bot.intake.heard()
        await simulator.until(lambda: not simulator.push.waiting)

    assert proof == (200, {"challenge": "prove it"})
    assert message.text == "by request"


async def test_an_event_that_could_not_be_kept_comes_again(simulator: FeishuSimulator) -> None:
    async with served(simulator) as bot:
        bot.intake.refusals = 2
        await simulator.user_says("ann", "keep me")
        await bot.intake.heard()
        await simulator.until(lambda: not simulator.push.waiting)

    assert len(simulator.push.sent) == 3


async def test_a_request_with_a_wrong_token_is_not_let_in(simulator: FeishuSimulator) -> None:
    async with served(simulator) as bot:
        hook = simulator.push.hook
        assert hook is not None
        event = {"schema": "2.0", "header": {"event_id": "1", "event_type": "x", "token": "wrong"}}
        async with aiohttp.ClientSession() as session, session.post(hook.url, json=event) as response:
            status = response.status

    assert status == 401
    assert not bot.intake.taken


def body_of(token: str = VERIFICATION) -> bytes:
    return json.dumps(
        {"schema": "2.0", "header": {"event_id": "1", "event_type": "x", "token": token}}
    ).encode()


def test_encrypted_and_signed_requests_open() -> None:
    sealed = json.dumps({"encrypt": encrypt(body_of(), KEY)}).encode()
    headers = {name.lower(): value for name, value in sign(sealed, KEY).items()}

    plain, _ = Gate(token=VERIFICATION, encrypt_key=KEY).open(sealed, headers)

    assert plain == body_of()


@pytest.mark.parametrize(
    ("body", "signed_with"),
    [
        (body_of(), KEY),
        (json.dumps({"encrypt": encrypt(body_of(), "another key")}).encode(), KEY),
        (json.dumps({"encrypt": encrypt(body_of(), KEY)}).encode(), "another key"),
        (json.dumps({"encrypt": encrypt(body_of("wrong"), KEY)}).encode(), KEY),
        (json.dumps({"encrypt": "AAAA"}).encode(), KEY),
        (json.dumps({"encrypt": "no base64!"}).encode(), KEY),
        (b"no json", KEY),
        (b"\xff\xfe", KEY),
    ],
)
def test_what_feishu_has_not_sent_stays_out(body: bytes, signed_with: str) -> None:
    headers = {name.lower(): value for name, value in sign(body, signed_with).items()}

    with pytest.raises(NotTheirs):
        Gate(token=VERIFICATION, encrypt_key=KEY).open(body, headers)


async def test_a_press_is_answered_in_the_response(simulator: FeishuSimulator) -> None:
    async with served(simulator) as bot:
        content = Content(text="May I?", buttons=(Button(label="Yes", value="yes"),))
        posted = await bot.adapter.post(bot.address(), content, key="one")
        await simulator.click(posted, "Yes")
        await simulator.until(lambda: bool(simulator.push.answers))

    assert simulator.push.answers.popitem()[1]["toast"]


async def test_webhook_mode_without_a_token_does_not_start(simulator: FeishuSimulator) -> None:
    with pytest.raises(ConfigError, match="verification token"):
        made(simulator, Memory(), app_id=None, app_secret=None, mode="webhook")
