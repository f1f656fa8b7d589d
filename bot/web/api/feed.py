"""Everything that is published, numbered: for readers who go away and come back.

Nothing is read of the bus before somebody wants to see it, and nothing any more when nobody has for a while.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self, TypeAlias, TypeVar

from bot.bus import Bus, Subscription
from bot.messages import Chunk, End, Missed, OutboundMessage, RunId, SystemEvent, TakenUp, encoder

Item: TypeAlias = SystemEvent | OutboundMessage | Missed

KEPT: Final = 10_000  # items, of all sessions together
KEPT_CHARACTERS: Final = 8_000_000  # in them
LINGER: Final = (
    300.0  # seconds that reading goes on without a reader, so that one who comes back misses nothing
)
TEXT_PAUSE: Final = 0.025  # seconds
WATCH_LIMIT: Final = 1_000  # items of one run that wait for their reader
OF_AN_ITEM: Final = 300  # characters that an item counts for beside its text


class Entry:
    """An item and its number, which grows over restarts too; `Missed` has the last that is missing."""

    __slots__ = ("_encoded", "item", "number")
    __match_args__ = ("number", "item")

    def __init__(self, number: int, item: Item) -> None:
        self.number = number
        self.item = item
        self._encoded = b""

    @property
    def encoded(self) -> bytes:
        """As it is sent to who reads everything; made once for all of them."""
        if not self._encoded:
            match self.item:
                case Missed(count=count):
                    told: dict[str, object] = {"type": "missed", "seq": self.number, "count": count}
                case item:
                    told = {"type": "event", "seq": self.number, "event": item}
            self._encoded = encoder.encode(told)
        return self._encoded


class _Reader:
    """Waits for news; costs nothing while it does not."""

    def __init__(self) -> None:
        self._waiter: asyncio.Future[None] | None = None
        self.is_closed = False

    async def _wait(self) -> None:
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def wake(self) -> None:
        """There is something, or nothing more will come."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def end(self) -> None:
        """Nothing more will come."""
        self.is_closed = True
        self.wake()


