"""Feishu's events, as inbound messages."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Final

import msgspec

from bot.messages import (
    Address,
    Frozen,
    InboundMessage,
    Kind,
    MessageId,
    Sender,
    Trigger,
    new_id,
    utc_now,
)
from channels.feishu.text import read_content
from channels.feishu.wire import CardPressed, Event, Message, Recalled, Received, Wire

CHANNEL: Final = "feishu"
RECEIVED: Final = "im.message.receive_v1"
UPDATED: Final = "im.message.updated_v1"
RECALLED: Final = "im.message.recalled_v1"
PRESSED: Final = "card.action.trigger"


class Me(Frozen, frozen=True, kw_only=True):
    """Our own account: `name` among ours; `bot` is its open id, `app` its app's."""

    name: str
    bot: str
    app: str


class Heard(Frozen, frozen=True, kw_only=True):
    """A message for the intake.

    Attributes:
        parent: In a group, where the bot was not mentioned: the message that was replied to; is it ours?
    """

    message: InboundMessage
    is_addressed: bool
    parent: str | None = None


class PressValue(Wire, frozen=True, kw_only=True):
    """What our buttons hold: what they stand for, and where they are, which Feishu does not say."""

    value: str
    thread: str | None = None
    is_direct: bool = False


class Scope(Frozen, frozen=True, kw_only=True):
    """What is known beside an event.

    Attributes:
        places: Where recent messages were said, by their id.
    """

    me: Me
    places: Mapping[str, Address]


def read_event(payload: bytes) -> Event:
    """Read an event's header.

    Raises:
        msgspec.DecodeError: It is none of the documented form.
    """
    return msgspec.json.decode(payload, type=Event)


def parse_event(event: Event, scope: Scope) -> Heard | None:
    """Turn an event into a message, an edit, a deletion or a press; `None` where nobody else did anything.

    Raises:
        msgspec.DecodeError: It is not of the documented form.
    """
    parse = PARSERS.get(event.header.event_type)
    return parse(event, scope) if parse is not None else None


def at(millis: str) -> datetime:
    """When something happened; Feishu counts in milliseconds, in card callbacks in microseconds."""
    if not millis.isdecimal():
        return utc_now()
    number = int(millis)
    seconds = number / 1e6 if number > 10**14 else number / 1e3
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return utc_now()


def _said(event: Event, scope: Scope) -> Heard | None:
    received = msgspec.json.decode(event.event, type=Received)
    message, sender = received.message, _sender(received)
    if sender.id in (scope.me.bot, scope.me.app) or message.message_type == "system":
        return None
    address = _address(message, scope.me)
    is_edit = event.header.event_type == UPDATED
    said = read_content(message, me=scope.me.bot)
    named = tuple(one.id.open_id for one in message.mentions if one.id is not None and one.id.open_id)
    is_mentioned = scope.me.bot in named
    heard = InboundMessage(
        id=MessageId(new_id()),
        platform_id=event.header.event_id if is_edit else message.message_id,
        address=address,
        session=address.session(),
        sender=sender,
        text=said.text,
        received_at=at((is_edit and message.update_time) or message.create_time),
        kind=Kind.EDIT if is_edit else Kind.MESSAGE,
        reply_to=message.parent_id or None,
        target=message.message_id if is_edit else None,
        mentions=named,
        attachments=said.attachments,
    )
    is_addressed = address.is_direct or is_mentioned
    return Heard(
        message=heard,
        is_addressed=is_addressed,
        parent=None if is_addressed else message.parent_id or None,
    )


def _address(message: Message, me: Me) -> Address:
    """Where a message was said; a thread goes by the message at its root.

    That is what a reply into the thread needs, and every message in the thread names it.
    Source: open.feishu.cn, im-v1/message/intro: `root_id` and `parent_id` in a thread.
    """
    return Address(
        channel=CHANNEL,
        account=me.name,
        chat=message.chat_id,
        thread=(message.root_id or message.message_id) if message.thread_id else None,
        is_direct=message.chat_type == "p2p",
    )


def _sender(received: Received) -> Sender:
    who = received.sender.sender_id
    return Sender(id=(who.open_id if who else None) or "", is_bot=received.sender.sender_type != "user")


def _recalled(event: Event, scope: Scope) -> Heard:
    recalled = msgspec.json.decode(event.event, type=Recalled)
    unknown = Address(channel=CHANNEL, account=scope.me.name, chat=recalled.chat_id, is_direct=False)
    address = scope.places.get(recalled.message_id, unknown)
    message = InboundMessage(
        id=MessageId(new_id()),
        platform_id=event.header.event_id,
        address=address,
        session=address.session(),
        sender=Sender(id=""),
        text="",
        received_at=at(recalled.recall_time or event.header.create_time),
        kind=Kind.DELETE,
        target=recalled.message_id,
    )
    return Heard(message=message, is_addressed=address.is_direct)


def _pressed(event: Event, scope: Scope) -> Heard | None:
    """A press of a button; `None` for one that another program has put there."""
    pressed = msgspec.json.decode(event.event, type=CardPressed)
    try:
        press = msgspec.json.decode(pressed.action.value, type=PressValue)
    except msgspec.ValidationError:
        return None
    address = Address(
        channel=CHANNEL,
        account=scope.me.name,
        chat=pressed.context.open_chat_id,
        thread=press.thread,
        is_direct=press.is_direct,
    )
    message = InboundMessage(
        id=MessageId(new_id()),
        platform_id=event.header.event_id,
        address=address,
        session=address.session(),
        sender=Sender(id=pressed.operator.open_id or ""),
        text=press.value,
        received_at=at(event.header.create_time),
        trigger=Trigger.BUTTON,
        reply_to=pressed.context.open_message_id or None,
        pressed=press.value,
    )
    return Heard(message=message, is_addressed=True)


PARSERS: Final[Mapping[str, Callable[[Event, Scope], Heard | None]]] = {
    RECEIVED: _said,
    UPDATED: _said,
    RECALLED: _recalled,
    PRESSED: _pressed,
}
