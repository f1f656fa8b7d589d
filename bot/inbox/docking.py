"""Lets the answers of one conversation go to another chat; its history stays where it is."""

import asyncio
import logging
from collections.abc import Collection
from typing import Final

from bot.errors import StoreError
from bot.inbox.base import Conversation, InboxError
from bot.inbox.diversions import Diversions
from bot.messages import Address, SessionKey
from bot.tools.base import Speaker

log = logging.getLogger(__name__)

ITSELF: Final = "That is the same chat."
LOOP: Final = "The answers of that chat come here: neither would be answered where it is asked."
READS_HISTORY: Final = (
    "Nothing is delivered to {channel}: who sits there reads the history of their own chat."
)
NOT_DOCKED: Final = "The answers of this chat go nowhere else."
GOES: Final = "From now on, what I answer here goes to `{target}`."
COMES: Final = "From now on, what I answer in `{chat}` comes here."
GOES_NO_MORE: Final = "From now on, what I answer here comes here again."
COMES_NO_MORE: Final = "What I answer in `{chat}` comes here no more."


class Docks:
    """Says where answers go, and tells both chats of it.

    Args:
        undelivered: Channels to which nothing is delivered.
    """

    def __init__(self, diversions: Diversions, *, undelivered: Collection[str]) -> None:
        self._diversions = diversions
        self._undelivered = undelivered
        self._docking = asyncio.Lock()

    async def dock(self, here: Conversation, there: Conversation, speaker: Speaker) -> None:
        """Let the answers of one go to the other.

        Raises:
            InboxError: They can't.
        """
        async with self._docking:  # two that are docked to each other at once would make a circle
            self._check(here.chat, there)
            await self._diversions.dock(here.chat, there.address)
        await _tell(speaker, here.address, here.session, GOES.format(target=there.chat))
        await _tell(speaker, there.address, there.session, COMES.format(chat=here.chat))

    async def undock(self, here: Conversation, speaker: Speaker) -> None:
        """Let them come back.

        Raises:
            InboxError: They go nowhere else.
        """
        async with self._docking:
            target = self._diversions.docked_to(here.chat)
            if target is None:
                raise InboxError(NOT_DOCKED)
            await self._diversions.dock(here.chat, None)
        await _tell(speaker, here.address, here.session, GOES_NO_MORE)
        await _tell(speaker, target, target.session(), COMES_NO_MORE.format(chat=here.chat))

    def _check(self, chat: SessionKey, there: Conversation) -> None:
        if there.chat == chat:
            raise InboxError(ITSELF)
        if there.address.channel in self._undelivered:
            raise InboxError(READS_HISTORY.format(channel=there.address.channel))
        passed, onward = {there.chat}, self._diversions.docked_to(there.chat)
        while onward is not None and onward.session() not in passed:
            if onward.session() == chat:
                raise InboxError(LOOP)
            passed.add(onward.session())
            onward = self._diversions.docked_to(onward.session())


async def _tell(speaker: Speaker, address: Address, session: SessionKey, text: str) -> None:
    try:
        await speaker.say(address, session, text)
    except StoreError as error:  # it is in force all the same
        log.warning("chat not told of a dock", extra={"cause": str(error)})
