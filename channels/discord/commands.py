"""Slash commands: registered with Discord when they have changed, and read when somebody uses one."""

import json
import logging
import re
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Final

from discord.http import Route

from bot.commands.spec import Argument, CommandSpec
from bot.errors import BotError
from channels.base import State
from channels.discord.rest import Rest

log = logging.getLogger(__name__)

# Source: Discord API reference, "Application Commands".
MAX_COMMANDS: Final = 100
MAX_OPTIONS: Final = 25
MAX_HELP: Final = 100
NAME: Final = re.compile(r"[-_a-z0-9]{1,32}")
STRING, INTEGER = 3, 4
ADMINISTRATOR: Final = str(1 << 3)
IN_GUILD, WITH_BOT = 0, 1
KEPT: Final = "commands"


def native(commands: Iterable[CommandSpec]) -> dict[str, CommandSpec]:
    """The commands that Discord lists, by the name it lists them under."""
    found: dict[str, CommandSpec] = {}
    for spec in commands:
        if spec.native is not None and NAME.fullmatch(spec.native) and len(found) < MAX_COMMANDS:
            found.setdefault(spec.native, spec)
    return found


async def publish(rest: Rest, application: int, state: State, commands: Mapping[str, CommandSpec]) -> None:
    """Tell Discord the commands, unless it knows them; the bot works without them, too."""
    listed = [_command(name, spec) for name, spec in commands.items()]
    digest = sha256(json.dumps([application, listed]).encode()).hexdigest()
    try:
        if await state.get(KEPT) == digest:
            return
        route = Route("PUT", "/applications/{application_id}/commands", application_id=application)
        await rest.call("register commands", route, json=listed)
        await state.put(KEPT, digest)
    except BotError as error:
        log.warning("commands not registered", extra={"channel": "discord", "cause": str(error)})


def command_text(spec: CommandSpec, values: Mapping[str, object]) -> str:
    """What somebody would have typed, with the values they gave for arguments."""
    words = [str(values[one.name.lower()]).strip() for one in spec.arguments if one.name.lower() in values]
    return " ".join([f"/{spec.name}", *words])


def _command(name: str, spec: CommandSpec) -> dict[str, object]:
    required_first = sorted(spec.arguments[:MAX_OPTIONS], key=lambda one: not one.is_required)
    return {
        "name": name,
        "description": spec.help[:MAX_HELP] or name,
        "type": 1,
        "options": [_option(argument) for argument in required_first],
        "contexts": [IN_GUILD, WITH_BOT],
        "default_member_permissions": ADMINISTRATOR if spec.is_admin else None,
    }


def _option(argument: Argument) -> dict[str, object]:
    option: dict[str, object] = {
        "name": argument.name.lower(),
        "description": argument.help[:MAX_HELP] or argument.name,
        "type": INTEGER if argument.kind == "number" else STRING,
        "required": argument.is_required,
    }
    if argument.choices and len(argument.choices) <= MAX_OPTIONS and argument.kind != "number":
        option["choices"] = [{"name": word[:100], "value": word[:100]} for word in argument.choices]
    return option
