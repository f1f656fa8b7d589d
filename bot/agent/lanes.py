"""Lanes: the turns of one session one after another, those of different sessions side by side."""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Protocol, TypeAlias

from msgspec.structs import replace

from bot.agent.run import Run
from bot.agent.store import Pending
from bot.errors import StoreError
from bot.messages import InboundMessage, RunId, SessionKey, Trigger

log = logging.getLogger(__name__)

Patience: TypeAlias = Callable[[InboundMessage], float]
Merge: TypeAlias = Callable[[Sequence[Pending]], Awaitable[Pending]]

MAX_BURST = 10  # times the patience that is had with one burst


def _impatient(message: InboundMessage) -> float:
    return 0.0


class Work(Protocol):
    """Does one turn from beginning to saved end; never raises but for a bug."""

    def __call__(self, pending: Pending, lane: "Lane") -> Awaitable[None]: ...


class Lane:
    """The actor of one session; it lives only while there is something to do.

    Attributes:
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

    def holds(self, dedupe_key: str) -> bool:
        """Whether a message waits or runs here already."""
        here = [pending.message for pending in self.waiting]
        if self.running is not None:
            here.append(self.running.message)
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

    def take_burst(self) -> list[Pending]:
        """Take the next message, and those behind it that its sender wrote along with it."""
        burst = [self.waiting.popleft()]
        while self.waiting and _goes_on(burst[-1].message, self.waiting[0].message):
            burst.append(self.waiting.popleft())
        return burst

    def start(self, run: Run) -> None:
        """A turn begins."""
        self.running = run
        self.done = asyncio.get_running_loop().create_future()

    def finish(self) -> None:
        """The turn is saved."""
        self.running = None
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
    ) -> None:
        self._work = work
        self._patience = patience
        self._merge = merge
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
        seconds = self._patience(lane.waiting[0].message)
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
        if self._merge is None or self._patience(lane.waiting[0].message) <= 0:
            return lane.waiting.popleft()
        burst = lane.take_burst()
        if len(burst) == 1:
            return burst[0]
        try:
            return await self._merge(burst)
        except StoreError as error:  # the store is in trouble, or one of them was taken back meanwhile
            log.warning("burst not merged", extra={"cause": str(error)})
            lane.waiting.extendleft(reversed(burst[1:]))
            return burst[0]


def _goes_on(message: InboundMessage, following: InboundMessage) -> bool:
    """Whether a message goes on with what its sender wrote before it."""
    return (
        message.sender.id == following.sender.id
        and message.trigger is following.trigger is Trigger.MESSAGE
        and message.address == following.address
    )
