"""One turn between the SDK's loop and ours: the loop says when, `Steps` does it, the pipe tells of it."""

import asyncio
from contextlib import aclosing

from agents import FunctionToolResult, RunContextWrapper, ToolErrorFormatterArgs, ToolsToFinalOutputResult
from agents.items import TResponseOutputItem

from bot.backends.base import MessageEvent, ToolUseEvent
from bot.backends.openai_agents.items import output_items
from bot.backends.openai_agents.pipe import Pipe
from bot.backends.steps import Steps


class Bridge:
    """What the SDK calls of ours; one instance a turn.

    The prompt is kept by `Steps`, not by the SDK: where it was shortened, it has to stay so.
    """

    def __init__(self, steps: Steps, pipe: Pipe) -> None:
        self._steps = steps
        self._pipe = pipe
        self._doing: asyncio.Task[dict[str, str]] | None = None

    async def sample(self) -> list[TResponseOutputItem]:
        """Ask the model.

        Raises:
            ModelError: There is no answer, or it was not to be asked.
        """
        if self._doing is not None:
            self._doing.result()
            self._doing = None
        said = ""
        async with aclosing(self._steps.sample()) as events:
            async for event in events:
                if isinstance(event, MessageEvent):
                    said = event.content if event.replaces else said + event.content
                await self._pipe.put(event)
        for call in self._steps.calls:
            await self._pipe.put(ToolUseEvent(call=call))
        return output_items(said, self._steps.calls)

    async def result(self, call_id: str) -> str:
        """What came of a call; the first that is asked for has all calls of the step carried out together.

        Where that fails for good nothing came of it, and the next step raises what it failed with.
        """
        if self._doing is None:
            self._doing = asyncio.create_task(self._carry_out(), name="calls of a step")
        doing = self._doing
        await asyncio.wait([doing])  # `call_all` sets the time limit
        if doing.cancelled() or doing.exception() is not None:
            return ""
        return doing.result()[call_id]

    async def _carry_out(self) -> dict[str, str]:
        results = await self._steps.carry_out()
        for result in results:
            await self._pipe.put(result)
        await self._steps.go_on(results)
        return {result.call.id: result.content for result in results}

    async def missing(self, what: ToolErrorFormatterArgs[None]) -> str:
        """What came of a call to a tool that does not exist: our own words for it."""
        return await self.result(what.call_id)

    def conclude(
        self, context: RunContextWrapper[None], results: list[FunctionToolResult]
    ) -> ToolsToFinalOutputResult:
        """Whether a tool has given the answer."""
        return ToolsToFinalOutputResult(is_final_output=self._steps.is_over, final_output="")

    async def aclose(self) -> None:
        """Stop the tools that still run."""
        if self._doing is not None:
            self._doing.cancel()
            await asyncio.wait([self._doing])
