"""People as commands, the API and pages see them: who is one and the same on several channels.

An identity is an account of somebody on a platform, as `channel:id`. Whoever was never linked is a person of
their own; there is no person without an identity, and none that stands for everybody.
"""

import logging
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from bot.agent.audit import Audit, AuditEvent
from bot.agent.taint import person_of
from bot.errors import BotError
from bot.long_term import Scope
from bot.messages import Address, Frozen, InboundMessage, utc_now
from bot.scheduler.timing import ScheduleFault, find_zone

log = logging.getLogger(__name__)

MAX_NAME: Final = 60  # characters
MAX_NOTES: Final = 4_000  # characters
MAX_IDENTITIES: Final = 20  # of one person
LINKED: Final = (
    "{names} are one person to me from now on: what I remember is the same in all of them. "
    "If that is not you, `/unlink` undoes it."
)
UNLINKED: Final = "`{identity}` is a person of its own to me again, with what I have learned there."


class PeopleError(BotError):
    """Something that can't be done with people; the text says why."""


class Person(Frozen, frozen=True, kw_only=True):
    """Somebody, on all channels on which they were found to be the same.

    Attributes:
        id: Ours; given to nobody else.
        identities: As `channel:id`, at least one; the oldest first.
        key: What their memories and their account are kept under. It is the identity of who has but one, and
            changes with every link.
        language: A tag like `de` or `pt-BR`; empty where they have not said.
        zone: A name like `Europe/Berlin`; empty too.
        notes: What operators have written about them.
        created_at: When they were first seen, in seconds since 1970.
    """

    id: int
    name: str
    identities: tuple[str, ...]
    key: str
    language: str = ""
    zone: str = ""
    notes: str = ""
    created_at: float = 0.0

    @property
    def scope(self) -> Scope:
        """Where what is remembered of them is kept."""
        return Scope(kind="person", key=self.key)

    @property
    def is_linked(self) -> bool:
        """Whether they have several identities."""
        return len(self.identities) > 1


class Habits(Frozen, frozen=True, kw_only=True):
    """How somebody wants to be spoken to; empty where they have not said."""

    language: str = ""
    zone: str = ""


NO_HABITS: Final = Habits()


class Known(Protocol):
    """What is known of identities without asking the store: for what every turn needs."""

    def key_of(self, identity: str) -> str:
        """What memories and accounts are kept under; see `Person.key`."""

    def together(self, identity: str) -> tuple[str, ...]:
        """All identities of the person, this one among them."""

    def habits(self, identity: str) -> Habits:
        """How the person wants to be spoken to."""


class People(Known, Protocol):
    """Keeps people.

    Raises:
        PeopleError: It can't be done.
        StoreError: The store could not read or write.
    """

    async def note(self, message: InboundMessage) -> None:
        """Know who has spoken, and where they can be told something alone; mostly returns at once."""

    async def find(self, who: str) -> Person | None:
        """A person by an identity, or by their id as digits."""

    async def of(self, identity: str) -> Person:
        """The person of an identity, who is known from now on."""

    async def search(self, text: str = "", *, before: int | None = None, limit: int = 50) -> list[Person]:
        """Those whose name or an identity of whom has a text in it; the highest ids first.

        Args:
            before: Only ids below it.
        """

    async def change(
        self,
        id_: int,
        *,
        name: str | None = None,
        language: str | None = None,
        zone: str | None = None,
        notes: str | None = None,
    ) -> Person | None:
        """Put down something else about somebody, where it is not `None`; gives `None` for an unknown id."""

    async def link(self, one: str, other: str) -> Person:
        """Let two identities, and all that are linked with either, be one person; memories move together.

        Whoever was not seen before is known from now on. Roles are not touched.
        """

    async def unlink(self, identity: str) -> tuple[Person, Person]:
        """Let an identity be a person of its own again, with what was learned from it.

        Returns:
            That one, and who is left.
        """

    async def forget(self, person: Person) -> None:
        """Know a person no more, nor what was learned from them; who speaks again is somebody new."""

    async def chats(self, person: Person) -> dict[str, tuple[Address, ...]]:
        """Where each identity has spoken with the bot alone, the oldest first."""


class Talk(Protocol):
    """Says something in a chat."""

    async def __call__(self, address: Address, text: str) -> object: ...


