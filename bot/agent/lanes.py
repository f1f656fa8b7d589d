"""Lanes: the turns of one session one after another, those of different sessions side by side."""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Protocol, TypeAlias

from msgspec.structs import replace

from bot.agent.queueing import RulesOf, default_rules
from bot.agent.run import Run
from bot.agent.store import Pending
from bot.errors import StoreError
from bot.messages import InboundMessage, RunId, SessionKey, Trigger

log = logging.getLogger(__name__)

Patience: TypeAlias = Callable[[InboundMessage], float]


class Merge(Protocol):
    """Makes one message of several that wait."""

    def __call__(self, burst: Sequence[Pending], *, is_overflow: bool) -> Awaitable[Pending]: ...


COMMANDS = "\x1fcommands"  # behind a session's key: the lane of its commands
MAX_BURST = 10  # times the patience that is had with one burst


def _impatient(message: InboundMessage) -> float:
    return 0.0


class Work(Protocol):
    """Does one turn from beginning to saved end; never raises but for a bug."""

    def __call__(self, pending: Pending, lane: "Lane") -> Awaitable[None]: ...


class Lane:
    """The actor of one session; it lives only while there is something to do.

    Attributes:
        has_worked: A turn was done since the lane came to life: what waits now has waited for it.
        waiting: What has been accepted and not begun, in order.
        running: The turn that is being done.
        done: Set when that turn is saved, or has failed to be.
    """

    def __init__(self, session: SessionKey) -> None:
        self.session = session
        self.news = asyncio.Event()
        self.waiting: deque[Pending] = deque()
        self.running: Run | None = None
        self.done: asyncio.Future[None] | None = None
        self.has_worked = False

    def eligible(self, fits: Callable[[Pending], bool]) -> list[Pending]:
        """The messages that wait and fit, in order."""
        return [pending for pending in self.waiting if fits(pending)]

    def remove(self, pending: Pending) -> None:
        """A message waits no longer."""
        self.waiting.remove(pending)

    def holds(self, dedupe_key: str) -> bool:
        """Whether a message waits or runs here already."""
        here = [pending.message for pending in self.waiting]
        if self.running is not None:
            here.append(self.running.message)
        if self.running is not None:
            here += [pending.message for pending in self.running.absorbed]
        return any(message.dedupe_key == dedupe_key for message in here)

    def put(self, pending: Pending) -> None:
        """Add a message behind all that wait."""
        self.waiting.append(pending)
        self.news.set()

    def amend(self, run: RunId, text: str) -> None:
        """Change the text of a message that waits."""
        for index, pending in enumerate(self.waiting):
            if pending.message.run == run:
                self.waiting[index] = replace(pending, message=replace(pending.message, text=text))

    def take_out(self, run: RunId) -> Pending | None:
        """Let go of a message that waits; `None` where it has begun."""
        for pending in self.waiting:
            if pending.message.run == run:
                self.waiting.remove(pending)
                return pending
        return None

    def take_burst(self, *, of_all: bool = False, most: int | None = None) -> list[Pending]:
        """Take the next message, and those behind it that go with it.

        Args:
            of_all: Whoever wrote them; else only those of its sender.
            most: How many are taken at most.
        """
        burst = [self.waiting.popleft()]
        while self.waiting and len(burst) != most:
            if not _goes_on(burst[-1], self.waiting[0], of_all=of_all):
                break
            burst.append(self.waiting.popleft())
        return burst

    def start(self, run: Run) -> None:
        """A turn begins."""
        self.running = run
        self.done = asyncio.get_running_loop().create_future()

    def finish(self) -> None:
        """The turn is saved."""
        self.running = None
        self.has_worked = True
        if self.done is not None and not self.done.done():
            self.done.set_result(None)


