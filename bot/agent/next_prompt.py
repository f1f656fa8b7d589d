"""The prompt that the next turn of a session would get, measured without one being begun."""

from typing import Protocol

import msgspec

from bot.agent.estimate import Breakdown, Meter
from bot.agent.prompt import Prompt
from bot.agent.store import Begun
from bot.backends.base import AgentBackend
from bot.messages import InboundMessage, SessionKey
from bot.models.base import ModelProfile, ToolSchema


class Prompts(Protocol):
    """Builds prompts, as for a turn."""

    async def build(
        self,
        message: InboundMessage,
        begun: Begun,
        profile: ModelProfile,
        *,
        tools: tuple[ToolSchema, ...] = (),
        is_preview: bool = False,
    ) -> Prompt: ...


class Backends(Protocol):
    """Picks the backend of a session."""

    async def backend(self, session: SessionKey) -> AgentBackend: ...


class Lines(Protocol):
    """Reads what a turn begins with."""

    async def upcoming(self, session: SessionKey, *, history: int) -> Begun:
        """What the next turn of a session would begin with, with so many lines at most."""


class Offers(Protocol):
    """Says which tools the sender of a message has."""

    def __call__(self, message: InboundMessage) -> tuple[ToolSchema, ...]: ...


def offer_nothing(message: InboundMessage) -> tuple[ToolSchema, ...]:
    """The tools of a bot that has none."""
    return ()


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """The prompt, what it was made of, and what fills it."""

    begun: Begun
    profile: ModelProfile
    prompt: Prompt
    tools: tuple[ToolSchema, ...]
    filled: Breakdown


class NextPrompt:
    """Builds and measures it.

    Args:
        history: The most lines that a turn reads.
        offers: The tools of a turn.
    """

    def __init__(
        self,
        lines: Lines,
        prompts: Prompts,
        backends: Backends,
        *,
        history: int,
        offers: Offers = offer_nothing,
    ) -> None:
        self._lines = lines
        self._prompts = prompts
        self._backends = backends
        self._history = history
        self._offers = offers

    async def measure(self, message: InboundMessage) -> Measured:
        """The prompt for a message without a text, in the session that it names."""
        begun = await self._lines.upcoming(message.session, history=self._history)
        profile = (await self._backends.backend(message.session)).profile
        tools = () if profile.compact else self._offers(message)
        prompt = await self._prompts.build(message, begun, profile, tools=tools, is_preview=True)
        filled = Meter().measure(prompt.messages, tools, window=profile.window)
        return Measured(begun=begun, profile=profile, prompt=prompt, tools=tools, filled=filled)
