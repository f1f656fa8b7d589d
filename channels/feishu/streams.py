"""Cards that grow: how they are made, numbered and found again after a restart."""

import time
from contextlib import suppress
from typing import Final

from bot.errors import ChannelError
from bot.messages import Address
from channels.base import Content, State
from channels.feishu.api import Api
from channels.feishu.cards import ANSWER, card_of, growing_text
from channels.feishu.errors import OutOfOrder, StreamClosed
from channels.feishu.wire import MadeCard, Nothing

SLOTS: Final = 128  # posts that may be under way when the process dies
RECOGNISED: Final = 3_600_000  # milliseconds for which Feishu recognises the message of a post
SLOT: Final = "card-slot:"
HEADROOM: Final = 5_000  # numbers passed over after a restart, where a clock was put right by seconds
SKIP: Final = 3_600_000  # numbers passed over where a clock was set back
MAX_NUMBERED: Final = 1_000  # cards whose last number is remembered


class Streams:
    """The growing cards of one account.

    Every change of a card carries a number above the one before, from 1 to 2^31 - 1, over all operations. It
    is counted in milliseconds since the card was made: so it goes on rising after a restart, with nothing
    to be kept, for 24 days, and Feishu forgets a card after 14.
    Source: open.feishu.cn, cardkit-v1/card/settings, `sequence`, and errors 300317 and 200750.
    """

    def __init__(self, api: Api, state: State) -> None:
        self._api = api
        self._state = state
        self._made: dict[str, str] | None = None
        self._slot = 0
        self._numbers: dict[str, int] = {}

    async def make(self, content: Content, address: Address, *, key: str) -> str:
        """Make a card; gives our name of it.

        A post that is tried again must show the same card: Feishu recognises the message as the one that
        was sent before, and shows what was in it then. So the name of a card is kept before it is sent, in
        one of a fixed number of slots.
        """
        made = await self._remembered()
        slot, self._slot = self._slot, (self._slot + 1) % SLOTS
        body = {"type": "card_json", "data": card_of(content, address)}
        card = await self._api.call("POST", "/cardkit/v1/cards", MadeCard, body=body)
        name = f"{card.card_id}|{_now()}"
        made[key] = name
        self._numbers[name] = 0
        await self._state.put(f"{SLOT}{slot}", f"{key} {name}")
        for forgotten in list(made)[:-SLOTS]:
            del made[forgotten]
        return name

    async def made_under(self, key: str) -> str | None:
        """Our name of the card that was made under a key, as long as its message would be recognised."""
        name = (await self._remembered()).get(key)
        if name is None or _now() - int(name.rpartition("|")[2]) > RECOGNISED:
            return None
        return name

    async def _remembered(self) -> dict[str, str]:
        """The newest cards by the keys of their posts; those of an earlier process are read once."""
        if self._made is None:
            slots = await self._state.items(SLOT)
            if self._made is not None:  # another post has read them meanwhile
                return self._made
            pairs = [value.partition(" ") for value in slots.values()]
            newest = sorted(pairs, key=lambda pair: pair[2].rpartition("|")[2])
            self._made = {key: name for key, _, name in newest}
            self._slot = len(slots) % SLOTS if len(slots) < SLOTS else self._oldest(slots)
        return self._made

    @staticmethod
    def _oldest(slots: dict[str, str]) -> int:
        slot = min(slots, key=lambda name: slots[name].rpartition("|")[2])
        return int(slot.removeprefix(SLOT))

    async def show(self, name: str, content: Content, address: Address) -> None:
        """Make a card look so; the last look ends its growing."""
        card = name.partition("|")[0]
        try:
            if not content.is_final and not content.is_plain:
                with suppress(StreamClosed):
                    await self._grow(card, name, content)
                    return
            await self._replace(card, name, content, address)
        except OutOfOrder:
            self._numbers[name] += SKIP
            raise

    async def _grow(self, card: str, name: str, content: Content) -> None:
        body = {"content": growing_text(content.text), "sequence": self._next(name)}
        path = f"/cardkit/v1/cards/{card}/elements/{ANSWER}/content"
        await self._api.call("PUT", path, Nothing, body=body, scope="message")

    async def _replace(self, card: str, name: str, content: Content, address: Address) -> None:
        """Put a whole card in the place of what stands there; one that still grows is open again by it."""
        whole = {"type": "card_json", "data": card_of(content, address)}
        body = {"card": whole, "sequence": self._next(name)}
        await self._api.call("PUT", f"/cardkit/v1/cards/{card}", Nothing, body=body, scope="message")

    def _next(self, name: str) -> int:
        """The number of the next operation on a card."""
        _, _, made_at = name.partition("|")
        if not made_at.isdecimal():
            raise ChannelError(f"feishu: {name!r} names no card", permanent=True)
        elapsed = _now() - int(made_at)
        last = self._numbers.pop(name, None)
        number = max(elapsed, last + 1) if last is not None else max(elapsed, 0) + HEADROOM
        self._numbers[name] = number
        while len(self._numbers) > MAX_NUMBERED:
            del self._numbers[next(iter(self._numbers))]
        return number


def _now() -> int:
    """The time in milliseconds."""
    return time.time_ns() // 1_000_000
