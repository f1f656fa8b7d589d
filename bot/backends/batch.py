"""The tool calls of one step: together, bounded, every outcome collected in the order of the calls."""

import asyncio
from collections.abc import Callable, Sequence

from bot.backends.base import ToolResultEvent, Tools
from bot.models.base import ToolCall

AT_ONCE = 8
BATCH_SECONDS = 120.0
DYING_SECONDS = 1.0  # that a call which was stopped gets to clean up
SKIPPED = "Skipped due to queued user message."
STOPPED = "Stopped: all calls of this step together took more than {seconds:g} s."
NOT_STARTED = "Not started: the other calls of this step took more than {seconds:g} s."


def _never() -> bool:
    return False


async def call_together(
    tools: Tools,
    calls: Sequence[ToolCall],
    *,
    should_skip: Callable[[], bool] = _never,
    seconds: float = BATCH_SECONDS,
) -> list[ToolResultEvent]:
    """Carry out the calls of one step side by side.

    Args:
        should_skip: Asked before each call begins; from when it says so, none does.
        seconds: For all of them. Who is done by then keeps its result, who is not is stopped.
    """
    slots = asyncio.Semaphore(AT_ONCE)
    begun: set[str] = set()

    async def one(call: ToolCall) -> ToolResultEvent:
        async with slots:
            if should_skip():
                return ToolResultEvent(call=call, content=SKIPPED, status="error")
            begun.add(call.id)
            return await tools.call(call)

    tasks = [asyncio.create_task(one(call), name=f"tool {call.function.name}") for call in calls]
    try:
        await asyncio.wait(tasks, timeout=seconds)
    finally:
        late = [task for task in tasks if not task.done()]
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late, timeout=DYING_SECONDS)
    return [_outcome(task, call, begun, seconds) for task, call in zip(tasks, calls, strict=True)]


def _outcome(
    task: asyncio.Task[ToolResultEvent], call: ToolCall, begun: set[str], seconds: float
) -> ToolResultEvent:
    if task.done() and not task.cancelled():
        return task.result()
    told = (STOPPED if call.id in begun else NOT_STARTED).format(seconds=seconds)
    return ToolResultEvent(call=call, content=told, status="error")
