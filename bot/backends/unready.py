"""What answers while there is nothing to answer with: it says what to do."""

from collections.abc import AsyncGenerator

from bot.backends.base import AgentEvent, Capability, ErrorEvent, TurnInput
from bot.models.base import ModelProfile


class UnreadyBackend:
    """Answers every turn with what is missing."""

    def __init__(self, fault: str, profile: ModelProfile) -> None:
        self._fault = fault
        self._profile = profile

    @property
    def capabilities(self) -> Capability:
        """None at all."""
        return Capability(0)

    @property
    def profile(self) -> ModelProfile:
        """See `AgentBackend.profile`."""
        return self._profile

    async def run(self, turn: TurnInput) -> AsyncGenerator[AgentEvent, None]:
        """See `AgentBackend.run`."""
        yield ErrorEvent(content=self._fault)

    async def aclose(self) -> None:
        """Nothing is held."""
