"""From an update to the intake: read, put together with its album, and taken in the order it came."""

import asyncio
import logging
from collections.abc import Iterable
from contextlib import AbstractAsyncContextManager
from typing import Final

import msgspec
from msgspec.structs import replace

from bot.commands.spec import CommandSpec
from bot.errors import BotError, ChannelError
from channels.base import Intake, State
from channels.telegram.albums import Albums
from channels.telegram.chats import Chats
from channels.telegram.client import Client
from channels.telegram.errors import telegram_errors
from channels.telegram.keyboard import Keyboard
from channels.telegram.menu import native_names
from channels.telegram.parse import Heard, Scope, parse_album, parse_update
from channels.telegram.text import Me
from channels.telegram.wire import Update

log = logging.getLogger(__name__)

PRESS_SECONDS: Final = 5.0  # for telling Telegram that a press was heard


class Hearing:
    """Takes updates; when `take` returns, what one held is durable."""

    def __init__(
        self,
        intake: Intake,
        client: Client,
        *,
        account: str,
        commands: Iterable[CommandSpec],
        state: State,
        chats: Chats,
        keyboard: Keyboard,
    ) -> None:
        self._intake = intake
        self._client = client
        self._account = account
        self._commands = native_names(commands)
        self._chats = chats
        self._keyboard = keyboard
        self._albums = Albums(state, self._take_album)
        self._scope: Scope | None = None
        self._turn = asyncio.Lock()  # webhooks come side by side

    async def open(self, me: Me) -> None:
        """Learn who we are, and what was left from before a restart."""
        self._scope = Scope(account=self._account, me=me, commands=self._commands)
        await self._albums.load()

    def watching(self) -> AbstractAsyncContextManager[None]:
        """Take albums when they are whole; as long as anything is heard."""
        return self._albums.watched()

    async def take(self, raw: object) -> None:
        """Take an update as it is on the wire; one that makes no sense is told of and passed over.

        Raises:
            StoreError: It could not be made durable.
        """
        try:
            update = msgspec.convert(raw, Update)
        except msgspec.ValidationError as error:
            log.warning("update not understood", extra={"channel": "telegram", "cause": str(error)})
            return
        async with self._turn:
            try:
                await self._take(update)
            except BotError:
                raise
            except Exception:  # one that breaks us must not come again and again
                log.exception("update not taken", extra={"channel": "telegram", "update": update.update_id})

    async def _take(self, update: Update) -> None:
        scope, message = self._known(), update.message
        if message is not None and message.media_group_id is not None:
            await self._albums.add(update)
            return
        if message is not None:
            await self._albums.end(message.chat.id)
            if message.migrate_to_chat_id is not None:
                await self._chats.move(str(message.chat.id), message.migrate_to_chat_id)
        await self._hand_over(parse_update(update, scope))

    async def _take_album(self, updates: tuple[Update, ...]) -> None:
        await self._hand_over(parse_album(updates, self._known()))

    async def _hand_over(self, heard: Heard | None) -> None:
        if heard is None:
            return
        message = heard.message
        if message.pressed is not None:
            value = await self._keyboard.value_of(message.pressed)
            message = replace(message, text=value, pressed=value)
        await self._intake.take(message, is_addressed=heard.is_addressed)
        if heard.press is not None:
            await self._answer_press(heard.press)

    async def _answer_press(self, press: str) -> None:
        """End the waiting that the button shows; too late for one is no loss."""
        try:
            async with asyncio.timeout(PRESS_SECONDS):
                with telegram_errors("answerCallbackQuery"):
                    await self._client.bot.answer_callback_query(press)
        except (ChannelError, TimeoutError) as error:
            log.debug("press not answered", extra={"channel": "telegram", "cause": str(error)})

    def _known(self) -> Scope:
        if self._scope is None:
            raise ChannelError("telegram: not signed in yet")
        return self._scope
