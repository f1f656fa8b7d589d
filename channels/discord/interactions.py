"""Commands and presses: taken, acknowledged within Discord's three seconds, and answered by their token."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Final

import discord

from bot.commands.spec import CommandSpec
from bot.errors import ChannelError, StoreError
from bot.messages import (
    Address,
    InboundMessage,
    MessageId,
    Role,
    Sender,
    Trigger,
    new_id,
)
from channels.base import Intake
from channels.discord.answers import COMMAND, PRESS, PRIVATE, Answers
from channels.discord.buttons import Buttons
from channels.discord.commands import command_text

log = logging.getLogger(__name__)

TAKE_SECONDS: Final = 1.8  # of the three that there are; the rest is for the way


class Interactions:
    """Serves what people did with commands and buttons; each is served by itself, not behind messages."""

    def __init__(
        self, intake: Intake, commands: Mapping[str, CommandSpec], *, answers: Answers, buttons: Buttons
    ) -> None:
        self._intake = intake
        self._commands = commands
        self._answers = answers
        self._buttons = buttons

    async def serve(self, used: discord.Interaction, address: Address) -> None:
        """Take an interaction and tell Discord; one that can't be taken is left to fail before people."""
        try:
            match used.type:
                case discord.InteractionType.application_command:
                    await self._serve_command(used, address)
                case discord.InteractionType.component:
                    await self._serve_press(used, address)
        except (StoreError, ChannelError) as error:
            log.warning("interaction not served", extra={"channel": "discord", "cause": str(error)})

    async def _serve_command(self, used: discord.Interaction, address: Address) -> None:
        data = _data(used)
        spec = self._commands.get(str(data.get("name")))
        if spec is None:
            log.warning("unknown command used", extra={"channel": "discord"})
            return
        message = parse_command(used, spec, address)
        use = self._answers.remember(message.platform_id, used.token)
        await self._take(message, partial(self._answers.defer, used.id, use))

    async def _serve_press(self, used: discord.Interaction, address: Address) -> None:
        value = await self._buttons.value(str(_data(used).get("custom_id")))
        if value is None:
            log.warning("unknown button pressed", extra={"channel": "discord"})
            return
        message = parse_press(used, value, address)
        use = self._answers.remember(message.platform_id, used.token, has_place=False)
        await self._take(message, partial(self._answers.accept, used.id, use))

    async def _take(self, message: InboundMessage, acknowledge: Callable[[], Awaitable[None]]) -> None:
        """Make a message durable, then tell Discord; where that takes long, Discord is told before."""
        take = asyncio.create_task(self._intake.take(message, is_addressed=True), name="take interaction")
        try:
            await asyncio.wait({take}, timeout=TAKE_SECONDS)
            if not take.done() or take.exception() is None:
                await _tried(acknowledge)
            await take
        finally:
            take.cancel()


async def _tried(acknowledge: Callable[[], Awaitable[None]]) -> None:
    try:
        await acknowledge()
    except ChannelError as error:
        log.warning("interaction not acknowledged", extra={"channel": "discord", "cause": str(error)})


def parse_command(used: discord.Interaction, spec: CommandSpec, address: Address) -> InboundMessage:
    """Turn a used command into a message; in a server, the answer to an admin's is for them alone."""
    values = {str(one["name"]): one.get("value", "") for one in _data(used).get("options") or ()}
    is_private = spec.is_admin and not address.is_direct
    begin = f"{PRIVATE}{used.user.id}:" if is_private else COMMAND
    return _message(
        used,
        address,
        platform_id=f"{begin}{used.id}",
        text=command_text(spec, values),
        trigger=Trigger.COMMAND,
    )


def parse_press(used: discord.Interaction, value: str, address: Address) -> InboundMessage:
    """Turn a pressed button into a message; what is said to one that only one person sees, they alone see."""
    target = str(used.message.id) if used.message is not None else None
    is_private = used.message is not None and used.message.flags.ephemeral
    begin = f"{PRIVATE}{used.user.id}:" if is_private else PRESS
    return _message(
        used,
        address,
        platform_id=f"{begin}{used.id}",
        text=value,
        trigger=Trigger.BUTTON,
        target=target,
        pressed=value,
    )


def _message(
    used: discord.Interaction,
    address: Address,
    *,
    platform_id: str,
    text: str,
    trigger: Trigger,
    target: str | None = None,
    pressed: str | None = None,
) -> InboundMessage:
    is_admin = used.guild_id is not None and used.permissions.administrator
    sender = Sender(
        id=str(used.user.id),
        name=used.user.display_name,
        role=Role.ADMIN if is_admin else Role.MEMBER,
        is_bot=used.user.bot,
    )
    return InboundMessage(
        id=MessageId(new_id()),
        platform_id=platform_id,
        address=address,
        session=address.session(),
        sender=sender,
        text=text,
        received_at=used.created_at,
        trigger=trigger,
        target=target,
        pressed=pressed,
    )


def _data(used: discord.Interaction) -> Mapping[str, Any]:  # `Any`: JSON, as the SDK has it
    return used.data or {}
