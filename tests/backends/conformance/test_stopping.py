"""A reader who leaves stops all that was done for them, at once and for good, whichever backend works."""

import asyncio
from contextlib import aclosing

import pytest

from bot.backends.base import AgentBackend, AgentEvent, MessageEvent, ToolUseEvent
from tests.backends.conformance.rig import HangingTools, PlayedTools, Stage, shown, turn_of
from tests.simulators.model import Call, Reply, call, fail, say

HANGS = Reply(tokens=("a", "b"), hang_after=1)


async def listen(
    backend: AgentBackend, tools: PlayedTools, until: type[AgentEvent]
) -> tuple[asyncio.Task[None], asyncio.Event]:
    """A reader, and what is set once it has seen an event of a kind."""
    seen = asyncio.Event()

    async def read() -> None:
        async for event in backend.run(turn_of(tools=tools)):
            if isinstance(event, until):
                seen.set()

    return asyncio.create_task(read()), seen


async def end(task: asyncio.Task[None]) -> None:
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_cancelling_in_the_middle_of_an_answer_hangs_up_on_the_model(stage: Stage) -> None:
    stage.server.script(HANGS)
    async with asyncio.timeout(10):
        task, seen = await listen(stage.backend(), PlayedTools(), MessageEvent)
        await seen.wait()
        await end(task)
        await stage.server.idle()

    assert len(stage.bodies) == 1


async def test_cancelling_in_the_middle_of_a_tool_stops_the_tool(stage: Stage) -> None:
    tools = HangingTools()
    stage.server.script(call("a"))
    async with asyncio.timeout(10):
        task, _ = await listen(stage.backend(), tools, ToolUseEvent)
        await tools.begun.wait()
        await end(task)

    assert tools.stopped.is_set()
    assert len(stage.bodies) == 1


async def test_cancelling_while_a_new_try_is_waited_for_makes_none(stage: Stage) -> None:
    stage.server.script(fail(503, retry_after="5"))
    async with asyncio.timeout(10):
        task, _ = await listen(stage.backend(), PlayedTools(), ToolUseEvent)
        await stage.server.received(1)
        await stage.server.idle()
        await end(task)

    assert len(stage.bodies) == 1


async def test_cancelling_before_anything_has_happened_is_no_fault(stage: Stage) -> None:
    task, _ = await listen(stage.backend(), PlayedTools(), MessageEvent)
    await end(task)


async def test_a_reader_who_stops_reading_stops_the_work(stage: Stage) -> None:
    tools = HangingTools()
    stage.server.script(Reply(tokens=("Let me see.",), calls=(Call(name="a", id="c1"),)))
    async with asyncio.timeout(10), aclosing(stage.backend().run(turn_of(tools=tools))) as events:  # type: ignore[type-var]  # all of them are generators
        async for event in events:
            if isinstance(event, ToolUseEvent):
                break

    assert tools.begun.is_set() == tools.stopped.is_set()
    assert len(stage.bodies) == 1


async def test_the_next_turn_is_answered_after_one_was_cancelled(stage: Stage) -> None:
    backend, tools = stage.backend(), HangingTools()
    stage.server.script(call("a"))
    async with asyncio.timeout(10):
        task, _ = await listen(backend, tools, ToolUseEvent)
        await tools.begun.wait()
        await end(task)
        events = await stage.run(say("here again"), backend=backend)

    assert shown(events) == "here again"


async def test_others_go_on_while_one_is_cancelled(stage: Stage) -> None:
    backend, tools, gate = stage.backend(), HangingTools(), asyncio.Event()
    stage.server.script(call("a"))
    async with asyncio.timeout(10):
        task, _ = await listen(backend, tools, ToolUseEvent)
        await tools.begun.wait()
        other = asyncio.create_task(stage.run(Reply(tokens=("a", "b"), gate=gate), backend=backend))
        await stage.server.received(2)
        await end(task)
        gate.set()
        events = await other

    assert shown(events) == "ab"
