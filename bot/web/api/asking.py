"""How the API talks to the agent: a message like any other, on a channel of its own."""

from hashlib import sha256
from typing import NamedTuple

from fastapi import HTTPException

from bot.bus import Receipt
from bot.messages import InboundMessage, MessageId, RunId, SessionKey, Trigger, new_id, utc_now
from bot.web.api.base import Caller, Parts

FULL = "too many messages wait in this session; try again when some are answered"


class Asked(NamedTuple):
    """A message that was accepted: now, or before under the same idempotency key."""

    run: RunId
    message: InboundMessage


def message_of(
    caller: Caller, text: str, *, chat: str, user: str | None = None, key: str | None = None
) -> InboundMessage:
    """A message of a caller.

    Args:
        chat: Which of their conversations.
        user: For whom they speak.
        key: Makes it recognisable when it is sent again.
    """
    address = caller.address(chat if user is None else f"{chat}.{_short(user)}")
    id_ = MessageId(new_id())
    return InboundMessage(
        id=id_,
        platform_id=id_ if key is None else f"key:{key}",
        address=address,
        session=SessionKey(address.session()),
        sender=caller.sender(user or ""),
        text=text,
        received_at=utc_now(),
        trigger=Trigger.API,
    )


async def ask(parts: Parts, message: InboundMessage) -> Asked:
    """Hand a message in.

    Raises:
        HTTPException: Too many wait.
        StoreError: It could not be accepted.
    """
    match await parts.bus.publish(message):
        case Receipt.REFUSED:
            raise HTTPException(429, FULL, {"Retry-After": "5"})
        case Receipt.DUPLICATE:
            return Asked(await parts.runs.same(message.dedupe_key) or message.run, message)
        case Receipt.ACCEPTED:
            return Asked(message.run, message)


def _short(user: str) -> str:
    """A name for conversations that no two people share, and from which no other can be made."""
    return sha256(user.encode("utf-8", "surrogatepass")).hexdigest()[:24]
