"""How full the model's window is in a conversation: the prompt that its next turn would get, measured."""

from bot.agent.next_prompt import NextPrompt
from bot.inbox.base import Conversation
from bot.messages import Frozen, InboundMessage, MessageId, Sender, new_id, utc_now


class Fullness(Frozen, frozen=True, kw_only=True):
    """How many tokens the next prompt of a session would have, and how many the model's window has."""

    used: int
    window: int


class Gauge:
    """Measures as `/context` does."""

    def __init__(self, prompt: NextPrompt) -> None:
        self._next = prompt

    async def __call__(self, conversation: Conversation) -> Fullness:
        """How full it is."""
        message = InboundMessage(
            id=MessageId(new_id()),
            platform_id="gauge",
            address=conversation.address,
            session=conversation.session,
            sender=Sender(id=conversation.subject.partition(":")[2], name=conversation.person),
            text="",
            received_at=utc_now(),
        )
        found = await self._next.measure(message)
        return Fullness(used=found.filled.total, window=found.profile.window)
