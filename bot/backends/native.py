"""The built-in backend: a loop of model calls and tool calls, until the model has no more calls to make."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from bot.backends.base import AgentEvent, ToolUseEvent, TurnInput
from bot.backends.registry import BackendSetup
from bot.backends.steps import SteppingBackend, failure
from bot.errors import ModelError
from bot.models.providers import open_client


class NativeBackend(SteppingBackend):
    """Answers turns with a loop of our own; one instance serves every session."""

    async def run(self, turn: TurnInput) -> AsyncGenerator[AgentEvent, None]:
        """See `AgentBackend.run`."""
        steps = self.steps(turn)
        try:
            while not steps.is_over:
                async with aclosing(steps.sample()) as said:
                    async for event in said:
                        yield event
                if not steps.calls:
                    break
                for call in steps.calls:
                    yield ToolUseEvent(call=call)
                results = await steps.carry_out()
                for result in results:
                    yield result
                await steps.go_on(results)
        except ModelError as error:
            yield failure(error)
            return
        for event in steps.ending():
            yield event


def open_native(setup: BackendSetup) -> NativeBackend:
    """Make the backend that the settings ask for."""
    models = setup.models
    return NativeBackend(open_client(models), model=models.model_name, turn_seconds=setup.turn_seconds)
