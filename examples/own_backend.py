"""A bot that answers without any model: an agent of one's own behind the page, the terminal and the store.

python examples/own_backend.py "How are you?"
"""

import asyncio
import sys
from collections.abc import AsyncIterator

from bot import App, End, InboundMessage, load_settings
from bot.backends.base import AgentEvent, Capability, DoneEvent, MessageEvent, TurnInput
from bot.messages import Address, MessageId, Sender, new_id, utc_now
from bot.models.base import ModelProfile


class Parrot:
    """Says back what it hears, word by word."""

    capabilities = Capability.STREAMING
    profile = ModelProfile(window=8_000, max_output=1_000)

    async def run(self, turn: TurnInput) -> AsyncIterator[AgentEvent]:
        """Answer one turn."""
        for word in turn.messages[-1].content.split():
            yield MessageEvent(content=f"{word} ")
        yield DoneEvent()

    async def aclose(self) -> None:
        """There is nothing to let go of."""


async def ask(question: str) -> str:
    """Start the bot, ask once, and give the answer."""
    async with App(load_settings(), backend=Parrot(), has_web=False) as app:
        address = Address(channel="terminal", chat="example")
        with app.bus.outbound(channel="terminal") as answers:
            message = InboundMessage(
                id=MessageId(new_id()),
                platform_id=new_id(),
                address=address,
                session=address.session(),
                sender=Sender(id="me"),
                text=question,
                received_at=utc_now(),
            )
            await app.bus.publish(message)
            async for part in answers:
                if isinstance(part, End):
                    return part.text
    return ""


if __name__ == "__main__":
    sys.stdout.write(asyncio.run(ask(" ".join(sys.argv[1:]) or "Hello!")) + "\n")