class Feed:
    """Reads the bus from the first reader on; whoever made it closes it.

    Args:
        clock: Seconds since 1970; numbers begin with it, so that those of an earlier process are lower.
        linger: Seconds after the last reader until it stops.
        pause: Seconds between two looks at what grows. So the end of an answer may come so long after the
            event that tells of it, but never before what happened on the way to it.
    """

    def __init__(
        self,
        bus: Bus,
        *,
        kept: int = KEPT,
        linger: float = LINGER,
        pause: float = TEXT_PAUSE,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._bus = bus
        self._kept = kept
        self._linger = linger
        self._pause = pause
        self._clock = clock
        self._entries: deque[Entry] = deque()
        self._characters = 0
        self._next = self._first = 0
        self._readers: set[_Reader] = set()
        self._followers: set[Follower] = set()
        self._watches: dict[RunId, list[Watch]] = {}
        self._pumps: tuple[_Pump, ...] = ()
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_reading(self) -> bool:
        """Whether anything is read of the bus."""
        return bool(self._pumps)

    @property
    def newest(self) -> int:
        """The number of the newest item."""
        return self._next - 1

    @property
    def oldest(self) -> int:
        """The number of the oldest item that is kept; past the newest where none is."""
        return self._next - len(self._entries)

    def missed_since(self, number: int) -> Missed:
        """What a reader lacks who wanted to go on with a number; 0 where it is not known how much."""
        return Missed(count=self.oldest - number if number >= self._first else 0)

    def open(self) -> None:
        """Read on for a while, though there is no reader yet."""
        if not self._pumps:
            self._next = self._first = max(self._next, int(self._clock() * 1_000_000))
            self._pumps = (
                _Pump(self._bus.events(limit=self._kept), self._add),
                _Pump(self._bus.outbound(), self._add, pause=self._pause),
            )
        self._stop_later()

    def follow(self, after: int | None = None) -> "Follower":
        """Read everything from now on, or what came after a number.

        The reader is closed by whoever opened it.
        """
        self.open()
        follower = Follower(self, self._next if after is None else after + 1)
        self._followers.add(follower)
        return self._join(follower)

    def watch(self, run: RunId) -> "Watch":
        """Read one run: what is kept of it, and then what comes, up to its end."""
        self.open()
        watch = Watch(self, run)
        self.watch_too(run, watch)
        for entry in self._entries:
            if not isinstance(entry.item, Missed) and entry.item.run in watch.runs:
                watch.put(entry)
        return self._join(watch)

    def watch_too(self, run: RunId, watch: "Watch") -> None:
        """Let a reader of a run see another one."""
        self._watches.setdefault(run, []).append(watch)

    def entry(self, number: int) -> Entry:
        """One of the items that are kept."""
        return self._entries[number - self.oldest]

    def leave(self, reader: _Reader) -> None:
        """A reader has gone."""
        self._readers.discard(reader)
        if isinstance(reader, Follower):
            self._followers.discard(reader)
        for run in [run for run, watches in self._watches.items() if reader in watches]:
            self._watches[run] = [one for one in self._watches[run] if one is not reader]
            if not self._watches[run]:
                del self._watches[run]
        self._stop_later()

    async def aclose(self) -> None:
        """End all readers and stop."""
        for reader in tuple(self._readers):
            reader.end()
        await self._stop()

    def _join(self, reader: "ReaderT") -> "ReaderT":
        self._readers.add(reader)
        self._stop_later()  # not while there is one
        return reader

    def _stop_later(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._readers and self._pumps:
            self._timer = asyncio.get_running_loop().call_later(self._linger, self._close_pumps)

    def _close_pumps(self) -> None:
        for pump in self._pumps:
            pump.close()
        self._pumps = ()
        self._entries.clear()
        self._characters = 0

    async def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        pumps = self._pumps
        self._close_pumps()
        for pump in pumps:
            await pump.ended()

    def _add(self, item: Item) -> None:
        if isinstance(item, Missed):  # the numbers of what the bus could not keep are left out
            self._entries.clear()
            self._characters = 0
            self._next += item.count
            return
        entry = Entry(self._next, item)
        self._next += 1
        self._entries.append(entry)
        self._characters += _size(item)
        while len(self._entries) > self._kept or self._characters > KEPT_CHARACTERS:
            self._characters -= _size(self._entries.popleft().item)
        for watch in self._watches.get(item.run, ()) if item.run is not None else ():
            watch.put(entry)
        for follower in self._followers:
            follower.wake()


class Follower(_Reader):
    """Reads everything, from a number on; one that is too slow is told how much it missed."""

    def __init__(self, feed: Feed, number: int) -> None:
        super().__init__()
        self._feed = feed
        self._number = min(number, feed.newest + 1)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Entry:
        while not self.is_closed:
            if (entry := self.take()) is not None:
                return entry
            await self._wait()
        raise StopAsyncIteration

    def take(self) -> Entry | None:
        """The next item, if there is one now."""
        if self._number < self._feed.oldest:
            missed, self._number = self._feed.missed_since(self._number), self._feed.oldest
            return Entry(self._number - 1, missed)
        if self._number > self._feed.newest:
            return None
        self._number += 1
        return self._feed.entry(self._number - 1)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._feed.leave(self)


class Watch(_Reader):
    """Reads one run to its end, which is the last that it gives.

    A message that was taken up by a run that was going on ends with that one.

    Attributes:
        runs: What is read: the run, and those that have taken it up.
    """

    def __init__(self, feed: Feed, run: RunId) -> None:
        super().__init__()
        self._feed = feed
        self._run = run
        self.runs = {run}
        self._waiting: deque[Entry] = deque()
        self._missed = 0
        self._is_over = False

    @property
    def has_end(self) -> bool:
        """Whether the end is among what waits to be read."""
        return bool(self._waiting) and isinstance(self._waiting[-1].item, End)

    @property
    def is_empty(self) -> bool:
        """Whether nothing waits to be read."""
        return not self._waiting

    def put(self, entry: Entry) -> None:
        """Take an item of the run."""
        item = entry.item
        if isinstance(item, TakenUp) and item.run == self._run and item.by not in self.runs:
            self.runs.add(item.by)
            self._feed.watch_too(item.by, self)
        elif isinstance(item, End) and item.run == self._run and len(self.runs) > 1:
            return  # silent: what is said in answer is said by the other run
        if self.has_end:  # the event that tells of it comes behind it
            return
        if len(self._waiting) >= WATCH_LIMIT:
            self._waiting.popleft()
            self._missed += 1
        self._waiting.append(entry)
        self.wake()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Entry:
        while not self._is_over:
            if self._missed:
                missed, self._missed = self._missed, 0
                return Entry(self._waiting[0].number - 1, Missed(count=missed))
            if self._waiting:
                entry = self._waiting.popleft()
                self._is_over = isinstance(entry.item, End)
                return entry
            if self.is_closed:
                break
            await self._wait()
        raise StopAsyncIteration

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._feed.leave(self)


ReaderT = TypeVar("ReaderT", bound=_Reader)


class _Pump:
    """Reads one subscription in a task of its own, as soon as something comes.

    Args:
        pause: Seconds between two looks; what grows is merged meanwhile, and costs its readers less.
    """

    def __init__(
        self, subscription: Subscription[Item], take: Callable[[Item], None], *, pause: float = 0.0
    ) -> None:
        self._subscription = subscription
        self._task = asyncio.create_task(self._run(take, pause), name="feed")

    async def _run(self, take: Callable[[Item], None], pause: float) -> None:
        async for item in self._subscription:
            take(item)
            while (more := self._subscription.take()) is not None:
                take(more)
            if pause:
                await asyncio.sleep(pause)

    def close(self) -> None:
        """Read no more; the task ends by itself."""
        self._subscription.close()

    async def ended(self) -> None:
        """Wait until it has."""
        await self._task


def _size(item: Item) -> int:
    """About how many characters an item keeps alive."""
    match item:
        case Chunk(text=text) | End(text=text):
            return OF_AN_ITEM + len(text)
        case _:
            return OF_AN_ITEM + len(getattr(item, "text", ""))
