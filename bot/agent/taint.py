"""What a turn has read, and so whom it may be acting for; kept beside the turn, for gates to ask.

A source is foreign to a turn where it may not give orders to it: to the owner's turn all but the owner, to a
member's all but members. What a turn has read stays with its answer, in the history, and comes back with it.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, Literal, TypeAlias, get_args

import msgspec

from bot.messages import Frozen, InboundMessage, Role, Trigger
from bot.models.base import PromptMessage

Source: TypeAlias = Literal["owner", "member", "stranger", "web", "file", "mcp", "tool"]
Origins: TypeAlias = Iterable[tuple[Source, str]]

SOURCES: Final[tuple[Source, ...]] = get_args(Source)
MAX_ORIGIN: Final = 200  # characters
MAX_KEPT: Final = 2_000_000  # characters of results that are kept for a turn, to recognise what it repeats

_MEMBERS: Final[frozenset[Source]] = frozenset({"owner", "member"})
_TRUSTED: Final[dict[Source, frozenset[Source]]] = {
    "owner": frozenset({"owner"}),
    "member": _MEMBERS,
    "stranger": _MEMBERS,  # a stranger's own words may not make anything act, either
}
_OF_ROLES: Final[dict[Role, Source]] = {
    Role.OWNER: "owner",
    Role.ADMIN: "member",  # of a group, maybe: who may steer the bot is known elsewhere
    Role.MEMBER: "member",
    Role.GUEST: "stranger",
}


class Carried(Frozen, frozen=True, kw_only=True):
    """What a line of history, or a file, keeps of the turn that wrote it."""

    origins: tuple[tuple[Source, str], ...] = ()
    is_private: bool = False


class Taint:
    """The sources of one turn; grows only.

    Attributes:
        own: What the words of the person count as who began the turn.
        origins: Where each source came from, as it was first seen: `web` → `https://example.org/page`.
        is_private: Something that belongs to a person or to the operator has been read.
        restriction: Why nothing that acts may be called any more; `None` while it may.
        mark: What closes foreign texts in this turn's prompt; made by whoever wraps the first one.
        request: What the person has written now.
        window: The prompt as it was when the turn began.
        quotable: Results whose addresses may be repeated: nobody here has put them together.
        private: Results that belong to a person or to the operator.
    """

    def __init__(self, origins: Origins = (), *, own: Source = "owner", is_private: bool = False) -> None:
        self.own: Source = own
        self.origins: dict[Source, str] = {}
        self.is_private = is_private
        self.restriction: str | None = None
        self.mark = ""
        self.request = ""
        self.window: tuple[PromptMessage, ...] = ()
        self.quotable: list[str] = []
        self.private: list[str] = []
        self._kept = 0
        for source, origin in origins:
            self.add(source, origin)

    def add(self, source: Source, origin: str = "") -> None:
        """Note that something of a source is in the window now."""
        self.origins.setdefault(source, origin[:MAX_ORIGIN])

    def restrict(self, reason: str) -> None:
        """Take away whatever acts, for the rest of the turn; the first reason stays."""
        self.restriction = self.restriction or reason

    @property
    def foreign(self) -> frozenset[Source]:
        """The sources that may not give orders to this turn."""
        return frozenset(self.origins.keys() - _TRUSTED[self.own])

    def keep(self, text: str, *, is_quotable: bool, is_private: bool) -> None:
        """Keep a result in mind; past a bound, texts are forgotten: then nothing of them may be repeated."""
        self._kept += len(text)
        if self._kept > MAX_KEPT:
            return
        if is_quotable:
            self.quotable.append(text)
        if is_private:
            self.private.append(text)

    def recall(self, carried: Iterable[Carried], person: str) -> None:
        """Take over what stands in the window since earlier turns.

        Args:
            person: Who began this turn, as `channel:id`: what they said before is as their own words now.
        """
        for one in carried:
            self.is_private = self.is_private or one.is_private
            for source, origin in one.origins:
                if origin != person:
                    self.add(source, origin)

    def carried(self) -> Carried | None:
        """What the answer keeps of this turn; `None` where there is nothing to keep."""
        origins = tuple(pair for pair in self.origins.items() if pair[0] != "owner")
        return Carried(origins=origins, is_private=self.is_private) if origins or self.is_private else None


def restriction(origin: str) -> str:
    """Why a turn is restricted that has read orders."""
    return f"{origin[:MAX_ORIGIN]} tries to give orders"


def source_of(message: InboundMessage) -> Source:
    """What the words of a message count as, by the role of its sender."""
    return _OF_ROLES[message.sender.role]


def person_of(message: InboundMessage) -> str:
    """Who wrote a message, as admins are named in the settings."""
    return f"{message.address.channel}:{message.sender.id}"


def carried_by(message: InboundMessage) -> Carried | None:
    """What a person's line in the history keeps: whose words they are; `None` for the owner's.

    A heartbeat's words are those of a file that only an owner, or who was permitted to, has written.
    """
    source = source_of(message)
    is_owners = source == "owner" or message.trigger is Trigger.HEARTBEAT
    return None if is_owners else Carried(origins=((source, person_of(message)),))


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Carried).decode


def encode_carried(carried: Carried | None) -> str:
    """As the store keeps it; empty for nothing."""
    return "" if carried is None else _encode(carried).decode()


def decode_carried(text: str) -> Carried | None:
    """What `encode_carried` gave.

    Raises:
        msgspec.DecodeError: It is something else.
    """
    return _decode(text) if text else None


_current: ContextVar[Taint | None] = ContextVar("taint", default=None)


def taint() -> Taint:
    """That of the running turn.

    Raises:
        RuntimeError: No turn runs here.
    """
    current = _current.get()
    if current is None:
        raise RuntimeError("no turn runs here, so nothing is known of what it has read")
    return current


def known_taint() -> Taint | None:
    """That of the running turn; `None` where no turn runs."""
    return _current.get()


@contextmanager
def tainted(turn: Taint) -> Iterator[Taint]:
    """Let `taint` give this one within; tasks that begin within share it."""
    token = _current.set(turn)
    try:
        yield turn
    finally:
        _current.reset(token)
