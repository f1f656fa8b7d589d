"""A whole bot on each backend: permissions, remarks, `/kill`, hooks, a restart, and changing the backend."""

import asyncio
from pathlib import Path

import pytest

from bot.hooks import Hooks
from bot.hooks.effects import Deny
from bot.hooks.points import BeforeModelCall, BeforeToolCall
from bot.tools import declare
from tests.simulators.model import Reply, call, say
from tests.test_agent import commands_ready, talking


@pytest.mark.parametrize(("pressed", "ran"), [(0, True), (2, False)])
async def test_a_command_runs_only_with_a_permission(home: Path, kind: str, pressed: int, ran: bool) -> None:
    order = call("exec", '{"command": "echo out > made.txt; echo seen"}')
    async with talking(home, order, say("So be it."), backend=kind) as talk:
        await commands_ready(talk)
        message = await talk.says("Do it")
        question = await talk.until(lambda end: "May I run `exec`" in end.text)
        await talk.says(question.buttons[pressed].value)
        end = await talk.until(lambda end: end.run == message.run)

    assert end.text == "So be it."
    assert (home / "workspace" / "made.txt").exists() is ran
    assert ("seen" in talk.results()[0]) is ran


async def test_what_is_said_while_a_tool_runs_is_taken_up(home: Path, kind: str) -> None:
    reached, gate = asyncio.Event(), asyncio.Event()

    async def slow() -> str:
        """Take a while."""
        reached.set()
        await gate.wait()
        return "done"

    replies = (call("slow"), say("In blue."))
    async with talking(home, *replies, own_tools=[declare(slow)], backend=kind) as talk:
        message = await talk.says("Paint it")
        await reached.wait()
        remark = await talk.says("in blue, please")
        gate.set()
        end = await talk.until(lambda end: end.run == message.run)
        silent = await talk.until(lambda end: end.run == remark.run)

    sent = talk.model.requests[1].body["messages"]
    assert [part["role"] for part in sent[-3:]] == ["assistant", "tool", "user"]
    assert sent[-1]["content"].endswith("in blue, please")
    assert end.text == "In blue."
    assert silent.reason == "silent"


async def test_kill_stops_a_tool_in_the_middle(home: Path, kind: str) -> None:
    reached, stopped = asyncio.Event(), asyncio.Event()

    async def endless() -> str:
        """Never end."""
        reached.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        return "never"

    async with talking(home, call("endless"), own_tools=[declare(endless)], backend=kind) as talk:
        message = await talk.says("Go")
        await reached.wait()
        await talk.says("/kill")
        end = await talk.until(lambda end: end.run == message.run)
        async with asyncio.timeout(5):
            await stopped.wait()

    assert end.reason == "killed"
    assert len(talk.model.requests) == 1


async def test_kill_hangs_up_on_the_model(home: Path, kind: str) -> None:
    async with talking(home, Reply(tokens=("a", "b"), hang_after=1), backend=kind) as talk:
        message = await talk.says("Go")
        await talk.model.received(1)
        await talk.says("/kill")
        end = await talk.until(lambda end: end.run == message.run)
        async with asyncio.timeout(5):
            await talk.model.idle()

    assert end.reason == "killed"


async def test_hooks_can_forbid_a_tool_call_and_a_model_call(home: Path, kind: str) -> None:
    def no_reading(event: BeforeToolCall) -> Deny | None:
        return Deny(reason="not on Sundays") if event.tool.name == "read" else None

    def twice(event: BeforeModelCall) -> Deny | None:
        return Deny(reason="Enough.") if event.step > 2 else None

    hooks = Hooks()
    hooks.on("before_tool_call", no_reading)
    hooks.on("before_model_call", twice)
    replies = (call("read", '{"path": "a"}'), call("read", '{"path": "b"}'))
    async with talking(home, *replies, hooks=hooks, backend=kind) as talk:
        end = await talk.answer("Read")

    assert "not on Sundays" in talk.results(1)[0]
    assert end.reason == "error"
    assert "Enough." in end.text
    assert len(talk.model.requests) == 2


async def test_a_talk_goes_on_after_a_restart(home: Path, kind: str) -> None:
    async with talking(home, say("Noted."), backend=kind) as talk:
        await talk.answer("My name is Ann")
    async with talking(home, say("Ann."), backend=kind) as talk:
        end = await talk.answer("Who am I?")

    sent = [part["content"] for part in talk.model.requests[0].body["messages"]]
    assert any("My name is Ann" in content for content in sent)
    assert "Noted." in sent
    assert end.text == "Ann."


async def test_a_session_changes_its_backend_and_keeps_its_history(home: Path) -> None:
    replies = (say("one"), call("read", '{"path": "nothing"}'), say("two"), say("three"))
    async with talking(home, *replies) as talk:
        await talk.answer("first")
        chosen = await talk.answer("/backend openai_agents")
        other = await talk.answer("second")
        await talk.answer("/backend native")
        again = await talk.answer("third")

    assert "`openai_agents`" in chosen.text
    assert (other.text, again.text) == ("two", "three")
    sent = [part["content"] for part in talk.model.requests[-1].body["messages"]]
    assert [answer for answer in ("one", "two") if answer in sent] == ["one", "two"]
