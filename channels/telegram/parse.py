"""From Telegram's updates to messages; pure, but for ids of ours and the clock."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, Literal

from msgspec.structs import replace

from bot.messages import (
    Address,
    Attachment,
    Frozen,
    InboundMessage,
    Kind,
    MessageId,
    Sender,
    Trigger,
    new_id,
    utc_now,
)
from channels.telegram.text import Me, Words, read_text
from channels.telegram.wire import CallbackQuery, File, Message, Update, User

FileKind = Literal["image", "audio", "voice", "video", "file"]

PRESS: Final = "press:"  # how the id of a press begins, which is no message
OTHERS: Final = frozenset({777000})  # Telegram itself, as it forwards from a channel to its group


class Scope(Frozen, frozen=True, kw_only=True):
    """What is to be known for reading an update.

    Attributes:
        account: Our name of the account.
        commands: Our names of commands, by the names in Telegram's menu.
    """

    account: str
    me: Me
    commands: Mapping[str, str]


class Heard(Frozen, frozen=True, kw_only=True):
    """A message, whether it is for us, and the press that waits for our word."""

    message: InboundMessage
    is_addressed: bool
    press: str | None = None


def message_name(chat: int, message: int) -> str:
    """Our id of a message: Telegram numbers those of each chat on their own."""
    return f"{chat}:{message}"


def parse_update(update: Update, scope: Scope) -> Heard | None:
    """Turn an update into a message; `None` for one that nobody needs to know of."""
    if update.callback_query is not None:
        return _parse_press(update.callback_query, scope)
    if update.message is not None:
        return _parse_message(update.message, scope)
    if update.edited_message is not None:
        return _parse_edit(update.edited_message, update.update_id, scope)
    return None


def parse_album(updates: Sequence[Update], scope: Scope) -> Heard | None:
    """Turn the parts of an album, in order, into one message under the id of the first."""
    parts = [heard for update in updates if (heard := parse_update(update, scope)) is not None]
    if not parts:
        return None
    messages = [part.message for part in parts]
    whole = replace(
        messages[0],
        text="\n".join(message.text for message in messages if message.text),
        attachments=tuple(file for message in messages for file in message.attachments),
        mentions=tuple(dict.fromkeys(name for message in messages for name in message.mentions)),
    )
    return Heard(message=whole, is_addressed=any(part.is_addressed for part in parts))


def _parse_message(said: Message, scope: Scope) -> Heard | None:
    author = said.author
    if author is None or author.id == scope.me.id:
        return None
    words, files = _words(said, scope.me), tuple(_attachments(said))
    if not words.text and not files:
        return None  # somebody came, left, pinned something
    address = _address(said, scope)
    if words.bot is not None and not address.is_direct and not _is_me(words.bot, scope.me):
        return None  # another bot's command
    known = scope.commands.get((words.command or "").removeprefix("/").lower())
    text = words.text if known is None else f"/{known}{words.text.removeprefix(words.command or '')}"
    message = InboundMessage(
        id=MessageId(new_id()),
        platform_id=message_name(said.chat.id, said.message_id),
        address=address,
        session=address.session(),
        sender=_sender(said, author),
        text=text,
        received_at=datetime.fromtimestamp(said.date, UTC),
        trigger=Trigger.MESSAGE if known is None else Trigger.COMMAND,
        reply_to=_answered(said),
        mentions=words.mentions,
        attachments=files,
    )
    return Heard(message=message, is_addressed=_is_addressed(said, words, message, scope.me))


def _parse_edit(said: Message, update_id: int, scope: Scope) -> Heard | None:
    """Two edits may fall into one second, so the number of the update is in the id."""
    heard = _parse_message(said, scope)
    if heard is None:
        return None
    target = heard.message.platform_id
    edit = replace(
        heard.message,
        kind=Kind.EDIT,
        platform_id=f"{target}:{update_id}",
        target=target,
        received_at=datetime.fromtimestamp(said.edit_date or said.date, UTC),
    )
    return replace(heard, message=edit)


def _parse_press(press: CallbackQuery, scope: Scope) -> Heard | None:
    if press.message is None or press.data is None:
        return None
    address = _address(press.message, scope)
    message = InboundMessage(
        id=MessageId(new_id()),
        platform_id=PRESS + press.id,
        address=address,
        session=address.session(),
        sender=Sender(id=str(press.author.id), name=_full_name(press.author), is_bot=press.author.is_bot),
        text=press.data,
        received_at=utc_now(),
        trigger=Trigger.BUTTON,
        target=message_name(press.message.chat.id, press.message.message_id),
        pressed=press.data,
    )
    return Heard(message=message, is_addressed=True, press=press.id)


def _words(said: Message, me: Me) -> Words:
    if said.text is not None:
        return read_text(said.text, said.entities, me)
    if said.caption is not None:
        return read_text(said.caption, said.caption_entities, me)
    return Words(text=_in_words(said))


def _in_words(said: Message) -> str:
    """What a message without a text says."""
    if said.sticker is not None:
        return said.sticker.emoji or "[sticker]"
    if said.contact is not None:
        name = " ".join(part for part in (said.contact.first_name, said.contact.last_name) if part)
        return f"[contact: {name}, {said.contact.phone_number}]"
    if said.location is not None:
        place = f"{said.location.latitude}, {said.location.longitude}"
        name = f"{said.venue.title}, {said.venue.address}, " if said.venue is not None else ""
        return f"[location: {name}{place}]"
    return ""


def _address(said: Message, scope: Scope) -> Address:
    has_topic = said.is_topic_message and said.message_thread_id is not None
    return Address(
        channel="telegram",
        account=scope.account,
        chat=str(said.chat.id),
        thread=str(said.message_thread_id) if has_topic else None,
        is_direct=said.chat.type == "private",
    )


def _sender(said: Message, author: User) -> Sender:
    """Who speaks: a person, a bot, or a chat (an admin without a name, a channel)."""
    chat = said.sender_chat
    if chat is not None and (author.is_bot or author.id in OTHERS):
        return Sender(id=str(chat.id), name=chat.title or "")
    return Sender(id=str(author.id), name=_full_name(author), is_bot=author.is_bot)


def _full_name(user: User) -> str:
    name = " ".join(part for part in (user.first_name, user.last_name) if part)
    return name or user.username or ""


def _replied(said: Message) -> Message | None:
    """The message that this one replies to; in a topic, all that is said replies to its first one."""
    replied = said.reply_to_message
    if replied is None or replied.forum_topic_created is not None:
        return None
    return None if said.is_topic_message and replied.message_id == said.message_thread_id else replied


def _answered(said: Message) -> str | None:
    replied = _replied(said)
    return message_name(replied.chat.id, replied.message_id) if replied is not None else None


def _is_addressed(said: Message, words: Words, message: InboundMessage, me: Me) -> bool:
    replied = _replied(said)
    return (
        message.is_direct
        or message.trigger is Trigger.COMMAND
        or (words.bot is not None and _is_me(words.bot, me))
        or str(me.id) in words.mentions
        or (replied is not None and replied.author is not None and replied.author.id == me.id)
    )


def _is_me(name: str, me: Me) -> bool:
    return name.casefold() == me.username.casefold()


def _attachments(said: Message) -> list[Attachment]:
    if said.photo:
        largest = max(said.photo, key=lambda size: size.file_size or 0)
        return [_attachment("image", largest, "photo.jpg", "image/jpeg")]
    if said.document is not None:
        mime = said.document.mime_type or "application/octet-stream"
        return [_attachment(_kind_of(mime), said.document, "file", mime)]
    if said.voice is not None:
        return [_attachment("voice", said.voice, "voice.ogg", "audio/ogg")]
    if said.audio is not None:
        return [_attachment("audio", said.audio, "audio.mp3", "audio/mpeg")]
    if said.video is not None:
        return [_attachment("video", said.video, "video.mp4", "video/mp4")]
    if said.video_note is not None:
        return [_attachment("video", said.video_note, "video_note.mp4", "video/mp4")]
    return []


def _attachment(kind: FileKind, file: File, name: str, mime: str) -> Attachment:
    return Attachment(
        kind=kind,
        name=file.file_name or name,
        mime=file.mime_type or mime,
        size=file.file_size,
        url=file.file_id,
    )


def _kind_of(mime: str) -> FileKind:
    match mime.partition("/")[0]:
        case "image":
            return "image"
        case "audio":
            return "audio"
        case "video":
            return "video"
        case _:
            return "file"
