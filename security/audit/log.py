"""The audit log of the running bot: takes events on the event loop, and has a thread write them."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Final, Protocol, TypeAlias

import msgspec

from bot.agent.audit import AuditEntry, AuditEvent
from bot.errors import StoreError
from bot.messages import utc_now
from security.audit.entries import make_entry
from security.audit.files import Rotation, find_cut
from security.audit.line import ACTOR
from security.audit.writer import Writer

log = logging.getLogger(__name__)

MAX_WAITING: Final = 10_000  # events of each kind; past it `record` waits, and `note` refuses
MAX_BATCH: Final = 256  # events that are written together
NOTE_SECONDS: Final = 0.1  # that an event nobody waits for may wait for others, to be written with them
WRITE_SECONDS: Final = 10.0
CLOSE_SECONDS: Final = 10.0
DEFAULT_ROTATION: Final = Rotation()


class Pointer(Protocol):
    """Counts the bytes written to each file, outside of the file: what is cut off stays missing."""

    async def lengths(self) -> dict[str, int]: ...

    async def advance(self, file: str, count: int) -> None: ...


class _Waiting(msgspec.Struct, frozen=True):
    """An event on its way, and when it was handed in; `is_written` is there where somebody waits for it."""

    event: AuditEvent
    at: datetime
    is_written: asyncio.Future[bool] | None = None


_Outcome: TypeAlias = asyncio.Future[tuple[str, int]]


class AuditLog:
    """Fulfils `bot.agent.audit.Audit`; its owner closes it, before the store is closed.

    Events are written in the order in which they come. Those that come while the disk is busy are written
    together; a caller that is cancelled meanwhile does not take its event back.

    Args:
        redact: Hides what must not be kept, in targets, states and context; actor, action and session are
            kept as they are. An event that it fails on is kept without these texts. Called by the thread.
        on_failure: Told once when the log can't be written any more, with the cause.
        is_synced: See `Writer`.
        max_waiting: Events that may wait for the disk.

    Attributes:
        is_writable: False from a failure until a line is written again.
    """

    def __init__(
        self,
        directory: Path,
        pointer: Pointer,
        *,
        rotation: Rotation = DEFAULT_ROTATION,
        redact: Callable[[str], str] = str,
        on_failure: Callable[[str], None] | None = None,
        is_synced: bool = True,
        clock: Callable[[], datetime] = utc_now,
        max_waiting: int = MAX_WAITING,
    ) -> None:
        self._directory = directory
        self._pointer = _Lengths(pointer)
        self._redact = redact
        self._on_failure = on_failure
        self._clock = clock
        self._writer = Writer(directory, rotation=rotation, is_synced=is_synced)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="audit")
        self._max_waiting = max_waiting
        self._slots = asyncio.Semaphore(max_waiting)
        self._waiting: deque[_Waiting] = deque()
        self._is_idle = asyncio.Event()
        self._is_idle.set()
        self._timer: asyncio.TimerHandle | None = None
        self._opening = asyncio.Lock()
        self._has_begun = False
        self._is_open = True
        self._lost = 0
        self.is_writable = True

    async def open(self) -> None:
        """Learn how long the files must be, before the first line; `record` does it where needed."""
        async with self._opening:
            if not self._has_begun:
                self._writer.lengths = await self._pointer.ask()
                self._has_begun = True
                self._go_on()

    async def record(self, event: AuditEvent) -> None:
        """See `Audit.record`; the line is on the disk when this returns, or its loss is logged."""
        await self.keep(event)

    async def keep(self, event: AuditEvent) -> bool:
        """Record, and tell whether the line is on the disk; waits at most 10 s."""
        try:
            async with asyncio.timeout(WRITE_SECONDS):
                await self.open()
                await self._slots.acquire()
                is_written: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
                self._take(event, is_written)
                self._start()
                if not await is_written:
                    return False
        except TimeoutError:
            self._fail([event.action], f"the disk took more than {WRITE_SECONDS:g} s")
            return False
        await self._pointer.tell()
        return True

    def note(self, event: AuditEvent) -> None:
        """Record without waiting; where too many wait, the event is lost, which is logged and recorded."""
        if len(self._waiting) >= self._max_waiting:
            self._lost += 1
            self._fail([event.action], f"{len(self._waiting)} events wait to be written")
            return
        self._take(event, None)
        if self._timer is None and self._is_idle.is_set():
            self._timer = asyncio.get_running_loop().call_later(NOTE_SECONDS, self._start)

    async def aclose(self) -> None:
        """Write what waits, and take nothing more; gives up after 10 s."""
        self._is_open = False
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                if self._waiting:
                    await self.open()
                    self._start()
                await self._is_idle.wait()
                await self._pointer.tell()
        except TimeoutError:
            log.critical("audit lines lost at the end", extra={"count": len(self._waiting)})
        self._thread.shutdown(wait=False)

    async def cut_files(self) -> list[str]:
        """The files that are shorter than what was written to them, or gone."""
        lengths = await self._pointer.ask()
        return await asyncio.to_thread(find_cut, self._directory, lengths)

    # --- on the way to the disk

    def _take(self, event: AuditEvent, is_written: asyncio.Future[bool] | None) -> None:
        waiting = _Waiting(event, self._clock(), is_written)
        if self._is_open:
            self._waiting.append(waiting)
            return
        self._answer([waiting], is_written=False)
        self._fail([event.action], "the log is closed")

    def _start(self) -> None:
        """Have what waits written, unless that is going on."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._is_idle.is_set():
            self._go_on()

    def _go_on(self) -> None:
        """Hand what waits to the thread, one batch at a time."""
        if not self._waiting or not self._has_begun:
            self._is_idle.set()
            return
        self._is_idle.clear()
        batch = [self._waiting.popleft() for _ in range(min(MAX_BATCH, len(self._waiting)))]
        loss = [self._loss()] if self._lost else []
        written = asyncio.wrap_future(self._thread.submit(self._write, loss, batch))
        written.add_done_callback(partial(self._settle, batch, self._lost))

    def _write(self, loss: list[AuditEntry], batch: Sequence[_Waiting]) -> tuple[str, int]:
        """Redact and write events; what the thread does."""
        entries = [make_entry(waiting.event, self._redact, waiting.at) for waiting in batch]
        return self._writer.append(loss + entries)

    def _settle(self, batch: Sequence[_Waiting], reported: int, written: _Outcome) -> None:
        error = None if written.cancelled() else written.exception()
        if written.cancelled() or error is not None:
            self._lost += len(batch)
            actions = [waiting.event.action for waiting in batch]
            self._fail(actions, str(error or "the thread has ended"), error)
            self._answer(batch, is_written=False)
        else:
            self._lost -= reported  # more may have been refused meanwhile
            self._pointer.note(*written.result())
            if not self.is_writable:
                log.warning("audit log is written again")
            self.is_writable = True
            self._answer(batch, is_written=True)
        self._go_on()

    def _answer(self, batch: Sequence[_Waiting], *, is_written: bool) -> None:
        for waiting in batch:
            if waiting.is_written is None:
                continue
            self._slots.release()
            if not waiting.is_written.done():  # else its caller was cancelled
                waiting.is_written.set_result(is_written)

    def _fail(self, actions: Sequence[str], cause: str, error: BaseException | None = None) -> None:
        """Log what is lost; tell of the first failure in a row."""
        known = error is None or isinstance(error, OSError | StoreError)
        for action in actions:
            log.critical("audit line lost", extra={"action": action, "cause": cause})
        if not known:
            log.error("audit log broke down", exc_info=error)
        was_writable, self.is_writable = self.is_writable, False
        if was_writable and self._on_failure is not None:
            self._on_failure(cause)

    def _loss(self) -> AuditEntry:
        event = AuditEvent(
            severity="alert",
            actor=ACTOR,
            action="lines lost",
            target="audit log",
            status="written again",
            context=(("count", self._lost),),
        )
        return make_entry(event, str, self._clock())


