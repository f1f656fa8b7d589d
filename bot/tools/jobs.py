"""Runs what may hang: within a time limit, really stopped, and owned until it is gone."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self, TypeVar

import msgspec

log = logging.getLogger(__name__)

T = TypeVar("T")

REAP = 1.0  # seconds that a job which was stopped gets to clean up


class Late(msgspec.Struct, frozen=True):
    """A job did not end in time; one that is not gone took no notice of being stopped."""

    is_gone: bool


class Jobs:
    """Runs each job in a task of its own, so that one which hangs holds up nobody but itself.

    One for the whole bot: what does not stop stays here, and is stopped again by `aclose`.
    """

    def __init__(self, *, reap: float = REAP) -> None:
        self._reap = reap
        self._tasks: set[asyncio.Task[Any]] = set()  # `Any`: of every job's own type

    async def run(self, job: Callable[[], Awaitable[T]], *, seconds: float | None, name: str) -> T | Late:
        """Run a job; its errors are raised here. Cancelling this stops the job as a time limit does.

        Args:
            seconds: Its time limit; `None` where the job has one of its own.
        """
        loop = asyncio.get_running_loop()
        is_over: asyncio.Future[None] = loop.create_future()

        def end() -> None:
            if not is_over.done():
                is_over.set_result(None)

        def bury(task: asyncio.Task[T]) -> None:
            self._tasks.discard(task)
            if not task.cancelled():
                task.exception()  # one that was stopped has nobody left to hear of it
            end()

        task = loop.create_task(_contain(job), name=name)
        self._tasks.add(task)
        task.add_done_callback(bury)
        timer = None if seconds is None else loop.call_later(seconds, end)
        try:
            await is_over  # half the price of `asyncio.wait`, once a tool call
            is_late = not task.done()
        finally:
            if timer is not None:
                timer.cancel()
            if not task.done():
                await self._stop(task)
        if is_late:
            return Late(is_gone=task.done())
        if task.cancelled():
            raise RuntimeError(f"{name} cancelled itself")
        return task.result()

    async def aclose(self) -> None:
        """Stop all that is left; what still takes no notice is named in the log."""
        left = set(self._tasks)
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=self._reap)
        for task in left:
            if not task.done():
                log.warning("job left behind", extra={"job": task.get_name()})

    async def _stop(self, task: asyncio.Task[Any]) -> None:
        task.cancel()
        await asyncio.wait({task}, timeout=self._reap)
        if not task.done():
            log.warning("job does not stop", extra={"job": task.get_name()})


async def _contain(job: Callable[[], Awaitable[T]]) -> T:
    try:
        return await job()
    except SystemExit as error:  # out of a task it would end the event loop, and the bot
        raise RuntimeError("a job tried to end the process") from error


class Countdown:
    """Calls `expire` after so many seconds, not counting those in which it is paused.

    A context manager: it runs inside, and never calls anything afterwards.
    """

    def __init__(self, seconds: float, expire: Callable[[], None]) -> None:
        self._left = seconds
        self._expire = expire
        self._pauses = 1  # until it is entered
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> Self:
        self._go_on()
        return self

    def __exit__(self, *_: object) -> None:
        self._halt()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stand still; several may want it to at the same time."""
        self._halt()
        try:
            yield
        finally:
            self._go_on()

    def _halt(self) -> None:
        self._pauses += 1
        if self._timer is not None:
            self._left = max(0.0, self._timer.when() - self._loop.time())
            self._timer.cancel()
            self._timer = None

    def _go_on(self) -> None:
        self._pauses -= 1
        if self._pauses == 0:
            self._timer = self._loop.call_later(self._left, self._expire)
