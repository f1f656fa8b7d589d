"""The adapter: Discord, as delivery and the intake know it."""

import asyncio
import logging
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import discord
from discord.http import Route
from starlette.routing import BaseRoute

from bot.errors import ChannelError, MessageGone, StoreError
from bot.messages import Address, Attachment, utc_now
from bot.settings import DiscordSettings
from channels.base import EVERY_CALL, Capabilities, Content, Liveness, Rate, Setup
from channels.discord.answers import Answers
from channels.discord.buttons import MAX_BUTTONS, Buttons
from channels.discord.commands import native, publish
from channels.discord.errors import discord_errors
from channels.discord.files import MAX_UPLOAD, download, open_file
from channels.discord.gateway import Gateway
from channels.discord.hearing import Hearing
from channels.discord.hook import Hook, Seal
from channels.discord.interactions import Interactions
from channels.discord.parse import channel_id
from channels.discord.positions import Positions
from channels.discord.reactions import Reactions
from channels.discord.rest import Rest
from channels.discord.sending import Sending
from channels.markup.discord import measure

log = logging.getLogger(__name__)

MAX_SIZE: Final = 2_000  # Source: Discord API reference, "Create Message"
LONG_CODE: Final = 4_000  # characters of a code block; a longer one is easier to read as a file
TYPING_SECONDS: Final = 10.0
LOGIN_SECONDS: Final = 30.0
HEARD: Final = frozenset(
    {"message", "raw_message_edit", "raw_message_delete", "raw_bulk_message_delete", "interaction"}
)

# Source: Discord API reference, "Rate limits", for the 50 a second. Buckets are told in headers alone, and
# these are what they hold now; posts and edits have one each.
RATES: Final = (
    Rate(calls=5, seconds=5.0, kinds=("post", "upload")),
    Rate(calls=5, seconds=5.0, kinds=("edit",)),
    Rate(calls=1, seconds=0.3, kinds=("react",)),
    Rate(calls=48, seconds=1.0, scope="account", kinds=EVERY_CALL),
)


