"""The frames that the chat page and the terminal exchange with the bot, as JSON with a `type`.

A connection begins with `hello`; the bot answers with `welcome`, which holds all that is to be seen: the
newest messages, the answers that are growing, the messages that wait. After a break the client says `hello`
again, sends once more what was not `accepted`, and shows the new `welcome`: messages are recognised by
(`run`, `role`), and what it sent itself by `platform_id`, so nothing is lost and nothing stands there twice.
`docs/websocket.md` describes the protocol to those who write a client of their own.
"""

from typing import Literal, Protocol, TypeAlias

import msgspec

from bot.messages import (
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


class Hello(Frozen, frozen=True, kw_only=True, tag="hello"):
    """Opens a conversation; `chat` tells conversations of one channel apart."""

    chat: str = "main"
    channel: Literal["web", "terminal"] = "web"


class Send(Frozen, frozen=True, kw_only=True, tag="send"):
    """A message of the person; `id` is made by the client and stays the same when it is sent again."""

    id: str
    text: str


class Older(Frozen, frozen=True, kw_only=True, tag="older"):
    """Asks for the messages before number `before`."""

    before: int


ClientFrame: TypeAlias = Hello | Send | Older


class Draft(Frozen, frozen=True, kw_only=True):
    """An answer that is still growing."""

    run: RunId
    text: str


class Welcome(Frozen, frozen=True, kw_only=True, tag="welcome", omit_defaults=False):
    """All there is to see at this moment; `more` says that older messages can be asked for."""

    bot: str
    chat: str
    messages: tuple[StoredMessage, ...]
    more: bool
    running: tuple[Draft, ...]
    waiting: tuple[StoredMessage, ...]


class History(Frozen, frozen=True, kw_only=True, tag="history", omit_defaults=False):
    """An older page, oldest first."""

    messages: tuple[StoredMessage, ...]
    more: bool


class Accepted(Frozen, frozen=True, kw_only=True, tag="accepted"):
    """The message `id` is safe and will be answered; `run` is the turn that answers it."""

    id: str
    run: RunId


class Refused(Frozen, frozen=True, kw_only=True, tag="refused"):
    """The message `id` was not taken; `text` says why."""

    id: str
    text: str


class Said(Frozen, frozen=True, kw_only=True, tag="said"):
    """Somebody's message was accepted: every window of the chat shows it."""

    message: StoredMessage


class Grow(Frozen, frozen=True, kw_only=True, tag="chunk"):
    """More text of a running answer, or all of it anew where `replaces` is set."""

    run: RunId
    text: str
    replaces: bool = False


class Over(Frozen, frozen=True, kw_only=True, tag="end"):
    """The answer is whole: `text` is what stays."""

    run: RunId
    reason: EndReason
    text: str
    reference: str | None = None


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

    async def recent(
        self, session: SessionKey, *, before: int | None = None, limit: int = PAGE
    ) -> list[StoredMessage]:
        """The newest messages, or the newest before a number; oldest first."""

    async def waiting(self, session: SessionKey) -> list[InboundMessage]:
        """What was accepted and has no line in the history yet, oldest first."""
