"""The router of a bot that brings its own agent."""

from bot.backends.base import AgentBackend
from bot.messages import SessionKey


class OneBackend:
    """Answers every session with the same agent."""

    def __init__(self, backend: AgentBackend) -> None:
        self._backend = backend

    async def backend(self, session: SessionKey) -> AgentBackend:
        """The same for every session."""
        return self._backend

    def model(self, session: SessionKey) -> str | None:
        """The agent looks after its models itself."""
        return None

    async def warm_up(self, preamble: object = None) -> None:
        """There is nothing to load."""

    async def aclose(self) -> None:
        """Close the agent with the bot."""
        await self._backend.aclose()
