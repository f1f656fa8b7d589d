"""From a payload to the intake: who said it, whether it is for us, and taken in the order it came."""

import asyncio
import logging
from collections.abc import Iterable
from typing import Final
from weakref import WeakValueDictionary

import msgspec

from bot.commands.spec import CommandSpec
from bot.messages import Role
from channels.base import Intake
from channels.slack.forms import Forms, opens_form, parse_form
from channels.slack.parse import Heard, Identity, Scope, parse_event, read_callback, subject_of
from channels.slack.people import People
from channels.slack.pressed import parse_command, parse_press
from channels.slack.private import Private
from channels.slack.streams import Recipients
from channels.slack.text import mentions
from channels.slack.threads import Threads
from channels.slack.wire import EventCallback, Interaction, SlashCommand

log = logging.getLogger(__name__)

NOBODY: Final = ""


class Hearing:
    """Takes payloads of all kinds; when `take` returns, what it held is durable.

    Args:
        trusts_admins: Admins and owners of the workspace are admins here.
    """

    def __init__(
        self,
        intake: Intake,
        commands: Iterable[CommandSpec],
        *,
        people: People,
        threads: Threads,
        recipients: Recipients,
        private: Private,
        forms: Forms,
        trusts_admins: bool,
    ) -> None:
        self._intake = intake
        self._commands = tuple(commands)
        self._people = people
        self._threads = threads
        self._recipients = recipients
        self._private = private
        self._forms = forms
        self._trusts_admins = trusts_admins
        # Events are served side by side; a lock a chat lets those of one chat in as they came.
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def take(self, kind: str, payload: object, me: Identity) -> None:
        """Take what came; what nobody needs to know is dropped.

        Args:
            kind: As Socket Mode names its envelopes.

        Raises:
            StoreError: It could not be made durable.
        """
        try:
            wire = _read(kind, payload)
        except msgspec.ValidationError as error:  # it would be no better if it came again
            log.error("event not understood", extra={"kind": kind, "cause": str(error)})
            return
        match wire:
            case EventCallback():
                await self._take_event(wire, me)
            case Interaction():
                await self._take_press(wire, me)
            case SlashCommand():
                await self._take_command(wire, me)

    async def _take_event(self, callback: EventCallback, me: Identity) -> None:
        event, subject = callback.event, subject_of(callback.event)
        async with self._turn(event.channel):
            if subject.user == me.user:
                return
            scope = await self._scope(me, subject.user or NOBODY, named=mentions(subject.text or ""))
            joined = self._threads.knows(event.channel, subject.thread_ts)
            await self._hand_over(parse_event(callback, msgspec.structs.replace(scope, is_joined=joined)))

    async def _take_press(self, press: Interaction, me: Identity) -> None:
        if opens_form(press):
            await self._forms.open(press)
            return
        async with self._turn(press.channel.id if press.channel is not None else NOBODY):
            scope = await self._scope(me, press.user.id)
            is_form = press.type == "view_submission"
            await self._hand_over(parse_form(press, scope) if is_form else parse_press(press, scope))

    async def _take_command(self, used: SlashCommand, me: Identity) -> None:
        async with self._turn(used.channel_id):
            heard = parse_command(used, await self._scope(me, used.user_id), self._commands)
            self._private.remember(heard.message.platform_id, used.response_url)
            await self._hand_over(heard)

    async def _hand_over(self, heard: Heard | None) -> None:
        if heard is None:
            return
        self._recipients.remember(heard)
        await self._intake.take(heard.message, is_addressed=heard.is_addressed)

    async def _scope(self, me: Identity, author: str, *, named: Iterable[str] = ()) -> Scope:
        if author == NOBODY:
            return Scope(me=me, names={})
        known = await self._people.look_up(author, team=me.team)
        role = Role.ADMIN if known.is_admin and self._trusts_admins else Role.MEMBER
        return Scope(me=me, names=self._people.names(named), author=known.name, role=role)

    def _turn(self, chat: str) -> asyncio.Lock:
        lock = self._turns.get(chat)
        if lock is None:
            lock = self._turns[chat] = asyncio.Lock()
        return lock


def _read(kind: str, payload: object) -> EventCallback | Interaction | SlashCommand | None:
    match kind:
        case "events_api":
            return read_callback(payload)
        case "interactive":
            return msgspec.convert(payload, Interaction)
        case "slash_commands":
            return msgspec.convert(payload, SlashCommand)
        case _:
            return None
