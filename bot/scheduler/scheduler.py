"""Fires schedules when they are due: each due time once, whatever happens to the process."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from types import TracebackType
from typing import Final, Protocol, Self, TypeAlias

from msgspec.structs import replace

from bot.bus import Receipt
from bot.messages import EndReason, InboundMessage, RunId, new_id
from bot.scheduler.clock import Clock, WallClock
from bot.scheduler.schedules import Claim, Firing, Schedule, message_of
from bot.scheduler.timing import Cron, Every, ScheduleFault, next_after

log = logging.getLogger(__name__)

BATCH: Final = 100  # schedules that are looked at together
RETRY: Final = 30.0  # seconds until what was not taken is handed in again
PUBLISH_SECONDS: Final = 30.0
FOREVER: Final = 1e9  # seconds; there is nothing to wait for but a change
SET_BACK: Final = 120.0  # seconds by which the clock is behind what was done before: somebody has set it

Publish: TypeAlias = Callable[[InboundMessage], Awaitable[Receipt]]
Waiting: TypeAlias = tuple[Schedule, Firing]


class Schedules(Protocol):
    """Keeps what is due and what was fired; `memory/schedules.py` fulfils it."""

    async def due(self, now: float, *, limit: int) -> list[Schedule]:
        """Those whose time has come, the longest due first."""

    async def next_due(self) -> float | None:
        """The time of the first that is to come; `None` where none is."""

    async def claim(self, claims: Sequence[Claim], *, now: float) -> None:
        """Write down a firing of each schedule that is still due then, and when it is due next.

        A schedule of which a firing still waits to be handed in gets no second one.
        """

    async def waiting(self, *, after: Waiting | None, limit: int) -> list[Waiting]:
        """Firings that are still to be handed in, in order of their due times, behind a given one."""

    async def note_ran(self, runs: Sequence[RunId], *, now: float) -> None:
        """Their turns were accepted."""

    async def note_end(self, run: RunId, reason: EndReason) -> None:
        """The turn of a firing ended; any other run is passed over."""

    async def from_the_future(self, moment: float) -> list[Schedule]:
        """Open schedules that were made, or fired last, later than a moment."""

    async def replan(self, schedules: Sequence[Schedule], *, now: float) -> None:
        """Write down their `next_at`, and that nothing of them is later than now."""


class Scheduler:
    """Fires from `__aenter__` to `__aexit__`; to be opened when the bus is served, closed before it drains.

    A due time is first claimed, under the id of the turn to come, then handed in, then ticked off. After a
    crash in between it is handed in again, and the journal knows it. Times that were missed, because the bot
    or the machine was off, make one firing.
    """

    def __init__(self, schedules: Schedules, publish: Publish, clock: Clock | None = None) -> None:
        self._schedules = schedules
        self._publish = publish
        self._clock = clock or WallClock()
        self._changed = asyncio.Event()
        self._seen = float("-inf")
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._run(), name="scheduler")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    def wake(self) -> None:
        """The next due time may have changed."""
        self._changed.set()

    async def note_end(self, run: RunId, reason: EndReason) -> None:
        """The turn of a message with `Trigger.SCHEDULE` has ended.

        Raises:
            StoreError: It could not be written down.
        """
        await self._schedules.note_end(run, reason)

    async def _run(self) -> None:
        while True:
            self._changed.clear()
            try:
                next_at = await self._round()
            except Exception:  # one bad round must not end all schedules
                log.exception("schedules could not be looked at, trying again")
                next_at = self._clock.now() + RETRY
            await self._sleep_until(next_at)

    async def _sleep_until(self, moment: float) -> None:
        while not self._changed.is_set() and (left := moment - self._clock.now()) > 0:
            if self._seen - self._clock.now() > SET_BACK:
                return
            await self._clock.wait(self._changed, left)

    async def _round(self) -> float:
        """Fire what is due; gives when to look again."""
        now = self._clock.now()
        if self._seen == float("-inf") or self._seen - now > SET_BACK:
            await self._follow_clock(now)
        self._seen = now
        while due := await self._schedules.due(now, limit=BATCH):
            await self._schedules.claim([_claim(schedule, now) for schedule in due], now=now)
        is_done = await self._hand_in(now)
        next_at = await self._schedules.next_due()
        look_at = now + FOREVER if next_at is None else next_at
        return look_at if is_done else min(look_at, now + RETRY)

    async def _follow_clock(self, now: float) -> None:
        """Bring back schedules that a clock which ran ahead has carried off; no due time fires again."""
        carried = await self._schedules.from_the_future(now + SET_BACK)
        if carried:
            log.warning("clock was set back, planning schedules anew", extra={"schedules": len(carried)})
            await self._schedules.replan([_bring_back(schedule, now) for schedule in carried], now=now)

    async def _hand_in(self, now: float) -> bool:
        """Publish every firing that waits; tells whether all were taken."""
        is_done, last = True, None
        while batch := await self._schedules.waiting(after=last, limit=BATCH):
            taken = [firing.run for schedule, firing in batch if await self._take(schedule, firing, now)]
            if taken:
                await self._schedules.note_ran(taken, now=now)
            is_done, last = is_done and len(taken) == len(batch), batch[-1]
        return is_done

    async def _take(self, schedule: Schedule, firing: Firing, now: float) -> bool:
        try:
            async with asyncio.timeout(PUBLISH_SECONDS):
                receipt = await self._publish(message_of(schedule, firing, now=now))
        except Exception:  # one that can't be taken must not hold up the others
            log.exception("schedule not handed in, trying again", extra={"schedule": schedule.id})
            return False
        if receipt is Receipt.REFUSED:  # its session has too much waiting
            log.warning("schedule refused", extra={"schedule": schedule.id})
        return receipt is not Receipt.REFUSED


def _claim(schedule: Schedule, now: float) -> Claim:
    """What a due schedule does now: one firing, however many of its times have passed."""
    due = schedule.next_at if schedule.next_at is not None else now
    try:
        next_at = next_after(schedule.timing, max(now, due))
    except ScheduleFault as error:  # its time zone is known on this machine no more
        log.error("schedule ends", extra={"schedule": schedule.id, "cause": str(error)})
        next_at = None
    return Claim(schedule=schedule, run=RunId(new_id()), next_at=next_at)


def _bring_back(schedule: Schedule, now: float) -> Schedule:
    """Plan a repeating one from now on; one that waits for the time it was made for goes on waiting."""
    match schedule.timing:
        case Every(seconds=seconds, start=start) if (
            schedule.last_at is None and start > schedule.created_at + seconds + SET_BACK
        ):
            return schedule
        case Every() | Cron() as timing:
            return replace(schedule, next_at=next_after(timing, now))
        case _:
            return schedule
