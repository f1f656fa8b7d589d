"""Posts, changes and takes back messages."""

import hashlib
import logging
from typing import Final

from bot.errors import ChannelError, MessageGone
from bot.messages import Address
from channels.base import Content
from channels.feishu.api import Api
from channels.feishu.cards import card_message, card_of
from channels.feishu.people import Ours
from channels.feishu.streams import Streams
from channels.feishu.wire import MadeMessage, Nothing

log = logging.getLogger(__name__)

MESSAGE: Final = "om_"  # how the id of a message begins; that of an event does not


def message_of(platform_id: str) -> str:
    """Feishu's id of a message, from ours: that names the card in it, too, if it has grown."""
    return platform_id.partition("|")[0]


def request_id(key: str) -> str:
    """What Feishu recognises a repeated post by, for an hour; at most 50 characters."""
    return hashlib.sha256(key.encode()).hexdigest()[:40]


class Sending:
    """Sends what one account says."""

    def __init__(self, api: Api, streams: Streams, ours: Ours) -> None:
        self._api = api
        self._streams = streams
        self._ours = ours

    async def post(self, address: Address, content: Content, *, key: str) -> str:
        """Post a message; one that will grow as a card of its own, which takes 10 changes a second.

        Where a post of the same key was begun with such a card, it is gone on with: the message may be there.
        """
        request = request_id(key)
        card = known = await self._streams.made_under(request)
        if card is None and not content.is_final:
            card = await self._streams.make(content, address, key=request)
        shown = card_of(content, address) if card is None else card_message(card.partition("|")[0])
        message = await self.send(address, "interactive", shown, request=request, content=content)
        if card is None:
            return message
        if known is not None:
            await self._streams.show(card, content, address)
        return f"{message}|{card}"

    async def send(
        self, address: Address, kind: str, shown: str, *, request: str, content: Content | None = None
    ) -> str:
        """Send a message of any kind: into the thread, as a reply, or into the chat.

        Args:
            shown: The content, as JSON in a string.
            request: From `request_id`.
        """
        body: dict[str, object] = {"msg_type": kind, "content": shown, "uuid": request}
        quoted = content.answers if content is not None and content.quotes else None
        if address.thread is not None:
            message = await self._into_thread(address.thread, body)
        elif quoted is not None and quoted.startswith(MESSAGE):
            message = await self._reply(message_of(quoted), address, body)
        else:
            message = await self._create(address, body)
        self._ours.note(message)
        return message

    async def _create(self, address: Address, body: dict[str, object]) -> str:
        whole = {**body, "receive_id": address.chat}
        query = {"receive_id_type": "chat_id"}
        made = await self._api.call(
            "POST", "/im/v1/messages", MadeMessage, body=whole, query=query, scope="chat"
        )
        return made.message_id

    async def _reply(self, message: str, address: Address, body: dict[str, object]) -> str:
        """Reply; without the reply where the message was taken back meanwhile."""
        path = f"/im/v1/messages/{message}/reply"
        try:
            made = await self._api.call("POST", path, MadeMessage, body=body, scope="chat")
        except MessageGone:
            return await self._create(address, body)
        return made.message_id

    async def _into_thread(self, root: str, body: dict[str, object]) -> str:
        path, whole = f"/im/v1/messages/{root}/reply", {**body, "reply_in_thread": True}
        try:
            made = await self._api.call("POST", path, MadeMessage, body=whole, scope="chat")
        except MessageGone as error:
            raise ChannelError(f"feishu: the thread is gone ({error})", permanent=True) from error
        return made.message_id

    async def edit(self, address: Address, platform_id: str, content: Content) -> None:
        """Make a message look so."""
        message, _, card = platform_id.partition("|")
        if card:
            await self._streams.show(card, content, address)
            return
        body = {"content": card_of(content, address)}
        await self._api.call("PATCH", f"/im/v1/messages/{message}", Nothing, body=body, scope="message")

    async def delete(self, platform_id: str) -> None:
        """Take a message back, unless that has happened already."""
        try:
            await self._api.call("DELETE", f"/im/v1/messages/{message_of(platform_id)}", Nothing)
        except MessageGone:
            log.debug("message was gone already")
