"""Reactions: Feishu has names for emoji, and takes one away by the id of the reaction."""

from collections import OrderedDict
from typing import Final

from bot.errors import ChannelError, MessageGone
from channels.feishu.api import Api
from channels.feishu.wire import MadeReaction, Nothing, Reactions

MAX_KNOWN: Final = 1_000

# Source: open.feishu.cn, im-v1/message-reaction, "Emoji types".
NAMES: Final = {
    "👀": "GLANCE",
    "👍": "THUMBSUP",
    "👎": "ThumbsDown",
    "👌": "OK",
    "👏": "APPLAUSE",
    "🙏": "THANKS",
    "💪": "MUSCLE",
    "❤": "HEART",
    "🎉": "PARTY",
    "🔥": "Fire",
    "🤔": "THINKING",
    "😂": "LOL",
    "😊": "SMILE",
    "✅": "DONE",
    "✔": "CheckMark",
    "❌": "CrossMark",
    "⌛": "Typing",
    "⏳": "Typing",
    "✍": "Typing",
}


def name_of(emoji: str) -> str:
    """Feishu's name of an emoji; a name is passed on as it is.

    Raises:
        ChannelError: It has none (permanent).
    """
    bare = emoji.replace("\N{VARIATION SELECTOR-16}", "")
    if bare.isascii() and bare.isalnum():
        return bare
    if bare not in NAMES:
        raise ChannelError(f"feishu has no reaction {emoji!r}", permanent=True)
    return NAMES[bare]


class ReactionKeeper:
    """Puts our one reaction on a message, and finds it again to take it away."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._known: OrderedDict[str, str] = OrderedDict()

    async def react(self, message: str, emoji: str | None) -> None:
        """Put a reaction on a message in place of the one before; `None` takes that away."""
        name = name_of(emoji) if emoji is not None else None
        await self._take_away(message, only_known=name is not None)
        if name is None:
            return
        body = {"reaction_type": {"emoji_type": name}}
        made = await self._api.call("POST", f"/im/v1/messages/{message}/reactions", MadeReaction, body=body)
        self._known[message] = made.reaction_id
        while len(self._known) > MAX_KNOWN:
            self._known.popitem(last=False)

    async def _take_away(self, message: str, *, only_known: bool) -> None:
        known = self._known.pop(message, None)
        path = f"/im/v1/messages/{message}/reactions"
        try:
            reactions = [known] if known is not None else [] if only_known else await self._find(path)
            for reaction in reactions:
                await self._api.call("DELETE", f"{path}/{reaction}", Nothing)
        except MessageGone:
            return

    async def _find(self, path: str) -> list[str]:
        """Our reactions on a message, as an earlier process has left them."""
        found = await self._api.call("GET", path, Reactions)
        ours = (one for one in found.items if one.operator.operator_id == self._api.app_id)
        return [one.reaction_id for one in ours]
