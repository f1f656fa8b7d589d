"""What is said in a store, without a bot."""

import asyncio

from msgspec.structs import replace

from bot.agent.store import TurnRecord
from bot.messages import EndReason, InboundMessage, SessionKey
from memory.store import Store
from tests.factories import end_of, inbound

RECORD = TurnRecord(started_at=1.0, ended_at=2.0)
ANN = SessionKey("telegram:default:ann")
BOB = SessionKey("slack:default:bob")


async def ask(store: Store, text: str = "hello", *, chat: str = ANN, speaker: str = "Ann") -> InboundMessage:
    """A person says something, and a turn begins with it."""
    message = inbound(text, session=chat, speaker=speaker)
    accepted = await store.journal.accept(message)
    message = replace(message, session=accepted.session)
    await store.journal.begin(message, attempts=0, history=0)
    return message


async def answer(
    store: Store, message: InboundMessage, text: str = "hi", *, reason: EndReason = "done"
) -> None:
    """The bot answers, or ends without a word."""
    end = end_of(message, text, reason=reason)
    await store.journal.finish(end, RECORD, speaker="Bot", has_outbox=False)


async def talk(store: Store, text: str = "hello", *, chat: str = ANN, speaker: str = "Ann") -> None:
    """A person says something and is answered; the next who talks does so in another millisecond.

    The store counts no finer: conversations of the same one are in the order of their names.
    """
    await answer(store, await ask(store, text, chat=chat, speaker=speaker))
    await asyncio.sleep(0.002)
