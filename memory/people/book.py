"""People and their identities in the database; who is more than an identity is at hand in memory."""

import sqlite3
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import Final

from msgspec.structs import replace

from bot.agent.taint import person_of
from bot.long_term import Scope
from bot.messages import Address, InboundMessage, SessionKey, decode_address, encoder
from bot.people import MAX_IDENTITIES, MAX_NOTES, NO_HABITS, Habits, PeopleError, Person
from memory.database import Database
from memory.people import moving

MAX_NOTED: Final = 10_000  # people who were seen lately
COLUMNS: Final = "id, name, language, zone, notes, key, created_at"
ONE_ALREADY: Final = "both are the same person already"
NOT_LINKED: Final = "{identity} is linked with nothing"
TOO_MANY: Final = f"somebody can have {MAX_IDENTITIES} identities at most"
NO_IDENTITY: Final = "an identity is written as channel:id, not {identity!r}"


class PeopleBook:
    """Fulfils `bot.people.People`; `load` comes first.

    Attributes:
        adding: Entered around what may give memories to a scope that was known to have none.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: dict[str, Person] = {}  # by identity: whoever is linked, or has habits
        self._linked: dict[str, Person] = {}  # by key
        self._noted: OrderedDict[tuple[str, SessionKey | None, str], None] = OrderedDict()
        self.adding: Callable[[Scope], AbstractContextManager[None]] = lambda scope: nullcontext()

    async def load(self) -> None:
        """Read who is linked; called when the store opens."""
        more = "key IS NOT NULL OR language <> '' OR zone <> ''"
        self._known, self._linked = {}, {}
        for person in await self._database.read(lambda db: _people(db, f"WHERE {more} ORDER BY id")):
            self._keep(person)
        linked = {identity: one.key for identity, one in self._known.items() if one.is_linked}
        is_late = await self._database.read(moving.is_any_late)
        if linked or is_late:
            await self._database.write(lambda db: moving.gather(db, linked))

    def key_of(self, identity: str) -> str:
        """See `bot.people.Known`; the next two, too."""
        known = self._known.get(identity)
        return identity if known is None else known.key

    def together(self, identity: str) -> tuple[str, ...]:
        known = self._known.get(identity)
        return (identity,) if known is None else known.identities

    def identities_of(self, key: str) -> tuple[str, ...]:
        """The identities that a key stands for."""
        linked = self._linked.get(key)
        return (key,) if linked is None else linked.identities

    def habits(self, identity: str) -> Habits:
        known = self._known.get(identity)
        if known is None or not (known.language or known.zone):
            return NO_HABITS
        return Habits(language=known.language, zone=known.zone)

    async def note(self, message: InboundMessage) -> None:
        """See the protocol; the next ones, too."""
        if not message.sender.id.strip() or message.sender.is_bot:
            return
        identity, name = person_of(message), message.sender.name
        chat = replace(message.address, thread=None) if message.is_direct else None
        noted = (identity, chat.session() if chat is not None else None, name)
        if noted in self._noted:
            self._noted.move_to_end(noted)
            return
        await self._database.write(lambda db: _note(db, identity, name, chat))
        self._noted[noted] = None
        if len(self._noted) > MAX_NOTED:
            self._noted.popitem(last=False)

    async def find(self, who: str) -> Person | None:
        if who.isascii() and who.isdecimal() and len(who) < 19:
            found = await self._database.read(lambda db: _people(db, "WHERE id = ?", [int(who)]))
        else:
            chosen = "WHERE id = (SELECT person FROM identities WHERE identity = ?)"
            found = await self._database.read(lambda db: _people(db, chosen, [who]))
        return found[0] if found else None

    async def search(self, text: str = "", *, before: int | None = None, limit: int = 50) -> list[Person]:
        pattern = "%" + "".join(f"\\{sign}" if sign in "%_\\" else sign for sign in text) + "%"
        chosen = (
            "WHERE id < ? AND (? = '%%' OR name LIKE ? ESCAPE '\\' OR id IN (SELECT person FROM identities"
            " WHERE identity LIKE ? ESCAPE '\\' OR name LIKE ? ESCAPE '\\')) ORDER BY id DESC LIMIT ?"
        )
        values = (1 << 62 if before is None else before, pattern, pattern, pattern, pattern, limit)
        return await self._database.read(lambda db: _people(db, chosen, values))

    async def change(
        self,
        id_: int,
        *,
        name: str | None = None,
        language: str | None = None,
        zone: str | None = None,
        notes: str | None = None,
    ) -> Person | None:
        given = {"name": name, "language": language, "zone": zone, "notes": notes}
        changes = {column: value for column, value in given.items() if value is not None}

        def job(db: sqlite3.Connection) -> list[Person]:
            if changes:
                columns = ", ".join(f"{column} = ?" for column in changes)
                db.execute(f"UPDATE people SET {columns} WHERE id = ?", (*changes.values(), id_))
            return _people(db, "WHERE id = ?", [id_])

        found = await self._database.write(job)
        for person in found:
            self._keep(person)
        return found[0] if found else None

    async def of(self, identity: str) -> Person:
        """The person of an identity, who is known from now on."""

        def job(db: sqlite3.Connection) -> Person:
            return _person(db, _known(db, identity))

        return await self._database.write(job)

    async def link(self, one: str, other: str) -> Person:
        key = moving.fresh_key()

        def job(db: sqlite3.Connection) -> Person:
            first, second = (_person(db, _known(db, identity)) for identity in (one, other))
            if first.id == second.id:
                raise PeopleError(ONE_ALREADY)
            if len(first.identities) + len(second.identities) > MAX_IDENTITIES:
                raise PeopleError(TOO_MANY)
            moving.join(db, [(person.key, person.identities) for person in (first, second)], key)
            _merge(db, first, second, key)
            return _person(db, first.id)

        person = await self._database.write(job)
        self._keep(person)
        return person

    async def unlink(self, identity: str) -> tuple[Person, Person]:
        fresh = moving.fresh_key()

        def job(db: sqlite3.Connection) -> tuple[Person, Person]:
            row = db.execute("SELECT person FROM identities WHERE identity = ?", (identity,)).fetchone()
            person = _person(db, row[0]) if row else None
            if person is None or not person.is_linked:
                raise PeopleError(NOT_LINKED.format(identity=identity))
            others = [name for name in person.identities if name != identity]
            key = fresh if len(others) > 1 else None
            moving.part(db, person.key, identity, others, (identity, key or others[0]))
            db.execute("UPDATE people SET key = ? WHERE id = ?", (key, person.id))
            db.execute("DELETE FROM identities WHERE identity = ?", (identity,))
            return _person(db, _known(db, identity)), _person(db, person.id)

        with self._adding(self.together(identity)):
            alone, left = await self._database.write(job)
        self._keep(alone)
        self._keep(left)
        return alone, left

    async def forget(self, person: Person) -> None:
        chosen = "WHERE identity IN (SELECT identity FROM identities WHERE person = ?)"

        def job(db: sqlite3.Connection) -> None:
            for table in ("identity_chats", "link_codes", "identities"):
                db.execute(f"DELETE FROM {table} {chosen}", (person.id,))
            db.execute("DELETE FROM people WHERE id = ?", (person.id,))
            moving.erase(db, person.key, person.identities)

        with self._adding(person.identities):
            await self._database.write(job)
        self._linked.pop(person.key, None)
        for identity in person.identities:
            self._known.pop(identity, None)
        for noted in [one for one in self._noted if one[0] in person.identities]:
            del self._noted[noted]

    async def chats(self, person: Person) -> dict[str, tuple[Address, ...]]:
        def job(db: sqlite3.Connection) -> dict[str, tuple[Address, ...]]:
            return {identity: _chats(db, identity) for identity in person.identities}

        return await self._database.read(job)

    @contextmanager
    def _adding(self, identities: Sequence[str]) -> Iterator[None]:
        """Have nobody take the memories of identities for empty, which they are while they are linked."""
        with ExitStack() as stack:
            for identity in identities:
                stack.enter_context(self.adding(Scope(kind="person", key=identity)))
            yield

    def _keep(self, person: Person) -> None:
        """Have somebody at hand, or no more."""
        for identity in person.identities:
            if (before := self._known.get(identity)) is not None:
                self._linked.pop(before.key, None)
        if person.is_linked:
            self._linked[person.key] = person
        for identity in person.identities:
            if person.is_linked or person.language or person.zone:
                self._known[identity] = person
            else:
                self._known.pop(identity, None)


def _note(db: sqlite3.Connection, identity: str, name: str, chat: Address | None) -> None:
    _known(db, identity)
    if name:
        db.execute("UPDATE identities SET name = ? WHERE identity = ? AND name <> ?", (name, identity, name))
    if chat is not None:
        db.execute(
            "INSERT INTO identity_chats (identity, chat, address, last_at) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (identity, chat) DO UPDATE SET address = excluded.address,"
            " last_at = excluded.last_at",
            (identity, chat.session(), encoder.encode(chat), time.time()),
        )


def _known(db: sqlite3.Connection, identity: str) -> int:
    """The id of the person of an identity, who is a new one where it was never seen."""
    row = db.execute("SELECT person FROM identities WHERE identity = ?", (identity,)).fetchone()
    if row is not None:
        return int(row[0])
    channel, _, id_ = identity.partition(":")
    if not channel.strip() or not id_.strip():
        raise PeopleError(NO_IDENTITY.format(identity=identity))
    now = time.time()
    made = db.execute("INSERT INTO people (created_at) VALUES (?)", (now,)).lastrowid
    db.execute("INSERT INTO identities (identity, person, added_at) VALUES (?, ?, ?)", (identity, made, now))
    assert made is not None
    return made


def _merge(db: sqlite3.Connection, first: Person, second: Person, key: str) -> None:
    """Let the second be part of the first, who keeps what is said of both."""
    notes = "\n".join(text for text in (first.notes, second.notes) if text)[:MAX_NOTES]
    (given,) = db.execute("SELECT name FROM people WHERE id = ?", (first.id,)).fetchone()
    (other,) = db.execute("SELECT name FROM people WHERE id = ?", (second.id,)).fetchone()
    db.execute("UPDATE identities SET person = ? WHERE person = ?", (first.id, second.id))
    db.execute("DELETE FROM people WHERE id = ?", (second.id,))
    db.execute(
        "UPDATE people SET key = ?, name = ?, language = ?, zone = ?, notes = ?, created_at = ? WHERE id = ?",
        (
            key,
            given or other,
            first.language or second.language,
            first.zone or second.zone,
            notes,
            min(first.created_at, second.created_at),
            first.id,
        ),
    )


def _person(db: sqlite3.Connection, id_: int) -> Person:
    (person,) = _people(db, "WHERE id = ?", [id_])
    return person


def _people(db: sqlite3.Connection, chosen: str, values: Sequence[object] = ()) -> list[Person]:
    rows = db.execute(f"SELECT {COLUMNS} FROM people {chosen}", tuple(values)).fetchall()
    people = []
    for id_, name, language, zone, notes, key, created_at in rows:
        identities = db.execute(
            "SELECT identity, name FROM identities WHERE person = ? ORDER BY added_at, identity", (id_,)
        ).fetchall()
        people.append(
            Person(
                id=id_,
                name=name or next((said for _, said in identities if said), ""),
                identities=tuple(identity for identity, _ in identities),
                key=key or identities[0][0],
                language=language,
                zone=zone,
                notes=notes,
                created_at=created_at,
            )
        )
    return people


def _chats(db: sqlite3.Connection, identity: str) -> tuple[Address, ...]:
    rows = db.execute("SELECT address FROM identity_chats WHERE identity = ? ORDER BY last_at", (identity,))
    return tuple(decode_address(blob) for (blob,) in rows)