class Lanes:
    """All lanes that have work, and the slots their turns take.

    A slot is taken by a turn and never by a message that waits for the turn before it, so a flood in one
    session takes one slot at most.
    """

    def __init__(
        self,
        work: Work,
        *,
        max_concurrent_turns: int,
        spawn: Callable[..., asyncio.Task[None]],
        patience: Patience = _impatient,
        merge: Merge | None = None,
        rules: RulesOf = default_rules,
        drop: Callable[[Pending], Awaitable[None]] | None = None,
    ) -> None:
        self._work = work
        self._patience = patience
        self._merge = merge
        self._rules = rules
        self._drop = drop
        self._spawn = spawn
        self._slots = asyncio.Semaphore(max_concurrent_turns)
        self._lanes: dict[str, Lane] = {}
        self._is_open = True

    def __iter__(self) -> Iterator[Lane]:
        return iter(tuple(self._lanes.values()))

    def __len__(self) -> int:
        return len(self._lanes)

    def get(self, session: SessionKey) -> Lane | None:
        """The lane of a session, if it has work."""
        return self._lanes.get(session)

    def can_start(self, session: SessionKey) -> bool:
        """Whether a message put now would begin at once."""
        return self._is_open and session not in self._lanes and not self._slots.locked()

    def put(self, pending: Pending, *, beside: str = "") -> None:
        """Add a message to its session's lane; the order of the calls is the order of the turns.

        Args:
            beside: Names another lane of the session, for what does not wait for its turns.
        """
        key = pending.message.session + beside
        lane = self._lanes.get(key)
        if lane is not None:
            lane.put(pending)
            return
        lane = self._lanes[key] = Lane(pending.message.session)
        lane.put(pending)
        self._spawn(self._drain(key, lane), name=f"lane {key}")

    def close(self) -> None:
        """Begin no more turns; those that run go on."""
        self._is_open = False
        for lane in self:
            lane.news.set()

    async def _drain(self, key: str, lane: Lane) -> None:
        try:
            while lane.waiting and self._is_open:
                await self._wait_for_rest(lane)
                async with self._slots:
                    if lane.waiting and self._is_open:
                        await self._work(await self._next(lane), lane)
        finally:
            del self._lanes[key]

    async def _wait_for_rest(self, lane: Lane) -> None:
        """Let a person who writes in bursts finish, within bounds; files are not waited behind."""
        first = lane.waiting[0].message
        seconds, rules = self._patience(first), self._rules(first)
        if rules.gathers and lane.has_worked:
            seconds = max(seconds, rules.debounce if rules.mode == "collect" else 0.0)
        if seconds <= 0:
            return
        end = asyncio.get_running_loop().time() + MAX_BURST * seconds
        while self._is_open and lane.waiting and not lane.waiting[-1].message.attachments:
            lane.news.clear()
            left = min(seconds, end - asyncio.get_running_loop().time())
            try:
                async with asyncio.timeout(left):
                    await lane.news.wait()
            except TimeoutError:
                return

    async def _next(self, lane: Lane) -> Pending:
        """The message that the next turn answers; where the rules say so, one made of several."""
        if lane.waiting[0].attempts:  # begun before a restart: its line and its tool calls are its own
            return lane.waiting.popleft()
        first = lane.waiting[0].message
        rules = self._rules(first)
        if (excess := len(lane.waiting) - rules.cap) > 0 and self._is_ordinary(first):
            if rules.drop == "old" and self._drop is not None:
                for _ in range(excess):
                    await self._drop(lane.waiting.popleft())
                return await self._next(lane)
            if rules.drop == "summarize":
                return await self._merged(
                    lane, lane.take_burst(of_all=True, most=excess + 1), is_overflow=True
                )
        if rules.gathers and lane.has_worked:
            return await self._merged(lane, lane.take_burst(of_all=True))
        if self._patience(first) > 0:
            return await self._merged(lane, lane.take_burst())
        return lane.waiting.popleft()

    def _is_ordinary(self, message: InboundMessage) -> bool:
        return message.trigger is Trigger.MESSAGE

    async def _merged(self, lane: Lane, burst: list[Pending], *, is_overflow: bool = False) -> Pending:
        if self._merge is None or len(burst) == 1:
            lane.waiting.extendleft(reversed(burst[1:]))
            return burst[0]
        try:
            return await self._merge(burst, is_overflow=is_overflow)
        except StoreError as error:  # the store is in trouble, or one of them was taken back meanwhile
            log.warning("messages not merged", extra={"cause": str(error)})
            lane.waiting.extendleft(reversed(burst[1:]))
            return burst[0]


def _goes_on(pending: Pending, following: Pending, *, of_all: bool) -> bool:
    """Whether a message goes on with what its sender, or anybody, wrote before it."""
    first, second = pending.message, following.message
    return (
        (of_all or first.sender.id == second.sender.id)
        and not following.attempts
        and first.trigger is second.trigger is Trigger.MESSAGE
        and first.address == second.address
    )
