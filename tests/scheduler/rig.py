"""A scheduler over a real database and journal, and a clock that the test turns."""

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Self
from zoneinfo import ZoneInfo

from bot.bus import Receipt
from bot.errors import StoreError
from bot.messages import InboundMessage
from bot.scheduler.planner import Planner
from bot.scheduler.scheduler import Scheduler
from bot.scheduler.schedules import Schedule
from bot.scheduler.timing import Timing
from memory.database import DATABASE, Database
from memory.journal import Journal
from memory.schedules import Schedules
from tests.factories import inbound

PATIENCE = 10.0  # seconds until a test gives up


def moment(text: str, zone: str = "UTC") -> float:
    """Seconds since 1970 of `2026-03-29 01:30`."""
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp()


NOON = moment("2026-11-21 12:00")


class TurnedClock:
    """Stands still until it is turned."""

    def __init__(self, now: float = NOON) -> None:
        self._now = now
        self._sleepers: list[tuple[float, asyncio.Event]] = []
        self.at_rest = asyncio.Event()

    def now(self) -> float:
        return self._now

    async def wait(self, event: asyncio.Event, seconds: float) -> None:
        sleeper = (self._now + seconds, event)
        self._sleepers.append(sleeper)
        self.at_rest.set()
        try:
            await event.wait()
        finally:
            self._sleepers.remove(sleeper)
            self.at_rest.clear()

    def put(self, now: float) -> None:
        """Show another time to nobody who waits."""
        self._now = now

    async def turn(self, now: float, *, wakes_all: bool = False) -> None:
        """Show another time, and return when whoever was woken by it waits again.

        A clock that is set back wakes everybody, as the naps of the real one do.
        """
        wakes_all = wakes_all or now < self._now
        woken = [event for at, event in self._sleepers if at <= now or wakes_all or event.is_set()]
        self._now = now
        if woken:
            self.at_rest.clear()
        for event in woken:
            event.set()
        await self.rest()

    async def rest(self) -> None:
        async with asyncio.timeout(PATIENCE):
            await self.at_rest.wait()


class Rig:
    """The bot as far as schedules go; leaving it is a crash or a stop, entering it again a restart.

    Attributes:
        fails: Nothing can be handed in.
        loses: What is handed in is taken, and then the outcome is lost.
        hangs_at: The hand-in with this number never returns, so that the process ends in the middle of it.
        full: Sessions that take no more.
    """

    def __init__(self, home: Path, clock: TurnedClock, *, zone: str = "UTC") -> None:
        self.home = home
        self.clock = clock
        self.zone = zone
        self.fired: list[InboundMessage] = []
        self.fails = False
        self.loses = False
        self.hangs_at: int | None = None
        self.full: set[str] = set()
        self.calls = 0

    async def __aenter__(self) -> Self:
        self._stack = AsyncExitStack()
        self.clock.at_rest.clear()
        database = await self._stack.enter_async_context(Database(self.home / DATABASE, synchronous="NORMAL"))
        self.journal = Journal(database)
        self.store = Schedules(database)
        self.scheduler = Scheduler(self.store, self.publish, self.clock)
        self.planner = Planner(self.store, zone=self.zone, on_change=self.scheduler.wake, clock=self.clock)
        await self._stack.enter_async_context(self.scheduler)
        await self.clock.rest()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    async def publish(self, message: InboundMessage) -> Receipt:
        """What the bus and the loop do: journal a message once."""
        if self.fails:
            raise StoreError("the disk is full")
        if message.session in self.full:
            return Receipt.REFUSED
        self.calls += 1
        is_last = self.calls - 1 == self.hangs_at
        if is_last and self.calls % 2:
            await self._hang()
        accepted = await self.journal.accept(message)
        if accepted.is_new:
            self.fired.append(message)
        if is_last:
            await self._hang()
        if self.loses:
            raise StoreError("the answer got lost")
        return Receipt.ACCEPTED if accepted.is_new else Receipt.DUPLICATE

    async def _hang(self) -> None:
        self.clock.at_rest.set()
        await asyncio.Event().wait()

    async def add(
        self, when: str | Timing, text: str = "water the plants", *, chat: str = "42", speaker: str = "Ann"
    ) -> Schedule:
        """Schedule something for a person in a chat on Telegram."""
        timing = self.planner.read(when) if isinstance(when, str) else when
        message = inbound(session=f"telegram:default:{chat}", speaker=speaker)
        self.clock.at_rest.clear()
        added = await self.planner.add(message, timing, text)
        await self.clock.rest()
        return added

    def dues(self) -> list[tuple[str, float]]:
        """What fired, as schedule and due time, in order."""
        return list(self._dues())

    def _dues(self) -> Iterator[tuple[str, float]]:
        for message in self.fired:
            _, schedule, due = message.platform_id.split(":")
            yield schedule, float(due)
