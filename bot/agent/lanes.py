"""Lanes: the turns of one session one after another, those of different sessions side by side."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from typing import Protocol

from bot.agent.run import Run
from bot.agent.store import Pending
from bot.messages import SessionKey


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
        self.waiting: deque[Pending] = deque()
        self.running: Run | None = None
        self.done: asyncio.Future[None] | None = None

    def holds(self, dedupe_key: str) -> bool:
        """Whether a message waits or runs here already."""
        here = [pending.message for pending in self.waiting]
        if self.running is not None:
            here.append(self.running.message)
        return any(message.dedupe_key == dedupe_key for message in here)

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
        self, work: Work, *, max_concurrent_turns: int, spawn: Callable[..., asyncio.Task[None]]
    ) -> None:
        self._work = work
        self._spawn = spawn
        self._slots = asyncio.Semaphore(max_concurrent_turns)
        self._lanes: dict[SessionKey, Lane] = {}
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

    def put(self, pending: Pending) -> None:
        """Add a message to its session's lane; the order of the calls is the order of the turns."""
        session = pending.message.session
        lane = self._lanes.get(session)
        if lane is not None:
            lane.waiting.append(pending)
            return
        lane = self._lanes[session] = Lane(session)
        lane.waiting.append(pending)
        self._spawn(self._drain(lane), name=f"lane {session}")

    def close(self) -> None:
        """Begin no more turns; those that run go on."""
        self._is_open = False

    async def _drain(self, lane: Lane) -> None:
        try:
            while lane.waiting and self._is_open:
                async with self._slots:
                    if lane.waiting and self._is_open:
                        await self._work(lane.waiting.popleft(), lane)
        finally:
            del self._lanes[lane.session]
