"""Messages, edits and deletions, as inbound messages."""

from datetime import UTC
from typing import Final, Literal

import discord

from bot.messages import (
    Address,
    Attachment,
    Frozen,
    InboundMessage,
    Kind,
    MessageId,
    Role,
    Sender,
    new_id,
    utc_now,
)
from channels.discord.text import plain_text

SPOKEN: Final = frozenset({discord.MessageType.default, discord.MessageType.reply})


class Identity(Frozen, frozen=True, kw_only=True):
    """Who we are: `name` is our name of the account, `user` Discord's id of the bot."""

    name: str
    user: int


class Heard(Frozen, frozen=True, kw_only=True):
    """A message, and whether the bot was meant."""

    message: InboundMessage
    is_addressed: bool = True


def address_of(
    channel: object, me: Identity, *, channel_id: int | None = None, in_guild: bool = True
) -> Address:
    """Where something was said; a thread is a channel of its own, inside the one it belongs to.

    Args:
        channel_id, in_guild: What is known of a channel that the SDK does not know.
    """
    if isinstance(channel, discord.Thread):
        return _address(me, str(channel.parent_id), thread=str(channel.id), is_direct=False)
    if isinstance(channel, discord.DMChannel):
        return _address(me, str(channel.id), is_direct=True)
    chat = channel_id if channel_id is not None else getattr(channel, "id", 0)
    return _address(me, str(chat), is_direct=not in_guild)


def _address(me: Identity, chat: str, *, thread: str | None = None, is_direct: bool) -> Address:
    return Address(channel="discord", account=me.name, chat=chat, thread=thread, is_direct=is_direct)


def channel_id(address: Address) -> int:
    """Discord's id of the channel or thread that an address means; 0, which none has, where it is no id."""
    place = address.thread or address.chat
    return int(place) if place.isdecimal() else 0


def parse_message(
    message: discord.Message, address: Address, me: Identity, *, role: Role | None = None
) -> Heard | None:
    """Turn a message into ours; `None` for our own, and for what no person said.

    Args:
        role: Of its author, where the message does not tell of it.
    """
    if message.author.id == me.user or message.type not in SPOKEN:
        return None
    reference = message.reference
    reply_to = str(reference.message_id) if reference is not None and reference.message_id else None
    inbound = InboundMessage(
        id=MessageId(new_id()),
        platform_id=str(message.id),
        address=address,
        session=address.session(),
        sender=_sender(message, role),
        text=text_of(message, me),
        received_at=message.created_at,
        reply_to=reply_to if message.type is discord.MessageType.reply else None,
        mentions=tuple(str(user) for user in message.raw_mentions),
        attachments=tuple(_attachment(one, message) for one in _attachments(message)),
    )
    return Heard(message=inbound, is_addressed=address.is_direct or names_us(message, me))


def parse_edit(event: discord.RawMessageUpdateEvent, address: Address, me: Identity) -> Heard | None:
    """Turn a change into an edit; `None` where people would read the same as before.

    Previews of links come as changes, too; pins and threads do. None of them touches the time of the edit.
    """
    now, before = event.message, event.cached_message
    if now.author.id == me.user or now.edited_at is None or now.type not in SPOKEN:
        return None
    if before is not None and before.content == now.content:
        return None
    message = InboundMessage(
        id=MessageId(new_id()),
        platform_id=f"{now.id}:edit:{int(now.edited_at.timestamp() * 1_000_000)}",
        address=address,
        session=address.session(),
        sender=_sender(now, None),
        text=text_of(now, me),
        received_at=now.edited_at.astimezone(UTC),
        kind=Kind.EDIT,
        target=str(now.id),
    )
    return Heard(message=message, is_addressed=address.is_direct or names_us(now, me))


def parse_deletion(message_id: int, author: str, address: Address) -> Heard:
    """Turn a deletion into ours; whose message it was Discord does not say."""
    message = InboundMessage(
        id=MessageId(new_id()),
        platform_id=f"{message_id}:deleted",
        address=address,
        session=address.session(),
        sender=Sender(id=author),
        text="",
        received_at=utc_now(),
        kind=Kind.DELETE,
        target=str(message_id),
    )
    return Heard(message=message)


def names_us(message: discord.Message, me: Identity) -> bool:
    """Whether a message mentions the bot or its role, or answers it."""
    if me.user in message.raw_mentions or any(user.id == me.user for user in message.mentions):
        return True
    role = _own_role(message)
    if role is not None and role in message.raw_role_mentions:
        return True
    answered = message.reference.resolved if message.reference is not None else None
    return isinstance(answered, discord.Message) and answered.author.id == me.user


def text_of(message: discord.Message, me: Identity) -> str:
    """What a person reads: the text, or what was forwarded, or the names of stickers."""
    role = _own_role(message)
    own = frozenset({str(me.user), *(() if role is None else (str(role),))})
    content = message.content
    if not content and message.message_snapshots:
        content = message.message_snapshots[0].content
    if not content and message.stickers:
        content = " ".join(f"[sticker: {sticker.name}]" for sticker in message.stickers)
    return plain_text(content, own=own, names=_names(message))


def _names(message: discord.Message) -> dict[str, str]:
    people = {str(user.id): f"@{user.display_name}" for user in message.mentions}
    roles = {str(role.id): f"@{role.name}" for role in message.role_mentions}
    channels = {
        str(one.id): f"#{one.name}" for one in message.channel_mentions if not isinstance(one, discord.Object)
    }
    return people | roles | channels


def _own_role(message: discord.Message) -> int | None:
    """The role that Discord made for the bot, and that people take for the bot itself."""
    role = message.guild.self_role if message.guild is not None else None
    return role.id if role is not None else None


def _sender(message: discord.Message, role: Role | None) -> Sender:
    author = message.author
    return Sender(
        id=str(author.id),
        name=author.display_name,
        role=role or role_of(author),
        is_bot=author.bot or message.webhook_id is not None,
    )


def role_of(author: discord.User | discord.Member) -> Role:
    """An administrator of a server is an admin there."""
    if isinstance(author, discord.Member) and author.guild_permissions.administrator:
        return Role.ADMIN
    return Role.MEMBER


def _attachments(message: discord.Message) -> list[discord.Attachment]:
    return [*message.attachments, *(one for part in message.message_snapshots for one in part.attachments)]


def _attachment(file: discord.Attachment, message: discord.Message) -> Attachment:
    mime = (file.content_type or "application/octet-stream").partition(";")[0]
    is_voice = message.flags.voice or file.is_voice_message()
    return Attachment(
        kind="voice" if is_voice else _file_kind(mime),
        name=file.filename,
        mime=mime,
        size=file.size,
        url=file.url,
    )


def _file_kind(mime: str) -> Literal["image", "audio", "video", "file"]:
    match mime.partition("/")[0]:
        case "image" | "audio" | "video" as kind:
            return kind
        case _:
            return "file"