class Share(Protocol):
    """Has direct chats go on in one session."""

    async def join(self, person: Person, lead: str) -> None:
        """All chats of a person go on where the newest one of an identity is."""

    async def part(self, alone: Person, left: Person) -> None:
        """The chats of both go on in sessions of their own."""


class Linking:
    """Links and unlinks, writes it down, and tells the people.

    Args:
        tell: Reaches their chats.
        share: Has the direct chats of a linked person go on in one session; `None` leaves each its own.
        on_change: Told which identities have another account now.
    """

    def __init__(
        self,
        people: People,
        audit: Audit,
        *,
        tell: Talk,
        share: Share | None = None,
        on_change: Callable[[Sequence[str]], object] = lambda identities: None,
    ) -> None:
        self.people = people
        self._audit = audit
        self._tell = tell
        self._share = share
        self._on_change = on_change

    async def link(self, one: str, other: str, *, by: str, here: Address | None = None) -> Person:
        """Join two identities.

        Args:
            by: Who wants it.
            here: A chat that is told by whoever calls.

        Raises:
            PeopleError: They can't be joined.
        """
        person = await self.people.link(one, other)
        await self._note(by, "person link", person.id, [("one", one), ("other", other)])
        self._on_change(person.identities)
        if self._share is not None:
            await self._share.join(person, one)
        await self._tell_all(person, LINKED.format(names=names_of(person)), here)
        return person

    async def unlink(self, identity: str, *, by: str, here: Address | None = None) -> Person:
        """Part an identity from the others; gives who it is now.

        Raises:
            PeopleError: It is linked with none.
        """
        alone, left = await self.people.unlink(identity)
        await self._note(by, "person unlink", left.id, [("identity", identity), ("now", alone.id)])
        self._on_change((*alone.identities, *left.identities))
        if self._share is not None:
            await self._share.part(alone, left)
        for person in (alone, left):
            await self._tell_all(person, UNLINKED.format(identity=identity), here)
        return alone

    async def _tell_all(self, person: Person, text: str, here: Address | None) -> None:
        """Tell it in the newest direct chat of each identity; who can't be reached misses it."""
        for chats in (await self.people.chats(person)).values():
            if not chats or chats[-1] == here:
                continue
            try:
                await self._tell(chats[-1], text)
            except BotError as error:  # it is done, whether they hear of it or not
                log.error("not told of being linked", extra={"cause": str(error)})

    async def _note(self, by: str, action: str, id_: int, context: Sequence[tuple[str, str | int]]) -> None:
        event = AuditEvent(
            severity="warning",
            actor=by,
            action=action,
            target=f"person {id_}",
            status="done",
            context=tuple(context),
        )
        await self._audit.record(event)


class Told(Protocol):
    """What else is told."""

    async def relevant(self, message: InboundMessage) -> str: ...


class PersonNotes:
    """Tells a turn how its sender wants to be spoken to; fulfils `bot.agent.seams.Notes`.

    Args:
        then: What is told beside it.
    """

    def __init__(self, known: Known, then: Told | None = None) -> None:
        self._known = known
        self._then = then

    async def relevant(self, message: InboundMessage) -> str:
        """See the protocol; the zone is told to the person alone."""
        told = await self._then.relevant(message) if self._then is not None else ""
        habits = self._known.habits(person_of(message))
        if habits is NO_HABITS:
            return told
        return "\n".join(part for part in (_wishes(habits, is_alone=message.is_direct), told) if part)


def _wishes(habits: Habits, *, is_alone: bool) -> str:
    parts = [f"prefers the language {habits.language}"] if habits.language else []
    if habits.zone and is_alone:
        try:
            now = utc_now().astimezone(find_zone(habits.zone))
            parts.append(f"lives in the time zone {habits.zone}, where it is {now:%A, %Y-%m-%d %H:%M}")
        except ScheduleFault:  # known when it was given, and on this machine no more
            pass
    return f"[Who writes now {' and '.join(parts)}]" if parts else ""


def names_of(person: Person) -> str:
    """The identities of a person, for people."""
    names = [f"`{identity}`" for identity in person.identities]
    return " and ".join((", ".join(names[:-1]), names[-1])) if len(names) > 1 else names[0]
