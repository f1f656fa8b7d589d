"""Tells the admins, in their own chats, what an operator would want to know at once."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Protocol, Self

from bot.bus import Bus
from bot.errors import StoreError
from bot.messages import Address, End

log = logging.getLogger(__name__)

MAX_TOLD = 1_000  # chats that are remembered as told of

LOST = (
    "I can write to the chat `{chat}` on {channel} no more: {cause}. What waits for it stays in the outbox."
)

AUDIT_FAILED = "The audit log can't be written: {cause}. What is decided now is not on record."

BLOCKED = (
    "I have blocked a message on {channel} ({level}): `/blocked` shows it, `/release {reference}` runs it."
)
BLOCKED_EVERY = 600.0  # seconds between two such notes about one chat


class Outbox(Protocol):
    """Takes announcements."""

    async def announce(self, addresses: list[Address], text: str) -> list[End]: ...


class Alarm:
    """Speaks to the admins from `__aenter__` to `__aexit__`; of each chat once.

    Args:
        admin_chats: Where they are.
        redact: Hides what must not leave the bot.
    """

    def __init__(
        self,
        bus: Bus,
        outbox: Outbox,
        *,
        admin_chats: Callable[[], Awaitable[list[Address]]],
        redact: Callable[[str], str] = str,
    ) -> None:
        self._redact = redact
        self._bus = bus
        self._outbox = outbox
        self._admin_chats = admin_chats
        self._told: OrderedDict[Address, None] = OrderedDict()
        self._blocked: OrderedDict[Address, float] = OrderedDict()
        self._group = asyncio.TaskGroup()

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._group.__aexit__(None, None, None)

    def chat_lost(self, address: Address, cause: str) -> None:
        """A platform will take nothing more for a chat."""
        if address in self._told:
            return
        self._told[address] = None
        if len(self._told) > MAX_TOLD:
            self._told.popitem(last=False)
        log.error("chat is lost", extra={"channel": address.channel, "chat": address.chat, "cause": cause})
        text = LOST.format(chat=address.chat, channel=address.channel, cause=cause)
        self._group.create_task(self._tell(text, lost=address), name="alarm")

    def message_blocked(self, address: Address, level: str, reference: str) -> None:
        """The safety check holds a message back."""
        now = asyncio.get_running_loop().time()
        if now - self._blocked.get(address, float("-inf")) < BLOCKED_EVERY:
            return
        self._blocked[address] = now
        self._blocked.move_to_end(address)
        if len(self._blocked) > MAX_TOLD:
            self._blocked.popitem(last=False)
        text = BLOCKED.format(channel=address.channel, level=level, reference=reference)
        self._group.create_task(self._tell(text, lost=address), name="alarm")

    def audit_failed(self, cause: str) -> None:
        """Nothing can be written to the audit log."""
        self._group.create_task(self._tell(AUDIT_FAILED.format(cause=cause)), name="alarm")

    async def _tell(self, text: str, *, lost: Address | None = None) -> None:
        try:
            chats = [address for address in await self._admin_chats() if address != lost]
            for end in await self._outbox.announce(chats, self._redact(text)):
                self._bus.send(end)
        except StoreError as error:
            log.error("admins not told", extra={"cause": str(error)})
