"""Posts and edits, and which of Slack's methods carries them out."""

from collections import OrderedDict
from typing import Final

from bot.messages import Address
from channels.base import Content
from channels.slack.allowance import Allowance
from channels.slack.blocks import actions, body, fallback, markdown
from channels.slack.client import Client
from channels.slack.errors import Refused, StreamOpen
from channels.slack.marker import key_of, marker, recent
from channels.slack.parse import Identity, message_id, stamp_of
from channels.slack.pressed import private_to
from channels.slack.private import Private
from channels.slack.streams import Recipients, Stream, Streams
from channels.slack.wire import Done, Message, Posted

WHISPER: Final = "whisper:"  # how our id of a message begins that one person sees
ELSEWHERE: Final = frozenset({"channel_not_found", "not_in_channel"})
MOST: Final = 500
UPDATES, UPDATES_AT_ONCE = 30, 5  # of 50 updates a minute, for growth in threads


class Sending:
    """Decides by the place what a message becomes.

    * In a thread, one that still grows becomes a stream, as long as there is room for one.
    * The answer to an admin's command in a channel is whispered: only whole, as nobody can change a whisper.
    * All else is posted, and changed by `chat.update`.
    """

    def __init__(
        self,
        client: Client,
        streams: Streams,
        private: Private,
        recipients: Recipients,
        *,
        allow_pings: bool,
        link_previews: bool,
    ) -> None:
        self._client = client
        self._streams = streams
        self._private = private
        self._recipients = recipients
        self._allow_pings = allow_pings
        self._link_previews = link_previews
        self._updates = Allowance(UPDATES, UPDATES_AT_ONCE)
        self._whispered: OrderedDict[str, str] = OrderedDict()

    async def post(self, address: Address, content: Content, *, key: str) -> str:
        """Put a message into a chat; see `ChannelAdapter.post`."""
        if (user := private_to(content.answers)) is not None:
            return await self._whisper(address, content, f"{WHISPER}{user}:{key}")
        if not content.is_final and not content.is_plain:
            started = await self._start(address, content, key)
            if started is not None:
                return started
        return await self._post(address, content, key)

    async def edit(self, address: Address, platform_id: str, content: Content) -> None:
        """Let a message look so; see `ChannelAdapter.edit`. Growth is left out where calls run short."""
        if platform_id.startswith(WHISPER):
            await self._whisper(address, content, platform_id)
            return
        stream = self._streams.get(platform_id)
        if stream is not None and await self._continue(stream, content):
            return
        if content.is_final or address.thread is None:
            self._updates.spend()
        elif not self._updates.take():
            return
        await self._update(address, platform_id, content, stream)

    async def delete(self, address: Address, platform_id: str) -> None:
        """Take a message back; see `ChannelAdapter.delete`."""
        if platform_id.startswith(WHISPER):
            return
        stream = self._streams.get(platform_id)
        if stream is not None:
            await self._streams.finish(stream, None, [])
        try:
            await self._delete(address.chat, platform_id)
        except Refused as error:
            if error.code != "cant_delete_message":
                raise
            await self._streams.stop_unknown(address.chat, platform_id)  # open since before a restart?
            await self._delete(address.chat, platform_id)

    async def find(self, address: Address, me: Identity, *, key: str, file_id: str | None) -> str | None:
        """What was posted under a key: by its marker, its file, or as the stream that lost its answer.

        Such a stream has no marker yet. It is ours, began after the message that it answers, and is none that
        this process knows.

        Args:
            file_id: The file that was sent under the key, where one was.
        """
        tried_after = self._streams.tried(key)
        lost: str | None = None
        for message in await recent(self._client, address):
            own_id = message_id(address.chat, message.ts)
            if message.user != me.user and (message.bot_id is None or message.bot_id != me.bot):
                continue
            if key_of(message) == key:
                return own_id
            if file_id is not None and any(file.id == file_id for file in message.files or ()):
                return file_id
            if lost is None and tried_after is not None and self._is_lost(message, own_id, tried_after):
                lost = own_id
        return lost

    def _is_lost(self, message: Message, own_id: str, tried_after: str) -> bool:
        is_markless_stream = message.streaming_state is not None and key_of(message) is None
        return is_markless_stream and message.ts > tried_after and not self._streams.is_known(own_id)

    async def _start(self, address: Address, content: Content, key: str) -> str | None:
        to = self._recipients.of(address, content.answers)
        if address.thread is None or to is None or not self._streams.has_room():
            return None
        text = markdown(content, allow_pings=self._allow_pings)
        return await self._streams.start(address, text, key=key, to=to, after=content.answers)

    async def _continue(self, stream: Stream, content: Content) -> bool:
        """Go on in a stream; False where the message has to be changed in the common way."""
        text = markdown(content, allow_pings=self._allow_pings)
        if not content.is_final:
            return await self._streams.grow(stream, text)
        buttons = actions(content.buttons)
        return await self._streams.finish(stream, None if content.is_plain else text, buttons)

    async def _post(self, address: Address, content: Content, key: str) -> str:
        text, blocks = self._look(content)
        arguments = {
            "channel": address.chat,
            "thread_ts": address.thread,
            "text": text,
            "blocks": blocks,
            "mrkdwn": not content.is_plain,
            "unfurl_links": self._link_previews,
            "unfurl_media": self._link_previews,
            "metadata": marker(key),
        }
        try:
            posted = await self._client.call("chat.postMessage", Posted, arguments)
        except Refused as error:
            if error.code not in ELSEWHERE or not self._private.can_answer(content.answers):
                raise
            # A command may be used where the bot is no member; only its URL reaches there.
            await self._private.answer(content.answers or "", text, blocks, is_public=True)
            return f"{WHISPER}:{key}"
        return message_id(address.chat, posted.ts)

    async def _update(
        self, address: Address, platform_id: str, content: Content, stream: Stream | None
    ) -> None:
        text, blocks = self._look(content)
        arguments = {
            "channel": address.chat,
            "ts": stamp_of(platform_id),
            "text": text,
            "blocks": blocks,
            "metadata": marker(stream.key) if stream is not None else None,
        }
        try:
            await self._client.call("chat.update", Done, arguments)
        except StreamOpen:
            await self._streams.stop_unknown(address.chat, platform_id)
            await self._client.call("chat.update", Done, arguments)

    async def _whisper(self, address: Address, content: Content, platform_id: str) -> str:
        """Say something once that one person sees, when it is whole."""
        user = platform_id.removeprefix(WHISPER).partition(":")[0]
        if content.is_final and user and self._whispered.get(platform_id) != content.text:
            text, blocks = self._look(content)
            await self._private.whisper(address, user, text, blocks, answers=content.answers)
            self._whispered[platform_id] = content.text
            if len(self._whispered) > MOST:
                self._whispered.popitem(last=False)
        return platform_id

    async def _delete(self, chat: str, platform_id: str) -> None:
        arguments = {"channel": chat, "ts": stamp_of(platform_id)}
        await self._client.call("chat.delete", Done, arguments)

    def _look(self, content: Content) -> tuple[str, list[dict[str, object]]]:
        """The text for notifications, and the blocks."""
        allow = self._allow_pings
        return fallback(content, allow_pings=allow), body(content, allow_pings=allow)
