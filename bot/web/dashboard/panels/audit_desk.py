"""The audit log as operators look at it: read in threads, and not by too many at once."""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from typing import Final, Literal, Protocol, TypeAlias, TypeVar

from bot.agent.audit import AuditEntry, Damaged, Findings
from bot.agent.audit_query import CSV_HEAD, Query, as_csv, as_json
from bot.errors import StoreError

log = logging.getLogger(__name__)

Form: TypeAlias = Literal["csv", "jsonl"]
Result = TypeVar("Result")

READ_SECONDS: Final = 30.0
CHECK_SECONDS: Final = 300.0
MAX_READERS: Final = 2
MAX_EXPORTED: Final = 10_000  # events, some MB; the command line exports all


class Book(Protocol):
    """The audit log from its beginning; blocks, and raises `StoreError` where it can't be read."""

    def check(self) -> Findings: ...

    def read_new(self) -> Iterator[AuditEntry | Damaged]: ...


class AuditDesk:
    """Reads the audit log for all pages.

    Args:
        open_book: Opens it anew, with the lengths that its files must have.
    """

    def __init__(self, open_book: Callable[[], Awaitable[Book]]) -> None:
        self._open = open_book
        self._readers = asyncio.Semaphore(MAX_READERS)
        self._check: asyncio.Task[Findings] | None = None

    async def find(self, query: Query, *, limit: int) -> list[AuditEntry]:
        """The newest events that are wanted, the newest first.

        Raises:
            StoreError: The log can't be read, or not in time.
        """
        return await self._read(lambda book: _newest(book, query, limit))

    async def export(self, query: Query, form: Form) -> bytes:
        """The newest events that are wanted as a file, the oldest first; `MAX_EXPORTED` at most.

        Raises:
            StoreError: As for `find`.
        """
        return await self._read(lambda book: _file(_newest(book, query, MAX_EXPORTED), form))

    async def check(self) -> Findings:
        """Check all of the log; who asks while it is being checked waits for the same answer.

        Raises:
            StoreError: It can't be read, or not in time.
        """
        if self._check is None or self._check.done():
            self._check = asyncio.create_task(self._look(), name="audit check")
            self._check.add_done_callback(_take_note)  # all who asked may have closed their pages
        return await asyncio.shield(self._check)

    async def aclose(self) -> None:
        """Wait no longer for a check."""
        if self._check is not None:
            self._check.cancel()
            await asyncio.wait({self._check})

    async def _look(self) -> Findings:
        book = await self._open()
        return await _in_time(asyncio.to_thread(book.check), CHECK_SECONDS)

    async def _read(self, work: Callable[[Book], Result]) -> Result:
        async with self._readers:
            book = await self._open()
            return await _in_time(asyncio.to_thread(work, book), READ_SECONDS)


def _take_note(check: asyncio.Task[Findings]) -> None:
    if not check.cancelled() and (error := check.exception()) is not None:
        log.warning("audit log not checked", extra={"cause": str(error)})


async def _in_time(work: Awaitable[Result], seconds: float) -> Result:
    try:
        async with asyncio.timeout(seconds):
            return await work
    except TimeoutError:
        raise StoreError(f"the audit log was not read within {seconds:g} s") from None


def _newest(book: Book, query: Query, limit: int) -> list[AuditEntry]:
    entries = (entry for entry in book.read_new() if isinstance(entry, AuditEntry) and query.matches(entry))
    return list(reversed(deque(entries, maxlen=limit)))


def _file(entries: list[AuditEntry], form: Form) -> bytes:
    lines = (as_csv(one) if form == "csv" else f"{as_json(one)}\n" for one in reversed(entries))
    return ((CSV_HEAD if form == "csv" else "") + "".join(lines)).encode()
