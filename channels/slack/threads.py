"""The threads in which the bot takes part: what is said there is said to it."""

from collections import OrderedDict
from typing import Final

import msgspec

from channels.base import State

STATE: Final = "threads"
MOST: Final = 300


class Threads:
    """Remembers the last threads, over restarts too."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._known: OrderedDict[str, None] = OrderedDict()

    async def load(self) -> None:
        """Read what was known before."""
        text = await self._state.get(STATE)
        if text is not None:
            self._known = OrderedDict.fromkeys(msgspec.json.decode(text, type=list[str]))

    def knows(self, chat: str, thread: str | None) -> bool:
        """Whether the bot takes part in a thread."""
        return f"{chat}:{thread}" in self._known

    async def join(self, chat: str, thread: str) -> None:
        """Remember a thread."""
        if self.knows(chat, thread):
            return
        self._known[f"{chat}:{thread}"] = None
        while len(self._known) > MOST:
            self._known.popitem(last=False)
        await self._state.put(STATE, msgspec.json.encode(list(self._known)).decode())