class DiscordAdapter:
    """One bot on Discord.

    Args:
        patience: Seconds without a connection after which `run` gives up.
        silence: Seconds without a word of Discord after which a socket counts as dead; its heart beats
            every 41.
    """

    name: Final = "discord"

    def __init__(
        self, setup: Setup[DiscordSettings], *, patience: float = 60.0, silence: float = 60.0
    ) -> None:
        settings = setup.settings
        self.account = setup.account
        self._setup = setup
        self._token = settings.token.get_secret_value() if settings.token is not None else ""
        self._patience = patience
        self._silence = silence
        self._liveness = Liveness(is_connected=False)
        self._presence = setup.presence
        self._gateway: Gateway | None = None
        self._commands = native(setup.commands)
        self._rest = Rest(settings.api_url, self._token)
        self._answers = Answers(self._rest)
        self._positions = Positions(setup.state, setup.account)
        self._reactions = Reactions(self._rest, usual=settings.ack_reaction)
        self.routes: Sequence[BaseRoute] = ()
        if settings.public_key is not None:
            hook = Hook(self.account, Seal(settings.public_key), take=self._take_posted)
            self.routes = (hook.route,)
        buttons = Buttons(setup.state)
        self._interactions = Interactions(
            setup.intake, self._commands, answers=self._answers, buttons=buttons
        )
        self._sending = Sending(
            self._rest,
            self._answers,
            buttons,
            allow_pings=settings.allow_pings,
            link_previews=settings.link_previews,
        )

    @property
    def liveness(self) -> Liveness:
        """How the connection is doing."""
        return self._liveness

    def capabilities_in(self, address: Address) -> Capabilities:
        """What Discord can do, the same in every chat."""
        return Capabilities(
            max_size=MAX_SIZE,
            rates=RATES,
            edits=True,
            idempotent=True,
            typing_seconds=TYPING_SECONDS,
            reactions=True,
            max_upload=MAX_UPLOAD,
            max_buttons=MAX_BUTTONS,
            long_code=LONG_CODE,
        )

    def measure(self, text: str) -> int:
        """Characters of the text as it is sent."""
        return measure(text)

    async def run(self) -> None:
        """Hear the gateway until cancelled."""
        try:
            await self._positions.load()
            async with asyncio.TaskGroup() as group:
                await self._connect(group)
        except ExceptionGroup as errors:
            cause = _cause(errors)
            self._note(False, None, cause=str(cause))
            raise cause from errors
        except StoreError as error:
            raise ChannelError(f"discord: {error}") from error
        finally:
            self._note(False, None, cause=self._liveness.cause)

    async def post(self, address: Address, content: Content, *, key: str) -> str:
        """Put a new message into a chat; gives Discord's id of it."""
        return await self._sending.post(address, content, key=key)

    async def edit(self, address: Address, platform_id: str, content: Content) -> None:
        """Make a posted message look so."""
        await self._sending.edit(address, platform_id, content)

    async def delete(self, address: Address, platform_id: str) -> None:
        """Take a posted message back."""
        try:
            await self._sending.delete(address, platform_id)
        except MessageGone:
            log.debug("message was gone already")

    async def preview(self, address: Address, content: Content, *, key: str) -> None:
        """Discord has no previews: a message that grows is edited."""
        raise ChannelError("discord has no previews", permanent=True)

    async def find(self, address: Address, *, key: str) -> str | None:
        """A post is not looked for: made again under its key, it gives the message that is there."""
        raise ChannelError("discord has no way to find posts", permanent=True)

    async def upload(self, address: Address, attachment: Attachment, *, key: str, answers: str | None) -> str:
        """Send a file; gives Discord's id of its message."""
        with await open_file(attachment) as file:
            return await self._sending.upload(address, attachment, file, key=key, answers=answers)

    async def download(self, attachment: Attachment, target: Path, *, max_bytes: int) -> None:
        """Write a file that somebody sent to `target`."""
        await download(self._rest, attachment, target, max_bytes=max_bytes)

    async def type(self, address: Address) -> None:
        """Show in a chat that we are writing."""
        route = Route("POST", "/channels/{channel_id}/typing", channel_id=channel_id(address))
        await self._rest.call("typing", route)

    async def react(self, address: Address, platform_id: str, emoji: str | None) -> None:
        """Put our reaction on a message, or take it away."""
        await self._reactions.react(address, platform_id, emoji)

    async def set_presence(self, status: str, activity: str | None) -> None:
        """Show how the bot is doing, now or as soon as it is connected."""
        self._presence = (status, activity)
        if self._gateway is not None and self._liveness.is_connected:
            await self._show_presence(self._gateway)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._rest.close()

    async def _connect(self, group: asyncio.TaskGroup) -> None:
        """Sign in, and hear until the gateway is lost; what was heard is taken in the group."""
        settings = self._setup.settings
        gateway = Gateway(
            Rest(settings.api_url, self._token),
            settings.gateway_url,
            hear=lambda event, *args: self._hear(gateway, hearing, group, event, args),
            heard=lambda: self._note(self._liveness.is_connected, utc_now()),
            patience=self._patience,
            silence=self._silence,
            status=discord.Status(self._presence[0]) if self._presence is not None else None,
        )
        hearing = Hearing(
            self._setup.intake, self._positions, self._interactions, account=self.account, group=group
        )
        self._gateway = gateway
        try:
            with discord_errors("gateway"):
                async with asyncio.timeout(LOGIN_SECONDS):
                    await gateway.login(self._token)
                self._answers.application = gateway.application_id or 0
                await gateway.connect()
        finally:
            self._gateway = None
            await gateway.close()

    def _hear(
        self,
        gateway: Gateway,
        hearing: Hearing,
        group: asyncio.TaskGroup,
        event: str,
        args: tuple[object, ...],
    ) -> None:
        match event:
            case "connect":
                hearing.catch_up(gateway)
            case "ready":
                self._note(True, utc_now())
                group.create_task(self._introduce(gateway), name="introduce")
            case "resumed":
                self._note(True, utc_now())
            case "disconnect":
                self._note(False, None)
            case _ if event in HEARD:
                hearing.hear(gateway, args[0])

    def _take_posted(self, interaction: Any) -> None:  # `Any`: JSON, as the SDK has it
        """Take an interaction that came by the hook as if the gateway had told it, which knows the chats."""
        if self._gateway is None or not self._liveness.is_connected:
            raise ChannelError("discord: not connected yet")
        self._gateway.tell(interaction)

    async def _introduce(self, gateway: Gateway) -> None:
        """Tell Discord our commands, and what we do."""
        await publish(self._rest, self._answers.application, self._setup.state, self._commands)
        try:
            await self._show_presence(gateway)
        except ChannelError as error:
            log.warning("presence not shown", extra={"channel": "discord", "cause": str(error)})

    async def _show_presence(self, gateway: Gateway) -> None:
        if self._presence is None:
            return
        status, activity = self._presence
        shown = discord.CustomActivity(name=activity) if activity else None
        with discord_errors("presence"):
            await gateway.change_presence(status=discord.Status(status), activity=shown)

    def _note(self, is_connected: bool, heard_at: datetime | None, *, cause: str | None = None) -> None:
        last = heard_at or self._liveness.last_event_at
        self._liveness = Liveness(is_connected=is_connected, last_event_at=last, cause=cause)


def _cause(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """What ended a run: the first error that says more than that something broke off."""
    found = list(_leaves(errors))
    for error in found:
        if isinstance(error, ChannelError):
            return error
    first = found[0]
    if isinstance(first, StoreError | TimeoutError):
        return ChannelError(f"discord: {first or type(first).__name__}")
    return first


def _leaves(errors: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    for error in errors.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(error)
        else:
            yield error
