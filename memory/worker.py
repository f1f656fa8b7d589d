"""A thread that owns one database connection and works for the event loop."""

import asyncio
import logging
import sqlite3
import threading
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from typing import Generic, TypeAlias, TypeVar

import msgspec

from bot.errors import BotError, StoreError

log = logging.getLogger(__name__)

Item = TypeVar("Item")
Result = TypeVar("Result")
Job: TypeAlias = Callable[[sqlite3.Connection], Result]

MAX_BATCH = 512  # jobs that share one commit
MAX_PENDING = 20_000  # jobs that may wait; past it the callers do


class Gathered(msgspec.Struct, Generic[Item, Result], frozen=True):
    """A job that costs little more for many than for one: those that wait together are done as one.

    Attributes:
        work: Gives a result for each item, in order; when it raises, each item is tried by itself.
    """

    work: Callable[[sqlite3.Connection, Sequence[Item]], Sequence[Result]]
    item: Item

    def __call__(self, db: sqlite3.Connection) -> Result:
        """Do it for this item alone."""
        return self.work(db, [self.item])[0]


class _Task(Generic[Result]):
    """One job, and who waits for it."""

    __slots__ = ("error", "future", "job", "result")

    def __init__(self, job: Job[Result], future: asyncio.Future[Result]) -> None:
        self.job = job
        self.future = future
        self.result: Result | None = None
        self.error: BaseException | None = None

    def run(self, connection: sqlite3.Connection) -> bool:
        """Do the job; tells whether it went well."""
        try:
            self.result = self.job(connection)
            self.error = None
        except BotError as error:
            self.error = error
        except Exception as error:  # noqa: BLE001 - the one place where a job begins; its caller gets the error
            self.fail(error)
        return self.error is None

    def take(self, result: Result) -> None:
        """It was done together with others."""
        self.result = result
        self.error = None

    def fail(self, cause: Exception) -> None:
        """The store broke down under the job."""
        self.error = StoreError(f"the store failed: {cause}")
        self.error.__cause__ = cause

    def settle(self) -> None:
        """Hand the outcome to the caller, in the event loop's thread."""
        if self.future.done():  # the caller was cancelled; what was written stays written
            return
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.result)  # type: ignore[arg-type]  # set when there is no error


class Worker:
    """Runs jobs one after another on a connection of its own, and wakes the loop once a batch.

    With `commits`, the jobs that wait when one is taken share its transaction, and nobody hears of success
    before the commit. A job that raises takes back only its own writes; so a job has to be repeatable.

    Args:
        on_undo: Called in the thread when a transaction was taken back.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        *,
        name: str,
        commits: bool,
        max_pending: int = MAX_PENDING,
        on_undo: Callable[[], None] = lambda: None,
    ) -> None:
        self._connection = connection
        self._commits = commits
        self._on_undo = on_undo
        self._queue: SimpleQueue[_Task[object] | None] = SimpleQueue()
        self._room = max_pending
        self._has_room = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._is_open = True
        self._thread.start()

    async def run(self, job: Job[Result]) -> Result:
        """Do a job in the thread.

        Raises:
            StoreError: The job, or the commit that it was part of, failed; nothing of it was written.
        """
        if not self._is_open:
            raise StoreError("the store is closed")
        while self._room <= 0:
            self._has_room.clear()
            await self._has_room.wait()
            if not self._is_open:
                raise StoreError("the store is closed")
        self._room -= 1
        future: asyncio.Future[Result] = self._loop.create_future()
        self._queue.put(_Task(job, future))  # type: ignore[arg-type]  # a queue of all kinds of results
        return await future

    async def close(self) -> None:
        """Finish what waits, then close the connection."""
        self._is_open = False
        self._queue.put(None)
        await asyncio.to_thread(self._thread.join)

    def _work(self) -> None:
        go_on = True
        while go_on:
            batch, go_on = self._next_batch()
            if batch:
                (self._run_committed if self._commits else _run_each)(self._connection, batch)
                self._loop.call_soon_threadsafe(self._settle, batch)
        self._connection.close()

    def _next_batch(self) -> tuple[list["_Task[object]"], bool]:
        """Everything that waits, at least one; and whether more may come."""
        batch: list[_Task[object]] = []
        task = self._queue.get()
        while task is not None:
            batch.append(task)
            if len(batch) == MAX_BATCH:
                return batch, True
            try:
                task = self._queue.get_nowait()
            except Empty:
                return batch, True
        return batch, False

    def _settle(self, batch: list["_Task[object]"]) -> None:
        for task in batch:
            task.settle()
        self._room += len(batch)  # not before: a cancelled caller's job still takes up room
        self._has_room.set()

    def _run_committed(self, connection: sqlite3.Connection, batch: list["_Task[object]"]) -> None:
        if self._run_in_transaction(connection, batch) or len(batch) == 1:
            return
        for task in batch:  # one of them failed: each for itself, so that the others are not taken back
            self._run_in_transaction(connection, [task])

    def _run_in_transaction(self, connection: sqlite3.Connection, batch: list["_Task[object]"]) -> bool:
        """Run all of them and commit, or leave nothing behind."""
        try:
            connection.execute("BEGIN IMMEDIATE")
            if all(_run_together(connection, group) for group in _groups(batch)):
                connection.execute("COMMIT")
                return True
        except sqlite3.Error as error:  # the disk is full, the file is gone: nothing of the batch is safe
            for task in batch:
                task.fail(error)
        _roll_back(connection)
        self._on_undo()
        return False


def _run_each(connection: sqlite3.Connection, batch: list["_Task[object]"]) -> None:
    for task in batch:
        task.run(connection)


def _groups(batch: list["_Task[object]"]) -> list[list["_Task[object]"]]:
    """What can be done as one, at the place of the first of it, but never past a job that stands alone."""
    together: dict[object, list[_Task[object]]] = {}
    groups: list[list[_Task[object]]] = []
    for task in batch:
        if not isinstance(task.job, Gathered):
            groups.append([task])
            together.clear()
            continue
        group = together.setdefault(task.job.work, [])
        if not group:
            groups.append(group)
        group.append(task)
    return groups


def _run_together(connection: sqlite3.Connection, group: list["_Task[object]"]) -> bool:
    """Do the jobs of one group; tells whether all went well."""
    first = group[0].job
    if len(group) == 1 or not isinstance(first, Gathered):
        return group[0].run(connection)
    try:
        items = [task.job.item for task in group if isinstance(task.job, Gathered)]
        for task, result in zip(group, first.work(connection, items), strict=True):
            task.take(result)
    except sqlite3.OperationalError:  # the disk is full, the file is gone
        raise
    except Exception as error:  # noqa: BLE001 - each is tried again by itself, and then has its own error
        for task in group:
            task.fail(error)
        return False
    return True


def _roll_back(connection: sqlite3.Connection) -> None:
    """Leave the transaction, unless SQLite did so itself (it does when the disk is full)."""
    try:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
    except sqlite3.Error as error:  # every following write fails too, and says so to its caller
        log.error("store can't roll back", extra={"cause": str(error)})
