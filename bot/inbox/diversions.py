"""Where operators answer in the agent's stead, and whose answers go elsewhere: at hand for every turn."""

import asyncio
from typing import Final

from bot.inbox.base import InboxBook, InboxError
from bot.messages import Address, InboundMessage, SessionKey

TAKEN: Final = "{name} answers there already. Hand it back first."
NOT_TAKEN: Final = "Nobody has taken it over."


class Diversions:
    """Fulfils `bot.agent.seams.Operators`; what is changed is in the book first, and in force then."""

    def __init__(self, book: InboxBook) -> None:
        self._book = book
        self._taken: dict[SessionKey, str] = {}
        self._docked: dict[SessionKey, Address] = {}
        self._taking = asyncio.Lock()

    async def load(self) -> None:
        """Read what is kept; before the first turn begins."""
        self._taken = await self._book.taken()
        self._docked = await self._book.docked()

    def has_taken(self, message: InboundMessage) -> bool:
        """See the protocol."""
        return bool(self._taken) and message.address.session() in self._taken

    def destination(self, message: InboundMessage) -> Address | None:
        """See the protocol."""
        return self._docked.get(message.address.session()) if self._docked else None

    def taken_by(self, chat: SessionKey) -> str | None:
        """The operator who answers in a chat."""
        return self._taken.get(chat)

    def docked_to(self, chat: SessionKey) -> Address | None:
        """Where the answers of a chat go."""
        return self._docked.get(chat)

    async def take(self, chat: SessionKey, by: str) -> None:
        """Let an operator answer in a chat; of several at once, the first.

        Raises:
            InboxError: Another one does.
        """
        async with self._taking:
            if (name := self._taken.get(chat)) is None:
                await self._book.take(chat, by)
                self._taken[chat] = by
            elif name != by:
                raise InboxError(TAKEN.format(name=name))

    async def hand_back(self, chat: SessionKey) -> None:
        """Let the agent answer there again.

        Raises:
            InboxError: It does.
        """
        async with self._taking:
            if chat not in self._taken:
                raise InboxError(NOT_TAKEN)
            await self._book.take(chat, None)
            del self._taken[chat]

    async def dock(self, chat: SessionKey, target: Address | None) -> None:
        """Let the answers of a chat go elsewhere, or (`None`) where they belong."""
        await self._book.dock(chat, target)
        if target is None:
            self._docked.pop(chat, None)
        else:
            self._docked[chat] = target
