"""Our reactions on messages."""

from collections import OrderedDict
from typing import Final

from discord.http import Route

from bot.messages import Address
from channels.discord.errors import Refused
from channels.discord.parse import channel_id
from channels.discord.rest import Rest

MOST: Final = 500
UNKNOWN_EMOJI: Final = 10014  # on taking one away: it is not there
PATH: Final = "/channels/{channel_id}/messages/{message_id}/reactions/{emoji}/@me"


class Reactions:
    """Puts one emoji on a message, and knows which one to take away.

    Args:
        usual: What was put where this process did not do it.
    """

    def __init__(self, rest: Rest, *, usual: str | None) -> None:
        self._rest = rest
        self._usual = usual
        self._put: OrderedDict[str, str] = OrderedDict()

    async def react(self, address: Address, platform_id: str, emoji: str | None) -> None:
        """See `ChannelAdapter.react`; what is no message (a command, a press) has none."""
        if not platform_id.isdecimal():
            return
        if emoji is None:
            await self._take_away(address, platform_id)
            return
        await self._rest.call("react", _route("PUT", address, platform_id, emoji))
        self._put[platform_id] = emoji
        if len(self._put) > MOST:
            self._put.popitem(last=False)

    async def _take_away(self, address: Address, platform_id: str) -> None:
        emoji = self._put.pop(platform_id, self._usual)
        if emoji is None:
            return
        try:
            await self._rest.call("unreact", _route("DELETE", address, platform_id, emoji))
        except Refused as error:
            if error.code != UNKNOWN_EMOJI:
                raise


def _route(method: str, address: Address, message: str, emoji: str) -> Route:
    return Route(method, PATH, channel_id=channel_id(address), message_id=message, emoji=emoji)
