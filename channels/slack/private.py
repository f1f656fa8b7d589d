"""Answers that one person sees: to commands of admins, and to commands used where the bot is no member."""

import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

import aiohttp

from bot.errors import ChannelError
from bot.messages import Address
from channels.slack.blocks import Block
from channels.slack.client import Client
from channels.slack.errors import slack_errors
from channels.slack.wire import Posted

USES: Final = 5  # Source: docs.slack.dev, "Handling user interaction": 5 times, for 30 minutes
LIFETIME: Final = 30 * 60.0
MOST: Final = 500


@dataclass(slots=True, kw_only=True)
class Way:
    """A URL by which a command may be answered."""

    url: str
    until: float
    uses: int = USES


class Private:
    """Answers commands; the URLs do not survive a restart, `chat.postEphemeral` takes their place."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._ways: OrderedDict[str, Way] = OrderedDict()

    def remember(self, platform_id: str, url: str) -> None:
        """Keep the URL that came with a command."""
        if url:
            self._ways[platform_id] = Way(url=url, until=time.monotonic() + LIFETIME)
        while len(self._ways) > MOST:
            self._ways.popitem(last=False)

    def can_answer(self, platform_id: str | None) -> bool:
        """Whether a command can be answered by its URL."""
        way = self._ways.get(platform_id or "")
        return way is not None and way.uses > 0 and way.until > time.monotonic()

    async def whisper(
        self, address: Address, user: str, text: str, blocks: list[Block], *, answers: str | None
    ) -> None:
        """Say something that only one person sees."""
        if self.can_answer(answers):
            return await self.answer(answers or "", text, blocks, is_public=False)
        arguments = {
            "channel": address.chat,
            "user": user,
            "thread_ts": address.thread,
            "text": text,
            "blocks": blocks,
        }
        await self._client.call("chat.postEphemeral", Ephemeral, arguments)
        return None

    async def answer(self, platform_id: str, text: str, blocks: list[Block], *, is_public: bool) -> None:
        """Answer a command by its URL, in any chat.

        Raises:
            ChannelError: Any of its kinds.
        """
        way = self._ways[platform_id]
        way.uses -= 1
        body = {
            "response_type": "in_channel" if is_public else "ephemeral",
            "text": text,
            "blocks": blocks,
        }
        with slack_errors("response_url"):
            async with self._client.session.post(way.url, json=body) as response:
                await self._check(way, response)

    async def _check(self, way: Way, response: aiohttp.ClientResponse) -> None:
        if response.status == 200:
            return
        way.uses = 0
        raise ChannelError(f"slack response_url: status {response.status}")


class Ephemeral(Posted, frozen=True, kw_only=True):
    """The answer of `chat.postEphemeral`: its time stamp changes nothing afterwards."""

    ts: str = ""
    message_ts: str = ""
