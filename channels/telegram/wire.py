"""What Telegram sends, as far as it is read here; fields that are not named are ignored.

Source: core.telegram.org/bots/api, "Update" and the types behind it.
"""

import msgspec


class Wire(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The base of all that comes as JSON from Telegram."""


class User(Wire, frozen=True, kw_only=True):
    """A person or a bot."""

    id: int
    is_bot: bool = False
    first_name: str = ""
    last_name: str | None = None
    username: str | None = None


class Chat(Wire, frozen=True, kw_only=True):
    """A chat; `type` is `private`, `group`, `supergroup` or `channel`."""

    id: int
    type: str = "private"
    title: str | None = None


class Entity(Wire, frozen=True, kw_only=True):
    """A part of a text that is more than text; offset and length count UTF-16 units."""

    type: str
    offset: int
    length: int
    url: str | None = None
    user: User | None = None


class File(Wire, frozen=True, kw_only=True):
    """A file of any kind; for photos, one of their sizes."""

    file_id: str
    file_name: str | None = None
    mime_type: str | None = None
    file_size: int | None = None


class Sticker(Wire, frozen=True, kw_only=True):
    """A sticker, known by the emoji it stands for."""

    emoji: str | None = None


class Location(Wire, frozen=True, kw_only=True):
    """A place on earth, in degrees."""

    latitude: float
    longitude: float


class Venue(Wire, frozen=True, kw_only=True):
    """A place with a name; its message has a location, too."""

    title: str
    address: str = ""


class Contact(Wire, frozen=True, kw_only=True):
    """An entry of an address book."""

    phone_number: str
    first_name: str = ""
    last_name: str | None = None


class TopicCreated(Wire, frozen=True, kw_only=True):
    """Stands in the first message of a topic."""


class Message(Wire, frozen=True, kw_only=True):
    """A message; one that is not accessible any more has a chat, an id and nothing else."""

    message_id: int
    chat: Chat
    date: int = 0
    edit_date: int | None = None
    author: User | None = msgspec.field(name="from", default=None)
    sender_chat: Chat | None = None
    message_thread_id: int | None = None
    is_topic_message: bool = False
    reply_to_message: "Message | None" = None
    forum_topic_created: TopicCreated | None = None
    migrate_to_chat_id: int | None = None
    media_group_id: str | None = None
    text: str | None = None
    entities: tuple[Entity, ...] = ()
    caption: str | None = None
    caption_entities: tuple[Entity, ...] = ()
    photo: tuple[File, ...] = ()
    document: File | None = None
    voice: File | None = None
    audio: File | None = None
    video: File | None = None
    video_note: File | None = None
    sticker: Sticker | None = None
    location: Location | None = None
    venue: Venue | None = None
    contact: Contact | None = None


class CallbackQuery(Wire, frozen=True, kw_only=True):
    """A button was pressed."""

    id: str
    author: User = msgspec.field(name="from")
    message: Message | None = None
    data: str | None = None


class Update(Wire, frozen=True, kw_only=True):
    """One thing that happened."""

    update_id: int
    message: Message | None = None
    edited_message: Message | None = None
    callback_query: CallbackQuery | None = None


ALLOWED_UPDATES = ("message", "edited_message", "callback_query")
