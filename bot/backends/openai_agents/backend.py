"""The backend: a run of the SDK for each turn."""

import asyncio
from collections.abc import AsyncGenerator

import msgspec
from agents import Agent, FunctionTool, RunConfig, Runner, Tool
from agents.tool_context import ToolContext

from bot.backends.base import AgentEvent, TurnInput
from bot.backends.openai_agents.bridge import Bridge
from bot.backends.openai_agents.model import BridgedModel
from bot.backends.openai_agents.pipe import Pipe
from bot.backends.registry import BackendSetup
from bot.backends.steps import SteppingBackend, failure
from bot.errors import ModelError
from bot.models.base import ToolSchema
from bot.models.providers import open_client

STOP_SECONDS = 5.0  # for what a reader who has left leaves running


class OpenAIAgentsBackend(SteppingBackend):
    """Answers turns with the loop of the OpenAI Agents SDK; one instance serves every session."""

    async def run(self, turn: TurnInput) -> AsyncGenerator[AgentEvent, None]:
        """See `AgentBackend.run`."""
        steps, pipe = self.steps(turn), Pipe()
        work = asyncio.create_task(self._work(turn, Bridge(steps, pipe)), name="run of the Agents SDK")
        work.add_done_callback(lambda _: pipe.close())
        try:
            async for event in pipe.read():
                yield event
            await work
        except ModelError as error:
            yield failure(error)
            return
        finally:
            work.cancel()
            await asyncio.wait([work], timeout=STOP_SECONDS)
        for event in steps.ending():
            yield event

    async def _work(self, turn: TurnInput, bridge: Bridge) -> None:
        """Have the SDK's loop run to its end."""
        agent: Agent[None] = Agent(
            name="bot",
            model=BridgedModel(bridge),
            tools=[_function_tool(schema, bridge) for schema in turn.tools.schemas],
            tool_use_behavior=bridge.conclude,
        )
        config = RunConfig(
            tracing_disabled=True,
            trace_include_sensitive_data=False,
            tool_not_found_behavior="return_error_to_model",
            tool_error_formatter=bridge.missing,
        )
        result = Runner.run_streamed(
            agent, turn.messages[-1].content, max_turns=self._max_steps, run_config=config
        )
        loop = result.run_loop_task
        try:
            async for _ in result.stream_events():  # cancelled itself, it cancels the loop
                continue
        finally:
            await bridge.aclose()
            if loop is not None:
                await asyncio.wait([loop], timeout=STOP_SECONDS)


def _function_tool(schema: ToolSchema, bridge: Bridge) -> Tool:
    """A tool of ours as one of the SDK's."""

    async def invoke(context: ToolContext[None], arguments: str) -> str:
        return await bridge.result(context.tool_call_id)

    return FunctionTool(
        name=schema.name,
        description=schema.description,
        params_json_schema=msgspec.json.decode(schema.parameters, type=dict[str, object]),
        on_invoke_tool=invoke,
        strict_json_schema=False,
    )


def open_openai_agents(setup: BackendSetup) -> OpenAIAgentsBackend:
    """Make the backend that the settings ask for; its model is the one of the settings, at any server."""
    models = setup.models
    return OpenAIAgentsBackend(open_client(models), model=models.model_name, turn_seconds=setup.turn_seconds)
