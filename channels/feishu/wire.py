"""What Feishu sends, as far as it matters here."""

import msgspec


class Wire(msgspec.Struct, frozen=True, kw_only=True):
    """Of the platform's JSON; fields that are not named are passed over."""


class Reply(Wire, frozen=True, kw_only=True):
    """Every answer of the open API; `data` is there where `code` is 0 and there is something to tell."""

    code: int
    msg: str = ""
    data: msgspec.Raw = msgspec.Raw(b"null")


class Nothing(Wire, frozen=True, kw_only=True):
    """The data of an answer of which only the code matters."""


class Token(Wire, frozen=True, kw_only=True):
    """Stands beside the code; `expire` in seconds."""

    code: int
    msg: str = ""
    tenant_access_token: str = ""
    expire: float = 0


class Bot(Wire, frozen=True, kw_only=True):
    open_id: str = ""
    app_name: str = ""


class BotInfo(Wire, frozen=True, kw_only=True):
    """Stands beside the code, in `bot`."""

    code: int
    msg: str = ""
    bot: Bot | None = None


class ClientConfig(Wire, frozen=True, kw_only=True, rename="pascal"):
    """How the server wants its socket's client to behave; `ping_interval` in seconds."""

    ping_interval: int = 120


class Endpoint(Wire, frozen=True, kw_only=True):
    """Where a socket is opened; the URL holds a ticket and is never logged."""

    url: str = msgspec.field(name="URL")
    config: ClientConfig = msgspec.field(name="ClientConfig", default_factory=ClientConfig)


class MadeMessage(Wire, frozen=True, kw_only=True):
    message_id: str


class MadeCard(Wire, frozen=True, kw_only=True):
    card_id: str


class MadeReaction(Wire, frozen=True, kw_only=True):
    reaction_id: str


class Operator(Wire, frozen=True, kw_only=True):
    operator_id: str = ""
    operator_type: str = ""


class Reaction(Wire, frozen=True, kw_only=True):
    reaction_id: str
    operator: Operator = Operator()


class Reactions(Wire, frozen=True, kw_only=True):
    items: tuple[Reaction, ...] = ()


class Image(Wire, frozen=True, kw_only=True):
    image_key: str


class File(Wire, frozen=True, kw_only=True):
    file_key: str


class Author(Wire, frozen=True, kw_only=True):
    """Who wrote a message that was looked up; for a bot, `id` is its app's."""

    id: str = ""
    sender_type: str = ""


class Found(Wire, frozen=True, kw_only=True):
    message_id: str
    sender: Author = Author()


class FoundMessages(Wire, frozen=True, kw_only=True):
    items: tuple[Found, ...] = ()


class Person(Wire, frozen=True, kw_only=True):
    name: str = ""


class FoundPerson(Wire, frozen=True, kw_only=True):
    user: Person = Person()


class Header(Wire, frozen=True, kw_only=True):
    """Of every event; `create_time` in milliseconds, for card callbacks in microseconds."""

    event_id: str
    event_type: str
    create_time: str = ""
    token: str = ""
    app_id: str = ""


class Event(Wire, frozen=True, kw_only=True):
    """An event before its kind is looked at."""

    header: Header
    event: msgspec.Raw = msgspec.Raw(b"{}")


class UserId(Wire, frozen=True, kw_only=True):
    open_id: str | None = None


class Sender(Wire, frozen=True, kw_only=True):
    sender_id: UserId | None = None
    sender_type: str = "user"


class Mention(Wire, frozen=True, kw_only=True):
    """`key` stands in the text in place of the name."""

    key: str
    id: UserId | None = None
    name: str = ""


class Message(Wire, frozen=True, kw_only=True):
    """A message; `content` is JSON in a string, times are in milliseconds."""

    message_id: str
    chat_id: str
    chat_type: str = "p2p"
    message_type: str = "text"
    content: str = "{}"
    create_time: str = ""
    update_time: str = ""
    root_id: str | None = None
    parent_id: str | None = None
    thread_id: str | None = None
    mentions: tuple[Mention, ...] = ()


class Received(Wire, frozen=True, kw_only=True):
    sender: Sender
    message: Message


class Recalled(Wire, frozen=True, kw_only=True):
    message_id: str
    chat_id: str
    recall_time: str = ""


class Action(Wire, frozen=True, kw_only=True):
    """`value` is what was put into the button (`cards.Pressed`), if it is one of ours."""

    value: msgspec.Raw = msgspec.Raw(b"{}")


class Context(Wire, frozen=True, kw_only=True):
    open_message_id: str = ""
    open_chat_id: str = ""


class CardPressed(Wire, frozen=True, kw_only=True):
    operator: UserId
    action: Action
    context: Context
