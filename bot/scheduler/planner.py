"""The people's side of schedules: make, list, pause, resume and delete those of a chat."""

from collections.abc import Callable
from typing import Final, Protocol

from msgspec.structs import replace

from bot.messages import Frozen, InboundMessage, SessionKey, Trigger, new_id
from bot.scheduler.clock import Clock, WallClock
from bot.scheduler.phrases import read_when
from bot.scheduler.schedules import Listed, Schedule, ScheduleId
from bot.scheduler.timing import ScheduleFault, Timing, check_timing, find_zone, next_after, say_moment

MAX_PER_CHAT: Final = 100
MAX_IN_ALL: Final = 10_000
MAX_TEXT: Final = 4_000  # characters
MAX_LISTED: Final = 200
MAX_NUMBER: Final = 2**31
BY_ITSELF: Final = frozenset({Trigger.SCHEDULE, Trigger.HEARTBEAT})
MIN_BY_ITSELF: Final = 60.0  # seconds ahead, for what a turn that nobody asked for may set


class Book(Protocol):
    """Keeps schedules; a number means the same chat's schedule for ever."""

    async def add(self, schedule: Schedule, *, per_chat: int, in_all: int) -> Schedule | None:
        """Keep one under the next number of its chat; `None` where there are too many."""

    async def listed(self, chat: SessionKey | None, *, limit: int) -> list[Listed]:
        """Those of a chat, or (`None`) of all; what comes next is first, what is over last."""

    async def find(self, chat: SessionKey, number: int) -> Schedule | None:
        """One of a chat's."""

    async def plan(self, schedule: Schedule) -> bool:
        """Write down its `next_at` and whether it is paused; False where it is gone."""

    async def delete(self, schedule: Schedule) -> bool:
        """Forget one and its firings; False where it was gone."""


class Asking(Frozen, frozen=True, kw_only=True):
    """Who wants something of a schedule, and in which chat."""

    chat: SessionKey
    person: str
    is_admin: bool = False


class Planner:
    """Serves tools and commands.

    Args:
        zone: The time zone of who gives none.
        own_zone: That of the sender of a message; empty where they have none.
        on_change: Told when the next due time may have changed.
    """

    def __init__(
        self,
        book: Book,
        *,
        zone: str = "UTC",
        on_change: Callable[[], None],
        clock: Clock | None = None,
        own_zone: Callable[[InboundMessage], str] = lambda message: "",
    ) -> None:
        self._book = book
        self._on_change = on_change
        self._clock = clock or WallClock()
        self.zone = zone
        self._own_zone = own_zone

    def zone_of(self, message: InboundMessage) -> str:
        """The time zone of the sender of a message who names none."""
        return self._own_zone(message) or self.zone

    def read(self, when: str, *, zone: str = "") -> Timing:
        """Read a time or a repetition; see `read_when`."""
        zone = zone or self.zone
        find_zone(zone)
        return read_when(when, now=self._clock.now(), zone=zone)

    async def add(self, message: InboundMessage, timing: Timing, text: str, *, zone: str = "") -> Schedule:
        """Schedule a text for the chat, the session and the person of a message.

        Raises:
            ScheduleFault: It can't be, or there are too many.
        """
        now, text, zone = self._clock.now(), text.strip(), zone or self.zone
        find_zone(zone)
        if not 1 <= len(text) <= MAX_TEXT:
            raise ScheduleFault(f"say in 1 to {MAX_TEXT:,} characters what is to be done then")
        first = check_timing(timing, now=now)
        if message.trigger in BY_ITSELF and first < now + MIN_BY_ITSELF:
            raise ScheduleFault("in a turn that no person began, schedule for a minute from now or later")
        schedule = Schedule(
            id=ScheduleId(new_id()),
            timing=timing,
            text=text,
            address=message.address,
            session=message.session,
            sender=message.sender,
            zone=zone,
            created_at=now,
            next_at=first,
        )
        added = await self._book.add(schedule, per_chat=MAX_PER_CHAT, in_all=MAX_IN_ALL)
        if added is None:
            raise ScheduleFault(
                f"there are {MAX_PER_CHAT} schedules in this chat or {MAX_IN_ALL:,} in all: delete some first"
            )
        self._on_change()
        return added

    async def listed(self, chat: SessionKey | None) -> list[Listed]:
        """The schedules of a chat, or (`None`) of all."""
        return await self._book.listed(chat, limit=MAX_LISTED)

    async def pause(self, asking: Asking, number: int) -> Schedule:
        """Let one rest.

        Raises:
            ScheduleFault: There is none with this number, it is over, or it is somebody else's.
        """
        schedule = await self._open_one(asking, number)
        return await self._plan(replace(schedule, is_paused=True))

    async def resume(self, asking: Asking, number: int) -> Schedule:
        """Let a paused one go on; what it missed meanwhile is not made up for.

        Raises:
            ScheduleFault: As for `pause`; or its time has passed.
        """
        schedule, now = await self._open_one(asking, number), self._clock.now()
        next_at = schedule.next_at
        if schedule.is_paused and next_at is not None and next_at <= now:
            next_at = next_after(schedule.timing, now)
        if next_at is None:
            raise ScheduleFault(f"the time of schedule {number} passed while it was paused: make a new one")
        return await self._plan(replace(schedule, is_paused=False, next_at=next_at))

    async def delete(self, asking: Asking, number: int) -> Schedule:
        """Forget one for good.

        Raises:
            ScheduleFault: There is none with this number, or it is somebody else's.
        """
        schedule = await self.find(asking, number)
        if not await self._book.delete(schedule):
            raise _no_such(number)
        self._on_change()
        return schedule

    async def find(self, asking: Asking, number: int) -> Schedule:
        """One of the chat's that this person may change: their own, or for admins any.

        Raises:
            ScheduleFault: There is none.
        """
        schedule = await self._book.find(asking.chat, number) if 0 < number <= MAX_NUMBER else None
        if schedule is None:
            raise _no_such(number)
        if schedule.maker != asking.person and not asking.is_admin:
            raise ScheduleFault(f"schedule {number} is somebody else's: they or an admin may change it")
        return schedule

    async def _open_one(self, asking: Asking, number: int) -> Schedule:
        schedule = await self.find(asking, number)
        if schedule.next_at is None:
            raise ScheduleFault(f"schedule {number} is over")
        return schedule

    async def _plan(self, schedule: Schedule) -> Schedule:
        if not await self._book.plan(schedule):
            raise _no_such(schedule.number)
        self._on_change()
        return schedule


def say_next(schedule: Schedule) -> str:
    """When a schedule fires next, for people."""
    if schedule.next_at is None:
        return "over"
    return "paused" if schedule.is_paused else say_moment(schedule.next_at, schedule.zone)


def _no_such(number: int) -> ScheduleFault:
    return ScheduleFault(f"this chat has no schedule {number}")
