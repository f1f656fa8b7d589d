"""Messages to Telegram: posted, changed, taken back, and shown as drafts."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from typing import Final

from telegram import (
    InlineKeyboardMarkup,
    LinkPreviewOptions,
    MessageEntity,
    ReactionTypeEmoji,
    ReplyParameters,
)
from telegram.constants import ReactionEmoji

from bot.errors import ChannelError, MessageGone, StoreError
from bot.messages import Address, Frozen
from channels.base import Content
from channels.markup.telegram import guard_pings, render
from channels.telegram.chats import Chats
from channels.telegram.client import Client
from channels.telegram.errors import ChatMoved, Unchanged, telegram_errors
from channels.telegram.keyboard import Keyboard
from channels.telegram.parse import message_name

SELECTOR: Final = "\N{VARIATION SELECTOR-16}"  # asks for the coloured form; Telegram wants some without it
REACTIONS: Final = {emoji.value.replace(SELECTOR, ""): emoji.value for emoji in ReactionEmoji}


class Text(Frozen, frozen=True, kw_only=True):
    """A text as Telegram takes it."""

    text: str
    entities: tuple[MessageEntity, ...] = ()


class Sending:
    """Carries out what delivery asks for, one call each."""

    def __init__(
        self, client: Client, chats: Chats, keyboard: Keyboard, *, link_previews: bool, allow_pings: bool
    ) -> None:
        self._bot = client.bot
        self._allow_pings = allow_pings
        self._chats = chats
        self._keyboard = keyboard
        self._previews = LinkPreviewOptions(is_disabled=not link_previews)

    async def post(self, address: Address, content: Content) -> str:
        """Post a message; gives our id of it."""
        words = put_into_text(content, allow_pings=self._allow_pings)
        keyboard = await self._keys(content)
        async with self.calls(address, "sendMessage") as chat:
            posted = await self._bot.send_message(
                chat,
                words.text,
                entities=words.entities,
                link_preview_options=self._previews,
                message_thread_id=topic(address),
                reply_parameters=_reply(content, chat),
                reply_markup=keyboard,
            )
        return message_name(posted.chat.id, posted.message_id)

    async def edit(self, address: Address, platform_id: str, content: Content) -> None:
        """Make a message look so; its buttons are those of `content`."""
        words = put_into_text(content, allow_pings=self._allow_pings)
        keyboard = await self._keys(content)
        try:
            async with self.calls(address, "editMessageText") as chat:
                await self._bot.edit_message_text(
                    words.text,
                    chat_id=chat,
                    message_id=number_of(platform_id, chat),
                    entities=words.entities,
                    link_preview_options=self._previews,
                    reply_markup=keyboard,
                )
        except Unchanged:
            return  # it looks so already

    async def delete(self, address: Address, platform_id: str) -> None:
        """Take a message back; one that is gone already is no error."""
        try:
            async with self.calls(address, "deleteMessage") as chat:
                await self._bot.delete_message(chat, number_of(platform_id, chat))
        except MessageGone:
            return  # somebody was faster

    async def preview(self, address: Address, content: Content, *, key: str) -> None:
        """Show a text that grows; Telegram takes it away after 30 s, or as the message comes."""
        words = put_into_text(content, allow_pings=self._allow_pings)
        async with self.calls(address, "sendMessageDraft") as chat:
            if not isinstance(chat, int) or not address.is_direct:
                raise ChannelError("telegram shows drafts in private chats only", permanent=True)
            await self._bot.send_message_draft(
                chat,
                draft_id(key),
                words.text,
                message_thread_id=topic(address),
                entities=words.entities,
            )

    async def type(self, address: Address) -> None:
        """Show for 5 s that we write."""
        async with self.calls(address, "sendChatAction") as chat:
            await self._bot.send_chat_action(chat, "typing", message_thread_id=topic(address))

    async def react(self, address: Address, platform_id: str, emoji: str | None) -> None:
        """Put one reaction on a message, instead of any that we had there."""
        known = REACTIONS.get(emoji.replace(SELECTOR, ""), emoji) if emoji else None
        async with self.calls(address, "setMessageReaction") as chat:
            reaction = ReactionTypeEmoji(known) if known is not None else None
            await self._bot.set_message_reaction(chat, number_of(platform_id, chat), reaction)

    @asynccontextmanager
    async def calls(self, address: Address, method: str) -> AsyncIterator[int | str]:
        """Find the chat for a call inside, and turn its errors into ours.

        Raises:
            ChannelError: Plain for a group that has moved: the next try goes to where it is.
        """
        try:
            with telegram_errors(method):
                yield self._chats.id_of(address.chat)
        except ChatMoved as error:
            await self._chats.move(address.chat, error.chat)
            raise ChannelError(str(error)) from error

    async def _keys(self, content: Content) -> InlineKeyboardMarkup | None:
        try:
            return await self._keyboard.make(content.buttons)
        except StoreError as error:
            raise ChannelError(f"telegram: a button's value can't be kept ({error})") from error


def put_into_text(content: Content, *, allow_pings: bool) -> Text:
    """Render Markdown; what has nothing to show but its signs is shown as it is."""
    rendered = None if content.is_plain else render(content.text, allow_pings=allow_pings)
    if rendered is None or not rendered.text.strip():
        return Text(text=content.text if allow_pings else guard_pings(content.text))
    entities = tuple(
        MessageEntity(one.type, one.offset, one.length, url=one.url, language=one.language)
        for one in rendered.entities
    )
    return Text(text=rendered.text, entities=entities)


def topic(address: Address) -> int | None:
    """The topic of a chat with topics."""
    return int(address.thread) if address.thread is not None else None


def number_of(platform_id: str, chat: int | str) -> int:
    """Telegram's number of a message of ours in its chat.

    Raises:
        MessageGone: It is in another chat: a group that became a supergroup has new messages.
        ChannelError: It is no message, but a press.
    """
    place, _, rest = platform_id.partition(":")
    number = rest.partition(":")[0]
    if not number.isdecimal() or not place.removeprefix("-").isdecimal():
        raise ChannelError(f"telegram: {platform_id!r} is no message", permanent=True)
    if isinstance(chat, int) and int(place) != chat:
        raise MessageGone(f"telegram: {platform_id!r} is in another chat")
    return int(number)


def draft_id(key: str) -> int:
    """A number for a draft, the same for a key; never 0, which Telegram refuses."""
    return int.from_bytes(sha256(key.encode()).digest()[:4]) // 2 + 1


def _reply(content: Content, chat: int | str) -> ReplyParameters | None:
    """What a message quotes, if it does; a press can't be quoted."""
    if not content.quotes or content.answers is None:
        return None
    try:
        return ReplyParameters(number_of(content.answers, chat), allow_sending_without_reply=True)
    except ChannelError:
        return None
