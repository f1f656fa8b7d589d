"""When a platform may be asked: its documented rates, and what it says itself."""

import asyncio
import heapq
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from itertools import count
from typing import TypeAlias

import msgspec

from channels.base import CallKind, Rate

Sleep: TypeAlias = Callable[[float], Awaitable[None]]
Clock: TypeAlias = Callable[[], float]

MARGIN = 0.01  # seconds a second, by which a platform's clock may run faster than ours
MOST_MARGIN = 0.05  # seconds
GROWTH_SHARE = 0.9  # of what an account may do; the rest is for last words
CATCH_UP = 0.2  # seconds of lateness of an account's growth that are made up for
NOTED = 0.001  # seconds from which a call has waited
SLACK = 1e-9  # what floats lose


class _Window:
    """The newest calls under one rate.

    A platform counts a call when it arrives, which is no later than its answer. So a call holds its place
    until a window's length after its answer, and none is refused for having been quicker than another.
    """

    __slots__ = ("_answered", "_calls", "_catch_up", "_growth_at", "_seconds", "_spacing", "_under_way")

    def __init__(self, rate: Rate) -> None:
        is_shared = rate.scope == "account"
        self._calls = rate.calls
        self._seconds = rate.seconds + min(MOST_MARGIN, rate.seconds * MARGIN)
        self._spacing = self._seconds / (rate.calls * (GROWTH_SHARE if is_shared else 1.0))
        self._catch_up = CATCH_UP if is_shared else 0.0
        self._growth_at = float("-inf")  # when the next growth is due
        self._answered: deque[float] = deque()  # when; the oldest first
        self._under_way: dict[int, float] = {}  # since when, by the number of the call

    def ready_at(self, now: float, *, is_growth: bool) -> float:
        """When there is room for one more call; a guess where calls under way hold every place."""
        while self._answered and self._answered[0] + self._seconds <= now:
            self._answered.popleft()
        ready = float("-inf")
        if len(self._answered) + len(self._under_way) >= self._calls:
            ready = (self._answered[0] if self._answered else now) + self._seconds
        return max(ready, self._growth_at) if is_growth else ready

    def begin(self, number: int, now: float, *, is_growth: bool) -> None:
        self._under_way[number] = now
        if is_growth:
            self._growth_at = max(self._growth_at, now - self._catch_up) + self._spacing

    def end(self, number: int, now: float, *, was_made: bool) -> None:
        if self._under_way.pop(number, None) is not None and was_made:
            self._answered.append(now)
            if not self._catch_up and self._growth_at > float("-inf"):
                self._growth_at = max(self._growth_at, now + self._spacing)

    def is_idle(self, now: float) -> bool:
        return not self._under_way and (not self._answered or self._answered[-1] + self._seconds <= now)


