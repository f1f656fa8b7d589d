"""When a platform may be asked: its documented rates, and what it says itself."""

import asyncio
import heapq
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from itertools import count
from typing import TypeAlias

from channels.base import CallKind, Rate

Sleep: TypeAlias = Callable[[float], Awaitable[None]]
Clock: TypeAlias = Callable[[], float]

MARGIN = 0.01  # seconds a second, by which a platform's clock may run faster than ours
MOST_MARGIN = 0.05  # seconds
JITTER = 0.04  # seconds by which calls of different chats may overtake each other on their way
GROWTH_SHARE = 0.9  # of what an account may do; the rest is for last words
SLACK = 1e-9  # what floats lose


class _Window:
    """The newest calls under one rate."""

    __slots__ = ("_calls", "_growth", "_seconds", "_spacing")

    def __init__(self, rate: Rate) -> None:
        self._calls: deque[float] = deque(maxlen=rate.calls)
        is_shared = rate.scope == "account"
        margin = min(MOST_MARGIN, rate.seconds * MARGIN)
        self._seconds = rate.seconds + margin + (JITTER if is_shared else 0.0)
        share = GROWTH_SHARE if is_shared else 1.0
        self._spacing = self._seconds / (rate.calls * share)
        self._growth = float("-inf")

    def ready_at(self, *, is_growth: bool) -> float:
        """When there is room for one more call."""
        ready = self._calls[0] + self._seconds if len(self._calls) == self._calls.maxlen else float("-inf")
        return max(ready, self._growth + self._spacing) if is_growth else ready

    def note(self, now: float, *, is_growth: bool) -> None:
        self._calls.append(now)
        if is_growth:
            self._growth = now

    def settle(self, began: float, now: float) -> None:
        if self._calls and self._calls[-1] == began:
            self._calls[-1] = now
        if self._growth == began:
            self._growth = now

    def is_idle(self, now: float) -> bool:
        return not self._calls or self._calls[-1] + self._seconds <= now


class Budget:
    """What is left of the rates of one scope: a chat, a message, an account.

    Attributes:
        held_until: The platform has said that it will do nothing before.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._windows: dict[Rate, _Window] = {}
        self._last_call = float("-inf")
        self.held_until = float("-inf")

    def ready_at(self, rates: Iterable[Rate], *, is_growth: bool) -> float:
        """When the next call is allowed.

        Growth is spread evenly over the time, and leaves a part of what the account may do to last words; a
        last word may use whatever is left.
        """
        ready = self.held_until
        for rate in rates:
            if (window := self._windows.get(rate)) is not None:
                ready = max(ready, window.ready_at(is_growth=is_growth))
        return ready

    def spend(self, rates: Iterable[Rate], *, is_growth: bool) -> None:
        """Count a call."""
        now = self._last_call = self._clock()
        for rate in rates:
            if rate not in self._windows:
                self._windows[rate] = _Window(rate)
            self._windows[rate].note(now, is_growth=is_growth)

    def settle(self) -> None:
        """The last call has been answered: the platform counted it no later than now."""
        now = self._clock()
        for window in self._windows.values():
            window.settle(self._last_call, now)
        self._last_call = now

    def hold(self, seconds: float) -> None:
        """Ask for nothing for so long."""
        self.held_until = max(self.held_until, self._clock() + seconds)

    @property
    def is_idle(self) -> bool:
        """Whether forgetting it would change nothing."""
        now = self._clock()
        return self.held_until <= now and all(window.is_idle(now) for window in self._windows.values())


class Pace:
    """Lets the calls of one account pass when they are allowed: last words first, else in order of coming."""

    def __init__(self, *, clock: Clock = time.monotonic, sleep: Sleep = asyncio.sleep) -> None:
        self._clock = clock
        self._sleep = sleep
        self._account = Budget(clock)
        self._queue: list[tuple[bool, int, asyncio.Future[None]]] = []
        self._numbers = count()
        self._is_taken = False
        self._naps: set[asyncio.Task[None]] = set()  # of growth that holds the turnstile and waits

    def budget(self) -> Budget:
        """The budget of a chat or a message; its owner keeps it."""
        return Budget(self._clock)

    async def turn(
        self, kind: CallKind, rates: tuple[Rate, ...], *, chat: Budget, message: Budget, is_growth: bool
    ) -> None:
        """Wait until a call may be made, and count it."""
        relevant = [rate for rate in rates if kind in rate.kinds]
        own = [
            (chat, [rate for rate in relevant if rate.scope == "chat"]),
            (message, [rate for rate in relevant if rate.scope == "message"]),
        ]
        await self._wait(own, is_growth=is_growth, may_yield=False)
        shared = [rate for rate in relevant if rate.scope == "account"]
        every = [(self._account, shared), *own]
        place = next(self._numbers)
        is_through = False
        while not is_through:
            async with self._turnstile(place, is_growth=is_growth):
                is_through = await self._wait(every, is_growth=is_growth, may_yield=is_growth)
                if is_through:
                    for budget, its_rates in every:
                        budget.spend(its_rates, is_growth=is_growth)

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
