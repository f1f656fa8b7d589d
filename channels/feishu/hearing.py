"""What is done with an event, however it came: read, handed to the intake, answered."""

import logging
from collections import OrderedDict
from typing import Final

import msgspec
from msgspec.structs import replace

from bot.messages import Address, InboundMessage, Kind, Trigger
from channels.base import Intake
from channels.feishu.parse import Heard, Me, Scope, parse_event, read_event
from channels.feishu.people import Ours, People
from channels.feishu.wire import Event

log = logging.getLogger(__name__)

MAX_PLACES: Final = 5_000  # messages whose place is remembered, for when they are taken back
TOAST: Final = {"toast": {"type": "info", "content": "OK"}}


class Hearing:
    """Hears the events of one account."""

    def __init__(self, intake: Intake, *, people: People, ours: Ours) -> None:
        self._intake = intake
        self._people = people
        self._ours = ours
        self._places: OrderedDict[str, Address] = OrderedDict()

    async def hear(self, payload: bytes, me: Me) -> object:
        """Take an event; when this returns, it may be confirmed with what is returned.

        What can't be read is logged and confirmed: it would be the same when it came again.

        Raises:
            StoreError: It could not be made durable.
        """
        try:
            event = read_event(payload)
            heard = parse_event(event, Scope(me=me, places=self._places))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            log.error("event not understood", extra={"cause": str(error)})
            return None
        return await self._take(event, heard) if heard is not None else None

    async def _take(self, event: Event, heard: Heard) -> object:
        message, is_addressed = heard.message, heard.is_addressed
        if message.kind is Kind.DELETE and self._ours.is_known(message.target or ""):
            return None
        if heard.parent is not None:
            is_addressed = await self._ours.is_ours(heard.parent)
        await self._intake.take(await self._named(message), is_addressed=is_addressed)
        self._note_place(message)
        log.debug("event taken", extra={"event": event.header.event_id, "kind": message.kind})
        return TOAST if message.trigger is Trigger.BUTTON else None

    async def _named(self, message: InboundMessage) -> InboundMessage:
        """Put the sender's name in, which Feishu leaves out of its events."""
        name = await self._people.name(message.sender.id)
        return replace(message, sender=replace(message.sender, name=name)) if name else message

    def _note_place(self, message: InboundMessage) -> None:
        if message.kind is Kind.MESSAGE:
            self._places[message.platform_id] = message.address
        while len(self._places) > MAX_PLACES:
            self._places.popitem(last=False)
