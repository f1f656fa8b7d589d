"""How full the model's window is in a conversation: the prompt that its next turn would get, measured."""

from collections.abc import Callable
from typing import Protocol

from bot.agent.estimate import Meter
from bot.agent.prompt import Prompt
from bot.agent.store import Begun
from bot.backends.base import AgentBackend
from bot.inbox.base import Conversation
from bot.messages import Frozen, InboundMessage, MessageId, Sender, SessionKey, new_id, utc_now
from bot.models.base import ModelProfile, ToolSchema


class Fullness(Frozen, frozen=True, kw_only=True):
    """How many tokens the next prompt of a session would have, and how many the model's window has."""

    used: int
    window: int


class Lines(Protocol):
    """Reads what a turn begins with."""

    async def upcoming(self, session: SessionKey, *, history: int) -> Begun: ...


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


class Gauge:
    """Measures as `/context` does.

    Args:
        history: The most lines that a turn reads.
        offers: The tools of a turn.
    """

    def __init__(
        self,
        lines: Lines,
        prompts: Prompts,
        backends: Backends,
        offers: Callable[[InboundMessage], tuple[ToolSchema, ...]],
        *,
        history: int,
    ) -> None:
        self._lines = lines
        self._prompts = prompts
        self._backends = backends
        self._offers = offers
        self._history = history

    async def __call__(self, conversation: Conversation) -> Fullness:
        """How full it is."""
        session = conversation.session
        begun = await self._lines.upcoming(session, history=self._history)
        profile = (await self._backends.backend(session)).profile
        message = InboundMessage(
            id=MessageId(new_id()),
            platform_id="gauge",
            address=conversation.address,
            session=session,
            sender=Sender(id=conversation.subject.partition(":")[2], name=conversation.person),
            text="",
            received_at=utc_now(),
        )
        tools = () if profile.compact else self._offers(message)
        prompt = await self._prompts.build(message, begun, profile, tools=tools, is_preview=True)
        filled = Meter().measure(prompt.messages, tools, window=profile.window)
        return Fullness(used=filled.total, window=profile.window)
