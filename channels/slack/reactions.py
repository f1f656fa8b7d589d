"""Emoji as Slack calls them, and ours on messages."""

import re
from collections import OrderedDict
from typing import Final

from bot.errors import ChannelError
from channels.slack.client import Client
from channels.slack.errors import Refused
from channels.slack.parse import stamp_of
from channels.slack.wire import Done

NAMES: Final = {
    "\N{EYES}": "eyes",
    "\N{THUMBS UP SIGN}": "thumbsup",
    "\N{THUMBS DOWN SIGN}": "thumbsdown",
    "\N{HOURGLASS}": "hourglass",
    "\N{HOURGLASS WITH FLOWING SAND}": "hourglass_flowing_sand",
    "\N{WHITE HEAVY CHECK MARK}": "white_check_mark",
    "\N{HEAVY CHECK MARK}": "heavy_check_mark",
    "\N{CROSS MARK}": "x",
    "\N{WARNING SIGN}": "warning",
    "\N{OCTAGONAL SIGN}": "octagonal_sign",
    "\N{BLACK QUESTION MARK ORNAMENT}": "question",
    "\N{THINKING FACE}": "thinking_face",
    "\N{PARTY POPPER}": "tada",
    "\N{FIRE}": "fire",
    "\N{ROCKET}": "rocket",
    "\N{HEAVY BLACK HEART}": "heart",
    "\N{HUNDRED POINTS SYMBOL}": "100",
    "\N{PERSON WITH FOLDED HANDS}": "pray",
    "\N{CLAPPING HANDS SIGN}": "clap",
    "\N{HIGH VOLTAGE SIGN}": "zap",
    "\N{WRITING HAND}": "writing_hand",
    "\N{ROBOT FACE}": "robot_face",
    "\N{WAVING HAND SIGN}": "wave",
    "\N{SPEECH BALLOON}": "speech_balloon",
}
NAME: Final = re.compile(r"[a-z0-9_+'-]+")
MOST: Final = 1_000


def emoji_name(emoji: str) -> str:
    """Slack's name of an emoji; a name itself may stand in colons.

    Raises:
        ChannelError: It is not known here (permanent); its name in Slack would do.
    """
    bare = emoji.replace("\N{VARIATION SELECTOR-16}", "").strip(":")
    name = NAMES.get(bare, bare)
    if not NAME.fullmatch(name):
        raise ChannelError(f"slack: {emoji!r} has no name here; give its name, like `eyes`", permanent=True)
    return name


class Reactions:
    """Puts one emoji at a time on a message.

    Args:
        usual: What is taken away from a message that got its emoji before a restart.
    """

    def __init__(self, client: Client, *, usual: str | None) -> None:
        self._client = client
        self._usual = usual
        self._put: OrderedDict[str, str] = OrderedDict()

    async def react(self, chat: str, platform_id: str, emoji: str | None) -> None:
        """Let our reaction on a message be this one, or none."""
        name = emoji_name(emoji) if emoji is not None else None
        before = self._put.get(platform_id)
        if name is not None and name != before:
            await self._call("reactions.add", chat, platform_id, name, fine="already_reacted")
        if before is None and name is None and self._usual is not None:
            before = emoji_name(self._usual)
        if before is not None and before != name:
            await self._call("reactions.remove", chat, platform_id, before, fine="no_reaction")
        self._remember(platform_id, name)

    async def _call(self, method: str, chat: str, platform_id: str, name: str, *, fine: str) -> None:
        """Call a method; the refusal `fine` says that it is so already."""
        arguments = {"channel": chat, "timestamp": stamp_of(platform_id), "name": name}
        try:
            await self._client.call(method, Done, arguments)
        except Refused as error:
            if error.code != fine:
                raise

    def _remember(self, platform_id: str, name: str | None) -> None:
        self._put.pop(platform_id, None)
        if name is not None:
            self._put[platform_id] = name
        while len(self._put) > MOST:
            self._put.popitem(last=False)
