"""People and their memories on one real database."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from bot.long_term import Fact, Memory, Origin, Scope
from bot.messages import Address, InboundMessage, MessageId, Sender, new_id, utc_now
from memory.database import DATABASE, Database
from memory.long_term.embedding import Thread
from memory.long_term.own import OwnMemories
from memory.long_term.shelf import Shelf
from memory.people.book import PeopleBook
from tests.memory.long_term.conftest import WordVectors

ANN, ANN_AT_WORK, BOB = "telegram:42", "slack:U1", "telegram:43"


@dataclass(frozen=True, slots=True)
class House:
    """Where people are known, and what is remembered of them."""

    book: PeopleBook
    memories: OwnMemories
    database: Database

    def scope(self, identity: str) -> Scope:
        return Scope(kind="person", key=self.book.key_of(identity))

    async def learn(self, identity: str, *texts: str, by: str | None = None) -> None:
        """Have something remembered where somebody speaks."""
        origin = Origin(how="command", by=by or identity)
        await self.memories.learn(self.scope(identity), [Fact(text=text) for text in texts], origin)

    async def known(self, identity: str) -> list[Memory]:
        """What is remembered where somebody speaks, oldest first."""
        return list(await self.memories.export(self.scope(identity)))

    async def texts(self, identity: str) -> set[str]:
        return {one.text for one in await self.known(identity)}

    async def found(self, identity: str, query: str) -> set[str]:
        """What a search finds there, by words and by meaning."""
        hits = await self.memories.search([self.scope(identity)], query, limit=100)
        return {one.memory.text for one in hits}


@asynccontextmanager
async def housed(home: Path) -> AsyncIterator[House]:
    """All of it on the database in a directory."""
    thread = Thread()
    async with Database(home / DATABASE, synchronous="NORMAL") as database:
        book = PeopleBook(database)
        await book.load()
        memories = OwnMemories(Shelf(database, most=1_000), WordVectors(), thread, cache_mb=1)
        book.adding = memories.shelf.adding
        try:
            yield House(book, memories, database)
        finally:
            await memories.aclose()
            await thread.aclose()


@pytest.fixture
async def house(home: Path) -> AsyncIterator[House]:
    async with housed(home) as made:
        yield made


def said(identity: str, *, chat: str | None = None, name: str = "", is_direct: bool = True) -> InboundMessage:
    """A message of somebody."""
    channel, _, id_ = identity.partition(":")
    address = Address(channel=channel, chat=chat or id_, is_direct=is_direct)
    return InboundMessage(
        id=MessageId(new_id()),
        platform_id=new_id(),
        address=address,
        session=address.session(),
        sender=Sender(id=id_, name=name),
        text="hello",
        received_at=utc_now(),
    )
