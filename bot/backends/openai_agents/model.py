"""Our model client in place of the SDK's own: retries, fallbacks and faults are those of every backend."""

from collections.abc import AsyncGenerator

from agents import (
    AgentOutputSchemaBase,
    Handoff,
    Model,
    ModelResponse,
    ModelSettings,
    ModelTracing,
    Tool,
    TResponseInputItem,
)
from agents.items import TResponseStreamEvent
from openai.types.responses.response_prompt_param import ResponsePromptParam

from bot.backends.openai_agents.bridge import Bridge
from bot.backends.openai_agents.items import completed, whole_response


class BridgedModel(Model):
    """Asks over the bridge, which knows the prompt; what the loop hands over is not needed."""

    def __init__(self, bridge: Bridge) -> None:
        self._bridge = bridge

    async def stream_response(  # noqa: PLR0913 - the SDK's signature
        self,
        system_instructions: str | None,
        input: str | list[TResponseInputItem],
        model_settings: ModelSettings,
        tools: list[Tool],
        output_schema: AgentOutputSchemaBase | None,
        handoffs: list[Handoff],
        tracing: ModelTracing,
        *,
        previous_response_id: str | None,
        conversation_id: str | None,
        prompt: ResponsePromptParam | None,
    ) -> AsyncGenerator[TResponseStreamEvent, None]:
        """See `Model.stream_response`; text goes over the bridge as it comes, here comes the end of it."""
        yield completed(await self._bridge.sample())

    async def get_response(  # noqa: PLR0913 - the SDK's signature
        self,
        system_instructions: str | None,
        input: str | list[TResponseInputItem],
        model_settings: ModelSettings,
        tools: list[Tool],
        output_schema: AgentOutputSchemaBase | None,
        handoffs: list[Handoff],
        tracing: ModelTracing,
        *,
        previous_response_id: str | None,
        conversation_id: str | None,
        prompt: ResponsePromptParam | None,
    ) -> ModelResponse:
        """See `Model.get_response`."""
        return whole_response(await self._bridge.sample())
