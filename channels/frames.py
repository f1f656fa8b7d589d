"""The frames that the chat page and the terminal exchange with the bot, as JSON with a `type`.

A connection begins with `hello`; the bot answers with `welcome`, which holds all that is to be seen: the
newest messages, the answers that are growing, the messages that wait. After a break the client says `hello`
again, sends once more what was not `accepted`, and shows the new `welcome`: messages are recognised by
(`run`, `role`), and what it sent itself by `platform_id`, so nothing is lost and nothing stands there twice.
`docs/websocket.md` describes the protocol to those who write a client of their own.
"""

from typing import Annotated, Literal, Protocol, TypeAlias

import msgspec

from bot.messages import (
    Button,
    EndReason,
    Frozen,
    InboundMessage,
    Missed,
    RunId,
    SessionKey,
    StoredMessage,
    SystemEvent,
)

MAX_TEXT = 100_000  # characters of one message
PAGE = 50  # messages of history in one frame

ChatName: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"^[\w.-]{1,64}$")]
ClientId: TypeAlias = Annotated[str, msgspec.Meta(min_length=1, max_length=100)]


class Hello(Frozen, frozen=True, kw_only=True, tag="hello"):
    """Opens a conversation; `chat` tells conversations of one channel apart."""

    chat: ChatName = "main"
    channel: Literal["web", "terminal"] = "web"


class Send(Frozen, frozen=True, kw_only=True, tag="send"):
    """A message of the person; `id` is made by the client and stays the same when it is sent again."""

    id: ClientId
    text: str


class Older(Frozen, frozen=True, kw_only=True, tag="older"):
    """Asks for the messages before number `before`."""

    before: int


ClientFrame: TypeAlias = Hello | Send | Older


class CommandHint(Frozen, frozen=True, kw_only=True):
    """A command that the client offers while the person types `/`."""

    name: str
    help: str


class Draft(Frozen, frozen=True, kw_only=True):
    """An answer that is still growing; empty as long as the turn has said nothing."""

    run: RunId
    text: str


class Welcome(Frozen, frozen=True, kw_only=True, tag="welcome", omit_defaults=False):
    """All there is to see at this moment.

    Attributes:
        more: Older messages can be asked for.
        running: The answers that grow; what comes as `chunk` from now on goes behind their text.
        waiting: Accepted and not begun; `number` is 0 as long as a message has no place in the history.
        max_text: The longest message that is taken, in characters.
        session: Which session this is; after `/new` or `/resume` another `welcome` comes, for another one.
        is_fresh: What was shown before is to be forgotten.
    """

    bot: str
    chat: str
    messages: tuple[StoredMessage, ...]
    more: bool
    running: tuple[Draft, ...]
    waiting: tuple[StoredMessage, ...]
    commands: tuple[CommandHint, ...]
    max_text: int = MAX_TEXT
    session: SessionKey = SessionKey("")
    is_fresh: bool = False


class History(Frozen, frozen=True, kw_only=True, tag="history", omit_defaults=False):
    """An older page, oldest first."""

    messages: tuple[StoredMessage, ...]
    more: bool


class Accepted(Frozen, frozen=True, kw_only=True, tag="accepted"):
    """The message `id` is safe and will be answered.

    Attributes:
        run: The turn that answers it; unknown for one sent again long after it was accepted.
    """

    id: str
    run: RunId | None = None


class Refused(Frozen, frozen=True, kw_only=True, tag="refused"):
    """The message `id` was not taken; `text` says why."""

    id: str
    text: str


class Said(Frozen, frozen=True, kw_only=True, tag="said"):
    """Somebody's message was accepted: every window of the chat shows it; its `number` is still 0."""

    message: StoredMessage


class Grow(Frozen, frozen=True, kw_only=True, tag="chunk"):
    """More text of a running answer, or all of it anew where `replaces` is set."""

    run: RunId
    text: str
    replaces: bool = False


class Over(Frozen, frozen=True, kw_only=True, tag="end"):
    """The answer is whole: `text` is what stays; pressing a button sends its `value` as a message."""

    run: RunId
    reason: EndReason
    text: str
    reference: str | None = None
    buttons: tuple[Button, ...] = ()


class Happened(Frozen, frozen=True, kw_only=True, tag="event"):
    """What the bot does meanwhile: a system event of this session, or how many of them were missed."""

    event: SystemEvent | Missed


class Fault(Frozen, frozen=True, kw_only=True, tag="fault"):
    """A frame of the client could not be used; the connection goes on."""

    text: str


ServerFrame: TypeAlias = Welcome | History | Accepted | Refused | Said | Grow | Over | Happened | Fault

decode_client = msgspec.json.Decoder(ClientFrame).decode
decode_server = msgspec.json.Decoder(ServerFrame).decode


class Transcript(Protocol):
    """What a live channel reads of the store."""

    async def resolve(self, session: SessionKey) -> SessionKey:
        """The session that a chat's own key leads to."""

    async def recent(
        self, session: SessionKey, *, before: int | None = None, limit: int = PAGE
    ) -> list[StoredMessage]:
        """The newest messages, or the newest before a number; oldest first."""

    async def waiting(self, session: SessionKey) -> list[InboundMessage]:
        """What was accepted and has no line in the history yet, oldest first."""
