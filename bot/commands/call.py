"""What a command's handler gets and gives."""

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import TypeAlias

import msgspec

from bot.commands.spec import CommandSpec
from bot.messages import Button, EndReason, Frozen, InboundMessage, SessionKey


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """A command that a person gave.

    Attributes:
        given: The arguments that were given, by name.
        is_admin: The person may use admin commands here.
        is_operator: The person may steer the bot as a whole, too.
    """

    message: InboundMessage
    given: Mapping[str, str]
    is_admin: bool = False
    is_operator: bool = False

    @property
    def chat(self) -> SessionKey:
        """The chat's own session, aliases not followed: what its other sessions belong to."""
        return self.message.address.session()

    @property
    def actor(self) -> str:
        """Who gave it, as admins are named in the settings."""
        return f"{self.message.address.channel}:{self.message.sender.id}"

    def word(self, name: str) -> str:
        """An argument; empty where it was not given."""
        return self.given.get(name, "")

    def number(self, name: str) -> int | None:
        """An argument of kind `number`."""
        return int(self.given[name]) if name in self.given else None


class Answer(Frozen, frozen=True, kw_only=True):
    """What a command says.

    Attributes:
        text: Markdown.
        reason: `error` where it was not obeyed.
        target: What an admin command was about, for the audit log; never text of a message.
    """

    text: str
    buttons: tuple[Button, ...] = ()
    reason: EndReason = "done"
    target: str | None = None


COMMAND_SECONDS = 30.0

Handler: TypeAlias = Callable[[Call], Awaitable[Answer]]
Admins: TypeAlias = Callable[[], Collection[str]]


class Command(msgspec.Struct, frozen=True):
    """A command as it is registered.

    Attributes:
        handler: `None` for those that are obeyed elsewhere, ahead of everything (`/kill`).
        is_operators: Only for those who may steer the bot as a whole, not for admins of one platform's group.
        seconds: What it gets.
    """

    spec: CommandSpec
    handler: Handler | None = None
    is_operators: bool = False
    seconds: float = COMMAND_SECONDS


def refuse(text: str) -> Answer:
    """Say that a command was not obeyed, and why."""
    return Answer(text=text, reason="error")


def ask_first(question: str, command: str, *, label: str) -> Answer:
    """Have a person confirm what can't be undone: the button gives the command that does it."""
    return Answer(
        text=f"{question}\n\nPress the button, or answer `{command}`.",
        buttons=(Button(label=label, value=command, style="danger"),),
    )