class _Lengths:
    """Keeps the pointer at the lengths that the writer reports, which are those of whole files."""

    def __init__(self, pointer: Pointer) -> None:
        self._pointer = pointer
        self._turn = asyncio.Lock()
        self._known: dict[str, int] | None = None
        self._new: dict[str, int] = {}

    def note(self, file: str, length: int) -> None:
        """A file has so many bytes now."""
        self._new[file] = length

    async def ask(self) -> dict[str, int]:
        """What the pointer knows; nothing where it can't be asked, which is logged."""
        try:
            return await self._pointer.lengths()
        except StoreError as error:
            log.critical("audit lengths not known", extra={"cause": str(error)})
            return {}

    async def tell(self) -> None:
        """Bring the pointer up to what was noted; when that fails, it is tried with the next line."""
        async with self._turn:
            new, self._new = self._new, {}
            if not new:
                return
            try:
                if self._known is None:
                    self._known = await self._pointer.lengths()
                for file, length in new.items():
                    if (count := length - self._known.get(file, 0)) > 0:
                        await self._pointer.advance(file, count)
                        self._known[file] = length
            except StoreError as error:
                self._known = None
                self._new = new | self._new
                log.critical("audit length not kept", extra={"cause": str(error)})
            except asyncio.CancelledError:
                self._known = None  # whether it was advanced is not known: ask again
                self._new = new | self._new
                raise
