"""Chats under the ids they have now: a group that becomes a supergroup gets a new one."""

import logging

from bot.errors import StoreError
from channels.base import State

log = logging.getLogger(__name__)

PREFIX = "moved:"


class Chats:
    """Remembers which chats have moved."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._moved: dict[str, str] = {}

    async def load(self) -> None:
        """Read what was known before a restart."""
        found = await self._state.items(PREFIX)
        self._moved |= {name.removeprefix(PREFIX): chat for name, chat in found.items()}

    def id_of(self, chat: str) -> int | str:
        """The id under which Telegram knows a chat; public ones also have a name like `@news`."""
        chat = self._moved.get(chat, chat)
        return chat if chat.startswith("@") else int(chat)

    async def move(self, old: str, new: int) -> None:
        """Remember where a chat has gone."""
        self._moved[old] = str(new)
        try:
            await self._state.put(PREFIX + old, str(new))
        except StoreError as error:  # Telegram tells it again at the next call
            log.warning("chat that moved not remembered", extra={"chat": old, "cause": str(error)})
