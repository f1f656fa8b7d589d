"""Pressed buttons and slash commands, as inbound messages."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

from bot.commands.spec import CommandSpec
from bot.messages import Address, InboundMessage, MessageId, Sender, Trigger, new_id
from channels.slack.parse import Heard, Scope, at, message_id
from channels.slack.wire import Interaction, SlashCommand

PRIVATE: Final = "command:private:"  # how the id of a command begins whose answer only one person sees
PUBLIC: Final = "command:public:"


def parse_press(press: Interaction, scope: Scope) -> Heard | None:
    """Turn a pressed button into a message; `None` for one that opened a link, or in no chat."""
    container, action = press.container, next(iter(press.actions), None)
    if press.channel is None or container is None or action is None or not action.value:
        return None
    if press.type != "block_actions" or container.message_ts is None:
        return None
    root = press.message.thread_ts if press.message is not None else container.thread_ts
    address = Address(
        channel="slack",
        account=scope.me.name,
        chat=press.channel.id,
        thread=root if root != container.message_ts else None,
        is_direct=press.channel.id.startswith("D"),
    )
    message = InboundMessage(
        id=MessageId(new_id()),
        platform_id=f"press:{press.channel.id}:{container.message_ts}:{action.action_ts}:{press.user.id}",
        address=address,
        session=address.session(),
        sender=_sender(press.user.id, press.user.name or press.user.username, scope),
        text=action.value,
        received_at=at(action.action_ts),
        trigger=Trigger.BUTTON,
        target=message_id(press.channel.id, container.message_ts),
        pressed=action.value,
    )
    team = press.user.team_id or scope.me.team
    return Heard(message=message, is_addressed=True, asker=press.user.id, team=team)


def parse_command(used: SlashCommand, scope: Scope, commands: Iterable[CommandSpec]) -> Heard:
    """Turn a slash command into a message: `/help`, `/switchboard help` and `/switchboard What is new?`."""
    text, spec = _command_text(used, tuple(commands))
    address = Address(
        channel="slack",
        account=scope.me.name,
        chat=used.channel_id,
        is_direct=used.channel_id.startswith("D"),
    )
    is_private = spec is not None and spec.is_admin and not address.is_direct
    message = InboundMessage(
        id=MessageId(new_id()),
        platform_id=f"{PRIVATE if is_private else PUBLIC}{used.user_id}:{used.trigger_id}",
        address=address,
        session=address.session(),
        sender=_sender(used.user_id, used.user_name, scope),
        text=text,
        received_at=datetime.now(UTC),
        trigger=Trigger.COMMAND if text.startswith("/") else Trigger.MESSAGE,
    )
    return Heard(message=message, is_addressed=True, asker=used.user_id, team=used.team_id or scope.me.team)


def private_to(answers: str | None) -> str | None:
    """Who alone may see the answer to a message, by its id."""
    if answers is None or not answers.startswith(PRIVATE):
        return None
    return answers.removeprefix(PRIVATE).partition(":")[0]


def _command_text(used: SlashCommand, commands: tuple[CommandSpec, ...]) -> tuple[str, CommandSpec | None]:
    """What was typed, as our commands are written, and which one it is, if one."""
    typed = used.text.strip()
    native = {spec.native: spec.name for spec in commands if spec.native is not None}
    name = used.command.removeprefix("/")
    for line in (f"{native.get(name, name)} {typed}".strip(), typed):
        if (spec := _spec_of(line, commands)) is not None:
            return f"/{line}", spec
    return (typed or "/help"), None


def _spec_of(line: str, commands: tuple[CommandSpec, ...]) -> CommandSpec | None:
    """The command that a line begins with; of a group the first, where the second word fits none."""
    words = line.split()
    for spec in commands:
        name = spec.name.split()
        if words[: len(name)] == name:
            return spec
    return next((spec for spec in commands if words[:1] == spec.name.split()[:1]), None)


def _sender(user: str, name: str | None, scope: Scope) -> Sender:
    return Sender(id=user, name=scope.author or name or user, role=scope.role)
