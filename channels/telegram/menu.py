"""The commands in Telegram's menu, sent when they have changed."""

import logging
import re
from collections.abc import Iterable
from hashlib import sha256
from typing import Final

from telegram import BotCommand

from bot.commands.spec import CommandSpec
from bot.errors import BotError
from channels.base import State
from channels.telegram.client import Client
from channels.telegram.errors import telegram_errors

log = logging.getLogger(__name__)

# Source: Bot API, setMyCommands and BotCommand.
MAX_COMMANDS: Final = 100
MAX_HELP: Final = 256
NAME: Final = re.compile(r"[a-z0-9_]{1,32}")
KEPT: Final = "commands"


def native_names(commands: Iterable[CommandSpec]) -> dict[str, str]:
    """Our names of commands, by what people type here: the name in the menu, or ours where that is a word."""
    commands = tuple(commands)
    own = {spec.name: spec.name for spec in commands if " " not in spec.name}
    return own | {spec.native: spec.name for spec in commands if spec.native is not None}


async def publish(client: Client, state: State, commands: Iterable[CommandSpec]) -> None:
    """Tell Telegram the commands, unless it knows them; the bot works without a menu, too."""
    menu = [
        (spec.native, spec.help[:MAX_HELP] or spec.native)
        for spec in commands
        if spec.native is not None and NAME.fullmatch(spec.native)
    ][:MAX_COMMANDS]
    digest = sha256(repr(menu).encode()).hexdigest()
    try:
        if await state.get(KEPT) == digest:
            return
        with telegram_errors("setMyCommands"):
            await client.bot.set_my_commands([BotCommand(name, told) for name, told in menu])
        await state.put(KEPT, digest)
    except BotError as error:
        log.warning("menu of commands not sent", extra={"channel": "telegram", "cause": str(error)})
