"""Who writes from where: every chat, and where each admin can be told something alone."""

from collections.abc import Callable
from typing import Protocol

from bot.messages import Address, InboundMessage, Role, Sender, decode_address, encoder


class Chats(Protocol):
    """Knows every chat, and who spoke there last."""

    async def note_chat(self, address: Address, person: Sender | None = None) -> None: ...


class State(Protocol):
    """Keeps small texts by name."""

    async def put(self, name: str, value: str) -> None: ...

    async def items(self, prefix: str) -> dict[str, str]: ...


class Notebook:
    """Fulfils `bot.agent.store.Chats`; what it knows already costs nothing.

    Args:
        admins: Keeps the address of each admin's direct chat.
    """

    def __init__(self, chats: Chats, admins: State, *, is_admin: Callable[[InboundMessage], bool]) -> None:
        self._chats = chats
        self._admins = admins
        self._is_admin = is_admin
        self._noted: dict[str, Address] = {}

    async def note(self, message: InboundMessage) -> None:
        """See the protocol."""
        address = message.address
        await self._chats.note_chat(address, message.sender)
        name = f"{address.channel}:{message.sender.id}"
        if message.sender.role is Role.OWNER:  # on the page, which shows nothing but the history
            return
        if address.is_direct and self._noted.get(name) != address and self._is_admin(message):
            await self._admins.put(name, encoder.encode(address).decode())
            self._noted[name] = address

    async def admin_chats(self) -> list[Address]:
        """Where the admins that have written can be told something alone."""
        return [decode_address(text) for text in (await self._admins.items("")).values()]
