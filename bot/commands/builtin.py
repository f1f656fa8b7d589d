"""The commands that every bot has, put together."""

from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from bot.agent.next_prompt import NextPrompt
from bot.agent.queueing import RulesOf
from bot.agent.spending import Spending
from bot.commands.access import AccessCommands, AccessRules, Conversing
from bot.commands.admin import AdminCommands, ChangedSettings, Chats
from bot.commands.call import Command
from bot.commands.context import ContextCommands
from bot.commands.display import DisplayCommands
from bot.commands.engine import Engine, Operations
from bot.commands.models import Catalogue, Choices, ModelCommands
from bot.commands.queue import QueueCommands
from bot.commands.sessions import SessionCommands, Sessions
from bot.commands.spec import Argument, CommandSpec
from bot.commands.status import StatusCommands
from bot.commands.usage import Usage, UsageCommands
from bot.messages import Address


class Access(AccessRules, Protocol):
    """The access rules, and what they say of a chat."""

    def is_open(self, address: Address) -> bool: ...


class Ports(msgspec.Struct, frozen=True, kw_only=True):
    """What the built-in commands work on."""

    engine: Engine
    operations: Operations
    sessions: Sessions
    choices: Choices
    catalogue: Catalogue
    usage: Usage
    spending: Spending
    next_prompt: NextPrompt
    access: Access
    conversing: Conversing
    rules: RulesOf
    changed: ChangedSettings
    chats: Chats


def builtin_commands(ports: Ports) -> tuple[Command, ...]:
    """Every built-in command but `/help`, in the order in which the help shows them."""
    engine, sessions = ports.engine, ports.sessions
    groups: Sequence[Callable[[], tuple[Command, ...]]] = (
        SessionCommands(sessions, engine).commands,
        control_commands,
        ModelCommands(sessions, ports.choices, ports.catalogue, engine).commands,
        QueueCommands(sessions, ports.choices, ports.rules).commands,
        DisplayCommands(sessions, ports.choices).commands,
        StatusCommands(sessions, ports.choices, ports.usage, engine).commands,
        UsageCommands(sessions, ports.usage, ports.spending).commands,
        ContextCommands(sessions, ports.next_prompt).commands,
        AdminCommands(
            engine,
            ports.operations,
            changed=ports.changed,
            chats=ports.chats,
            is_open=ports.access.is_open,
        ).commands,
        AccessCommands(ports.access, ports.conversing).commands,
    )
    return tuple(command for group in groups for command in group())


def control_commands() -> tuple[Command, ...]:
    """The commands that are obeyed ahead of everything, by the loop: here for the help and the menus."""
    what = Argument(name="what", help="`all` drops the messages that wait, too", kind="rest")
    return (
        Command(
            CommandSpec(
                name="kill", help="Stop the answer that is being written", arguments=(what,), native="kill"
            )
        ),
        Command(CommandSpec(name="stop", help="The same as /kill", arguments=(what,), native="stop")),
    )