class Budget:
    """What is left of the rates of one scope: a chat, a message, an account.

    Attributes:
        held_until: The platform has said that it will do nothing before.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._windows: dict[Rate, _Window] = {}
        self.held_until = float("-inf")

    def ready_at(self, rates: Iterable[Rate], *, is_growth: bool) -> float:
        """When the next call is allowed.

        Growth is spread evenly over the time, and leaves a part of what the account may do to last words; a
        last word may use whatever is left.
        """
        now, ready = self._clock(), self.held_until
        for rate in rates:
            if (window := self._windows.get(rate)) is not None:
                ready = max(ready, window.ready_at(now, is_growth=is_growth))
        return ready

    def begin(self, number: int, rates: Iterable[Rate], *, is_growth: bool) -> None:
        """Count a call."""
        for rate in rates:
            if rate not in self._windows:
                self._windows[rate] = _Window(rate)
            self._windows[rate].begin(number, self._clock(), is_growth=is_growth)

    def end(self, number: int, *, was_made: bool) -> None:
        """A call has been answered, or was not made after all."""
        for window in self._windows.values():
            window.end(number, self._clock(), was_made=was_made)

    def hold(self, seconds: float) -> None:
        """Ask for nothing for so long."""
        self.held_until = max(self.held_until, self._clock() + seconds)

    @property
    def is_idle(self) -> bool:
        """Whether forgetting it would change nothing."""
        now = self._clock()
        return self.held_until <= now and all(window.is_idle(now) for window in self._windows.values())


class Permit(msgspec.Struct, frozen=True):
    """Leave for one call; whoever got it says how it ended."""

    number: int
    budgets: tuple[Budget, ...]

    def end(self, *, was_made: bool = True) -> None:
        """The call has been answered, or given up; or it was not made after all."""
        for budget in self.budgets:
            budget.end(self.number, was_made=was_made)


NO_PERMIT = Permit(-1, ())


class Pace:
    """Lets the calls of one account pass when they are allowed: last words first, else in order of coming.

    Attributes:
        waits: How many calls had to wait.
        waited: For how many seconds, all together.
    """

    def __init__(self, *, clock: Clock = time.monotonic, sleep: Sleep = asyncio.sleep) -> None:
        self._clock = clock
        self._sleep = sleep
        self._account = Budget(clock)
        self._queue: list[tuple[bool, int, asyncio.Future[None]]] = []
        self._numbers = count()
        self._is_taken = False
        self.waits = 0
        self.waited = 0.0
        self._naps: set[asyncio.Task[None]] = set()  # of growth that holds the turnstile and waits

    def budget(self) -> Budget:
        """The budget of a chat or a message; its owner keeps it."""
        return Budget(self._clock)

    async def turn(
        self, kind: CallKind, rates: tuple[Rate, ...], *, chat: Budget, message: Budget, is_growth: bool
    ) -> Permit:
        """Wait until a call may be made, and count it."""
        began = self._clock()
        relevant = [rate for rate in rates if kind in rate.kinds]
        own = [
            (chat, [rate for rate in relevant if rate.scope == "chat"]),
            (message, [rate for rate in relevant if rate.scope == "message"]),
        ]
        await self._wait(own, is_growth=is_growth, may_yield=False)
        shared = [rate for rate in relevant if rate.scope == "account"]
        every = [(self._account, shared), *own]
        number = next(self._numbers)
        is_through = False
        while not is_through:
            async with self._turnstile(number, is_growth=is_growth):
                is_through = await self._wait(every, is_growth=is_growth, may_yield=is_growth)
                if is_through:
                    for budget, its_rates in every:
                        budget.begin(number, its_rates, is_growth=is_growth)
        if (waited := self._clock() - began) >= NOTED:
            self.waits += 1
            self.waited += waited
        return Permit(number, tuple(budget for budget, _ in every))

    def spare(self, kind: CallKind, rates: tuple[Rate, ...]) -> Permit | None:
        """Leave for a call that matters less than any text, where the account has room and nobody waits."""
        shared = [rate for rate in rates if kind in rate.kinds and rate.scope == "account"]
        if not shared:
            return NO_PERMIT
        if self._is_taken or self._account.ready_at(shared, is_growth=True) > self._clock():
            return None
        number = next(self._numbers)
        self._account.begin(number, shared, is_growth=False)
        return Permit(number, (self._account,))

    async def _wait(
        self, budgets: list[tuple[Budget, list[Rate]]], *, is_growth: bool, may_yield: bool
    ) -> bool:
        """Wait until all budgets allow a call; False where a last word has to pass first."""
        while (
            wait := max(budget.ready_at(rates, is_growth=is_growth) for budget, rates in budgets)
            - self._clock()
        ) > SLACK:
            if not may_yield:
                await self._sleep(wait)
            elif not await self._nap(wait):
                return False
        return True

    async def _nap(self, seconds: float) -> bool:
        """Wait, unless a last word comes; False where one did."""
        nap = asyncio.create_task(_wait_for(self._sleep, seconds), name="nap")
        self._naps.add(nap)
        try:
            if self._queue and not self._queue[0][0]:
                return False
            await asyncio.wait({nap})
            return not nap.cancelled()
        finally:
            self._naps.discard(nap)
            nap.cancel()

    @property
    def held(self) -> float:
        """Seconds for which the platform still wants nothing of this account."""
        return max(0.0, self._account.held_until - self._clock())

    def hold_account(self, seconds: float) -> None:
        """The platform wants nothing of this account for so long."""
        self._account.hold(seconds)

    @asynccontextmanager
    async def _turnstile(self, place: int, *, is_growth: bool) -> AsyncIterator[None]:
        """One at a time; who comes for a last word passes those who only show growth."""
        if self._is_taken:
            passed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            heapq.heappush(self._queue, (is_growth, place, passed))
            if not is_growth:
                for nap in self._naps:
                    nap.cancel()
            try:
                await passed
            except asyncio.CancelledError:
                if passed.done() and not passed.cancelled():
                    self._pass_on()
                raise
        self._is_taken = True
        try:
            yield
        finally:
            self._pass_on()

    def _pass_on(self) -> None:
        while self._queue:
            *_, passed = heapq.heappop(self._queue)
            if not passed.done():
                passed.set_result(None)  # it stays taken
                return
        self._is_taken = False


async def _wait_for(sleep: Sleep, seconds: float) -> None:
    await sleep(seconds)
