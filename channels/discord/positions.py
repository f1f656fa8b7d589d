"""How far each chat was heard: Discord tells a new session nothing of what was said before."""

from typing import Final

from bot.messages import Address
from channels.base import State

PREFIX: Final = "seen:"


class Positions:
    """The newest message of each chat that is durable here, kept over a restart."""

    def __init__(self, state: State, account: str) -> None:
        self._state = state
        self._account = account
        self._seen: dict[Address, int] = {}
        self._is_loaded = False

    async def load(self) -> None:
        """Read what an earlier process has written."""
        if self._is_loaded:
            return
        for name, value in (await self._state.items(PREFIX)).items():
            self._seen.setdefault(self._address(name.removeprefix(PREFIX)), int(value))
        self._is_loaded = True

    def items(self) -> list[tuple[Address, int]]:
        """Every chat that was ever heard, with its newest message; the busiest lately come first."""
        return sorted(self._seen.items(), key=lambda item: item[1], reverse=True)

    def seen(self, address: Address) -> int:
        """The newest message that was taken; 0 where none was."""
        return self._seen.get(address, 0)

    async def expect(self, address: Address, message: int) -> None:
        """Make a chat known that is heard for the first time, before its first message is taken."""
        if address not in self._seen:
            await self._put(address, message - 1)

    async def note(self, address: Address, message: int) -> None:
        """Write down that a message was taken; an older one than the newest changes nothing."""
        if message > self._seen.get(address, 0):
            await self._put(address, message)

    async def _put(self, address: Address, message: int) -> None:
        await self._state.put(PREFIX + _name(address), str(message))
        self._seen[address] = message

    def _address(self, name: str) -> Address:
        chat, _, thread = name.removeprefix("@").partition("/")
        return Address(
            channel="discord",
            account=self._account,
            chat=chat,
            thread=thread or None,
            is_direct=name.startswith("@"),
        )


def _name(address: Address) -> str:
    if address.thread is not None:
        return f"{address.chat}/{address.thread}"
    return f"@{address.chat}" if address.is_direct else address.chat
