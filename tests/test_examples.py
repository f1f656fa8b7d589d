"""Every example does what it says: on a real bot, with a model server that answers as scripted."""

import asyncio
import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

from bot import Bot
from bot.messages import Address, End, InboundMessage, MessageId, Sender, new_id, utc_now
from tests.simulators.model import ModelServer, call, say

EXAMPLES = Path(__file__).parent.parent / "examples"


def load(name: str) -> ModuleType:
    """An example, imported anew."""
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def use(server: ModelServer, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set what somebody would who runs an example with this server."""
    for name, value in {
        "BOT_HOME": str(home),
        "BOT_MODEL": "sim-1",
        "BOT_OPENAI__BASE_URL": server.url,
        "BOT_OPENAI__API_KEY": "key",
        "BOT_STORE__SYNCHRONOUS": "NORMAL",
        "BOT_WEB__PORT": "0",
    }.items():
        monkeypatch.setenv(name, value)


async def ask(bot: Bot, text: str) -> str:
    """Say something in the terminal, and wait for the whole answer."""
    address = Address(channel="terminal", chat="example")
    message = InboundMessage(
        id=MessageId(new_id()),
        platform_id=new_id(),
        address=address,
        session=address.session(),
        sender=Sender(id="ann", name="Ann"),
        text=text,
        received_at=utc_now(),
    )
    async with asyncio.timeout(20):
        with bot.app.bus.outbound(channel="terminal") as answers:
            await bot.app.bus.publish(message)
            async for part in answers:
                if isinstance(part, End) and part.run == message.run:
                    return part.text
    raise AssertionError("the bus was closed")


async def test_the_bot_of_ones_own_has_a_tool_a_command_and_a_hook(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with ModelServer() as server:
        use(server, home, monkeypatch)
        server.script(call("roll", '{"sides": 1}'), say("You rolled it."))
        async with load("own_bot").bot as bot:
            answer = await ask(bot, "Roll a die with one side, please.")
            obeyed = await ask(bot, "/dice 1")
        (asked,) = [tool for tool in server.requests[0].body["tools"] if tool["function"]["name"] == "roll"]
        results = [part["content"] for part in server.requests[1].body["messages"] if part["role"] == "tool"]

    assert asked["function"]["description"] == "Roll a die."
    assert results == ["1"]
    assert answer == "You rolled it.\n\n— Dicey"
    assert obeyed.startswith("Ann rolled 1.")


async def test_a_bot_can_be_opened_again(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with ModelServer() as server:
        use(server, home, monkeypatch)
        bot: Bot = load("own_bot").bot
        for _ in range(2):
            async with bot:
                answer = await ask(bot, "hello")
                with pytest.raises(RuntimeError, match="open already"):
                    await bot.__aenter__()

    assert answer == "echo: hello\n\n— Dicey"


async def test_a_bot_that_runs_by_itself_ends_when_it_is_told_to(home: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(EXAMPLES / "own_bot.py")),
        env={**os.environ, "PYTHONPATH": str(EXAMPLES.parent), "BOT_HOME": str(home), "BOT_WEB__PORT": "0"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(30):
            ready = await process.stdout.readline()
            process.terminate()
            _, errors = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()

    assert ready.startswith(b"Chat with Dicey at http://127.0.0.1:")
    assert process.returncode == 0, errors.decode()
