"""Long-term memory as tools, commands and turns see it: facts, each of one person or of one group."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, Protocol, TypeAlias

from bot.agent.taint import Source, known_taint, person_of
from bot.messages import Frozen, InboundMessage, RunId, SessionKey, utc_now

How: TypeAlias = Literal["tool", "command", "learned", "raw"]

MAX_TEXT = 500  # characters of a memory


class Scope(Frozen, frozen=True, kw_only=True):
    """Whose memory it is. There is none for everybody: who has no scope gets an error.

    Attributes:
        kind: A person, in direct chats; or a group, whoever speaks there.
        key: `channel:id` of a person, or whatever names a linked one; `channel:account:chat` of a group.
    """

    kind: Literal["person", "chat"]
    key: str

    def __post_init__(self) -> None:
        if self.kind not in ("person", "chat") or not self.key.strip(": "):
            raise ValueError(f"a memory needs a person or a chat that it belongs to, not {self.key!r}")

    def __str__(self) -> str:
        return f"{self.kind}:{self.key}"


class Origin(Frozen, frozen=True, kw_only=True):
    """Where a memory comes from.

    Attributes:
        how: `learned` from what was said, `raw` where the model could make nothing of it.
        by: The person, as `channel:id`.
        run: The message.
        foreign: What the turn had read by then that may give it no orders: such a memory is not relied on.
    """

    how: How
    by: str
    run: RunId | None = None
    session: SessionKey | None = None
    foreign: tuple[Source, ...] = ()


class Fact(Frozen, frozen=True, kw_only=True):
    """Something to remember; `replaces` is the number of a memory of the same scope that it puts right."""

    text: str
    replaces: int | None = None


class Memory(Frozen, frozen=True, kw_only=True):
    """A fact as it is kept.

    Attributes:
        number: Counts the memories of the scope, from 1; is given to no other as long as the scope is known.
        previous: What it said before the last change.
    """

    scope: Scope
    number: int
    text: str
    origin: Origin
    created_at: datetime
    updated_at: datetime
    previous: str | None = None


class Found(Frozen, frozen=True, kw_only=True):
    """A memory, and how close it is to what was looked for, from 0 to 1."""

    memory: Memory
    score: float


class LongTerm(Protocol):
    """Keeps facts. No row of one scope is ever reached through another; without a scope, nothing is.

    Raises:
        ValueError: No scope was given.
        StoreError: The store could not read or write.
    """

    async def learn(self, scope: Scope, facts: Sequence[Fact], origin: Origin) -> Sequence[Memory]:
        """Keep facts; gives those that are new or have changed. What is known word for word is left out."""

    async def search(
        self, scopes: Sequence[Scope], query: str, *, limit: int, threshold: float = 0.0
    ) -> Sequence[Found]:
        """Find what is near to a text by meaning or by its words, best first."""

    async def list(self, scope: Scope, *, limit: int, before: int | None = None) -> Sequence[Memory]:
        """The newest memories, or the newest before a number; newest first."""

    async def update(self, scope: Scope, number: int, text: str, origin: Origin) -> Memory | None:
        """Let a memory say something else; `None` where the scope has none of this number."""

    async def forget(self, scope: Scope, number: int | None = None) -> int:
        """Delete one memory, or all of the scope; gives how many there were."""

    async def export(self, scope: Scope) -> Sequence[Memory]:
        """All memories, oldest first."""


class Whose(Protocol):
    """Says whose memory a message is about."""

    async def writes(self, message: InboundMessage) -> Scope:
        """Where what is said in it is kept.

        Raises:
            ValueError: It comes from nobody.
        """

    async def reads(self, message: InboundMessage) -> tuple[Scope, ...]:
        """What may be told in its answer; the first is where it `writes`."""


class Keys(Protocol):
    """Knows who is one and the same; asked in every turn, so it has to be quick."""

    def key_of(self, identity: str) -> str:
        """What the memory of a person goes by, of whom `channel:id` is one identity."""


class ByPerson:
    """Fulfils `Whose`: a person has one memory in all their direct chats, a group has its own.

    Args:
        personal_in_groups: A group gets to hear what is known of a person, while that person speaks.
    """

    def __init__(self, keys: Keys, *, personal_in_groups: bool = False) -> None:
        self._keys = keys
        self._is_open = personal_in_groups

    async def writes(self, message: InboundMessage) -> Scope:
        """See the protocol."""
        return self._sender(message) if message.is_direct else chat_of(message)

    async def reads(self, message: InboundMessage) -> tuple[Scope, ...]:
        """See the protocol."""
        own = await self.writes(message)
        is_more = self._is_open and not message.is_direct and message.sender.id
        return (own, self._sender(message)) if is_more else (own,)

    def _sender(self, message: InboundMessage) -> Scope:
        if not message.sender.id:
            raise ValueError("a message of nobody has no memory")
        return Scope(kind="person", key=self._keys.key_of(person_of(message)))


def chat_of(message: InboundMessage) -> Scope:
    """The memory of a group, whatever thread of it was spoken in."""
    address = message.address
    return Scope(kind="chat", key=f"{address.channel}:{address.account}:{address.chat}")


def origin_of(message: InboundMessage, how: How) -> Origin:
    """Where something comes from that is kept because of a message, by now."""
    current = known_taint()
    foreign = () if current is None else tuple(sorted(current.foreign))
    return Origin(
        how=how,
        by=person_of(message),
        run=message.run,
        session=message.session,
        foreign=foreign,
    )


def note_reading(found: Sequence[Memory]) -> None:
    """Tell the running turn that it has read what belongs to somebody, and what was not to be relied on."""
    current = known_taint()
    if current is None or not found:
        return
    current.is_private = True
    for memory in found:
        for source in memory.origin.foreign:
            current.add(source, f"memory {memory.number}, of {memory.created_at:%Y-%m-%d}")


def tidy(text: str) -> str:
    """A memory on one line, cut to its limit; no control characters."""
    line = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
    return line if len(line) <= MAX_TEXT else f"{line[: MAX_TEXT - 1]}…"


def age(memory: Memory, now: datetime | None = None) -> int:
    """Days since it was last put right."""
    return max(0, ((now or utc_now()) - memory.updated_at).days)
