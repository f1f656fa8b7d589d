"""Slack's events, as inbound messages."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final, Literal

import msgspec

from bot.messages import Address, Attachment, Frozen, InboundMessage, Kind, MessageId, Role, Sender, new_id
from channels.slack.text import mentions, plain_text
from channels.slack.wire import AnyCallback, Event, EventCallback, File, Message

SPOKEN: Final = frozenset({None, "file_share", "thread_broadcast", "bot_message", "me_message"})
TIMESTAMP: Final = re.compile(r"\d{1,12}\.\d{1,9}")


class Identity(Frozen, frozen=True, kw_only=True):
    """Our own account: `name` among ours, `user`, `bot` and `team` as Slack knows it."""

    name: str
    user: str
    bot: str
    team: str


class Scope(Frozen, frozen=True, kw_only=True):
    """What is known beside an event.

    Attributes:
        names: What people are called, by id.
        author: What the author is called.
        role: What the author may do.
        is_joined: The bot has taken part in the thread.
    """

    me: Identity
    names: Mapping[str, str]
    author: str = ""
    role: Role = Role.MEMBER
    is_joined: bool = False


class Heard(Frozen, frozen=True, kw_only=True):
    """A message for the intake; `asker` and `team` are whom a stream that answers it is shown to."""

    message: InboundMessage
    is_addressed: bool
    asker: str | None = None
    team: str = ""


def message_id(channel: str, ts: str) -> str:
    """Our id of a message: a time stamp alone is only unique in its channel."""
    return f"{channel}:{ts}"


def stamp_of(platform_id: str) -> str:
    """The time stamp by which Slack knows a message."""
    return platform_id.partition(":")[2]


def at(ts: str) -> datetime:
    """When something happened, by its time stamp."""
    return datetime.fromtimestamp(float(ts), UTC) if TIMESTAMP.fullmatch(ts) else datetime.now(UTC)


def read_callback(payload: object) -> EventCallback | None:
    """Read an event, where it is of a kind that matters here.

    Raises:
        msgspec.ValidationError: It is not of the documented form.
    """
    peek = msgspec.convert(payload, AnyCallback)
    if peek.event is None or peek.event.type not in ("message", "app_mention"):
        return None
    return msgspec.convert(payload, EventCallback)


def subject_of(event: Event) -> Message:
    """The message that an event is about: for an edit or a deletion, the one that was changed."""
    if event.subtype == "message_changed" and event.message is not None:
        return event.message
    if event.subtype == "message_deleted" and event.previous_message is not None:
        return event.previous_message
    return event


def parse_event(callback: EventCallback, scope: Scope) -> Heard | None:
    """Turn an event into a message, an edit or a deletion; `None` where nobody else said anything."""
    event, subject = callback.event, subject_of(callback.event)
    if _is_ours(subject, scope.me):
        return None
    match kind_of(event):
        case Kind.MESSAGE:
            return _heard(callback, scope, subject, platform_id=message_id(event.channel, event.ts))
        case Kind.EDIT if subject.edited is not None:
            target = message_id(event.channel, subject.ts)
            own_id = f"{target}:edit:{subject.edited.ts}"
            return _heard(callback, scope, subject, platform_id=own_id, kind=Kind.EDIT, target=target)
        case Kind.DELETE:
            target = message_id(event.channel, event.deleted_ts or subject.ts)
            own_id = f"{target}:deleted"
            return _heard(callback, scope, subject, platform_id=own_id, kind=Kind.DELETE, target=target)
        case _:
            return None


def kind_of(event: Event) -> Literal[Kind.MESSAGE, Kind.EDIT, Kind.DELETE] | None:
    """Tell what happened; previews of links and replies count as changes of a message, but not here."""
    if event.subtype == "message_deleted":
        return Kind.DELETE
    if event.subtype != "message_changed":
        return Kind.MESSAGE if event.ts and event.subtype in SPOKEN else None
    now, before = event.message, event.previous_message
    if now is None:
        return None
    if now.subtype == "tombstone":  # it had replies, and was deleted
        return Kind.DELETE
    return Kind.EDIT if now.edited is not None and (before is None or before.text != now.text) else None


def _heard(
    callback: EventCallback,
    scope: Scope,
    subject: Message,
    *,
    platform_id: str,
    kind: Kind = Kind.MESSAGE,
    target: str | None = None,
) -> Heard:
    event, text = callback.event, subject.text or ""
    address = _address(event, scope.me)
    message = InboundMessage(
        id=MessageId(new_id()),
        platform_id=platform_id,
        address=address,
        session=address.session(),
        sender=_sender(subject, scope),
        text="" if kind is Kind.DELETE else plain_text(text, me=scope.me.user, names=scope.names),
        received_at=at(event.event_ts or event.ts),
        kind=kind,
        target=target,
        mentions=mentions(text),
        attachments=() if kind is Kind.DELETE else tuple(_attachment(file) for file in subject.files or ()),
    )
    return Heard(
        message=message,
        is_addressed=address.is_direct or _is_addressed(event, subject, scope),
        asker=subject.user,
        team=event.team or callback.team_id or scope.me.team,
    )


def _is_ours(message: Message, me: Identity) -> bool:
    return message.user == me.user or (message.bot_id is not None and message.bot_id == me.bot)


def _names_us(event: Event, me: Identity) -> bool:
    """Whether we are mentioned; for a change, whether we were in the message as it was at first."""
    if event.type == "app_mention":
        return True
    original = event.previous_message or event.message or event
    return me.user in mentions(original.text or "")


def _is_addressed(event: Event, subject: Message, scope: Scope) -> bool:
    """Whether the bot was meant: by name, or in a thread it takes part in, unless somebody else was named."""
    if _names_us(event, scope.me):
        return True
    takes_part = scope.is_joined or subject.parent_user_id == scope.me.user
    return subject.thread_ts is not None and takes_part and not mentions(subject.text or "")


def _address(event: Event, me: Identity) -> Address:
    """Where an answer goes: in a channel, what is said to us opens a thread."""
    subject, is_direct = subject_of(event), event.channel.startswith("D")
    own = event.deleted_ts or subject.ts
    thread = subject.thread_ts if subject.thread_ts != own else None
    if thread is None and not is_direct and _names_us(event, me):
        thread = own
    return Address(channel="slack", account=me.name, chat=event.channel, thread=thread, is_direct=is_direct)


def _sender(message: Message, scope: Scope) -> Sender:
    profile = message.bot_profile
    name = scope.author or message.username or (profile.name if profile is not None else None) or ""
    author = message.user or message.bot_id or ""
    is_bot = message.bot_id is not None or message.subtype == "bot_message"
    return Sender(id=author, name=name or author, role=scope.role, is_bot=is_bot)


def _attachment(file: File) -> Attachment:
    mime = file.mimetype or "application/octet-stream"
    return Attachment(
        kind=_file_kind(file, mime),
        name=file.name or file.id,
        mime=mime,
        size=file.size,
        url=file.url_private_download or file.url_private or f"slack:{file.id}",
    )


def _file_kind(file: File, mime: str) -> Literal["image", "audio", "voice", "video", "file"]:
    if file.subtype == "slack_audio":  # recorded in Slack; its container may well call itself a video
        return "voice"
    match mime.partition("/")[0]:
        case "image" | "audio" | "video" as kind:
            return kind
        case _:
            return "file"
