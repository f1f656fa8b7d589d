"""Doors over a real store, with an audit log, a clock and an outside that tests look at."""

from collections.abc import AsyncIterator, Collection
from pathlib import Path

import pytest

from bot.agent.control import is_operator
from bot.commands.pairing import Request
from bot.errors import StoreError
from bot.messages import Address, InboundMessage
from bot.settings.access import AccessSettings
from memory.database import DATABASE, Database
from memory.pairings import Pairings
from memory.store import Store
from security.access import Access, Lists, Outside, Pairing, People, Roles, Steering
from tests.commands.desk import Notes


class House:
    """All that decides who may speak.

    Attributes:
        now: Seconds; turned by tests.
        told: What was said in which chat, outside of turns.
        published: What was taken in again.
        asked: What admins were asked about.
        is_disk_full: Nobody can be told anything.
    """

    def __init__(
        self,
        store: Store,
        database: Database,
        settings: AccessSettings,
        named: Collection[str] = ("telegram:1",),
    ) -> None:
        self.store = store
        self.now = 1_000_000.0
        self.audit = Notes()
        self.told: list[tuple[str, str]] = []
        self.published: list[InboundMessage] = []
        self.asked: list[Request] = []
        self.is_disk_full = False
        self.steering = Steering(named, store.rules)
        lists = Lists(store.rules, settings.allow)
        self.roles = Roles(store.rules, lists=lists, settings=settings, admins=named)
        self.people = People(store.rules, self.roles)
        self.pairing = Pairing(
            Pairings(database),
            store.rules,
            self.roles,
            Outside(tell=self._tell, publish=self._publish, ask_admins=self._ask),
            audit=self.audit,
            max_pending=settings.max_pending,
            now=lambda: self.now,
        )
        self.access = Access(
            store.rules,
            is_admin=lambda message: is_operator(message, self.steering),
            audit=self.audit,
            settings=settings,
            roles=self.roles,
            greeter=self.pairing,
            clock=lambda: self.now,
        )

    async def _tell(self, address: Address, text: str) -> None:
        if self.is_disk_full:
            raise StoreError("the disk is full")
        self.told.append((address.chat, text))

    async def _publish(self, message: InboundMessage) -> None:
        self.published.append(message)

    async def _ask(self, request: Request) -> None:
        if self.is_disk_full:
            raise StoreError("the disk is full")
        self.asked.append(request)

    async def answers(self, message: InboundMessage) -> bool:
        """Whether somebody is answered."""
        return await self.access(message) is None

    async def tells(self, message: InboundMessage) -> str:
        """What somebody is told who is not answered."""
        refusal = await self.access(message)
        assert refusal is not None
        return refusal.text

    def audited(self) -> list[tuple[str, str, str]]:
        """Who did what, and how that went."""
        return [(event.actor, event.action, event.status) for event in self.audit.events]


class Houses:
    """Makes them, over one store."""

    def __init__(self, store: Store, database: Database) -> None:
        self._store = store
        self._database = database

    def __call__(
        self, settings: AccessSettings | None = None, named: Collection[str] = ("telegram:1",)
    ) -> House:
        """A house with settings; by default with none that anybody has changed."""
        return House(self._store, self._database, settings or AccessSettings(), named)


@pytest.fixture
async def houses(home: Path, store: Store) -> AsyncIterator[Houses]:
    async with Database(home / DATABASE, synchronous="NORMAL") as database:
        yield Houses(store, database)
