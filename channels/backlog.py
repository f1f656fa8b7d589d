"""What waits for one window or terminal that shows a chat: bounded, and never in anybody's way."""

import asyncio
from collections import OrderedDict, deque
from typing import Final

from bot.messages import Missed, RunId
from channels.frames import Grow, Happened, Over, ServerFrame, Welcome

MAX_FRAMES: Final = 1000  # a reader this far behind starts afresh
MAX_EVENTS: Final = 200


class _Growing:
    """Chunks of one run that wait together, as one frame."""

    def __init__(self, first: Grow) -> None:
        self.run = first.run
        self._replaces = first.replaces
        self._pieces = [first.text]

    def add(self, grow: Grow) -> None:
        if grow.replaces:
            self._pieces.clear()
            self._replaces = True
        self._pieces.append(grow.text)

    def frame(self) -> Grow:
        return Grow(run=self.run, text="".join(self._pieces), replaces=self._replaces)


class Backlog:
    """A queue with one reader that never makes its writers wait.

    Chunks of a run that wait become one; of too many events the oldest go and `Missed` stands in their
    place; messages and ends always stay. Where even these are too many, the queue closes: its reader has to
    connect again, which costs less than all it missed.
    """

    def __init__(self, *, max_frames: int = MAX_FRAMES, max_events: int = MAX_EVENTS) -> None:
        self._max_frames = max_frames
        self._max_events = max_events
        self._next = 0
        self._waiting: OrderedDict[int, ServerFrame | _Growing] = OrderedDict()
        self._growing: dict[RunId, int] = {}
        self._events: deque[int] = deque()
        self._missed: int | None = None  # where `Missed` stands
        self._held = False
        self._closed = False
        self._news = asyncio.Event()

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def is_closed(self) -> bool:
        """Whether nothing is taken any more."""
        return self._closed

    def put(self, frame: ServerFrame) -> None:
        """Queue a frame; after closing this does nothing."""
        if self._closed:
            return
        match frame:
            case Grow():
                self._put_chunk(frame)
            case Over():
                self._drop_chunks(frame.run)  # the end has the whole text
                self._append(frame)
            case Happened():
                self._put_event(frame)
            case _:
                self._append(frame)
        if len(self._waiting) > self._max_frames:
            self._waiting.clear()
            self.close()
        elif not self._held:
            self._news.set()

    def hold(self) -> None:
        """Collect frames, and give none out until `release`."""
        self._held = True

    def release(self, welcome: Welcome) -> None:
        """Go on, with `welcome` before all that was collected; the chunks of it are in there already."""
        for run in list(self._growing):
            self._drop_chunks(run)
        self._waiting[self._next] = welcome
        self._waiting.move_to_end(self._next, last=False)
        self._next += 1
        self._held = False
        self._news.set()

    def close(self) -> None:
        """Take no more and wake the reader; what is queued is still read, unless it was held."""
        if self._held:
            self._waiting.clear()
        self._closed = True
        self._news.set()

    def __aiter__(self) -> "Backlog":
        return self

    async def __anext__(self) -> ServerFrame:
        while self._held or not self._waiting:
            if self._closed:
                raise StopAsyncIteration
            self._news.clear()
            await self._news.wait()
        return self._take()

    def _take(self) -> ServerFrame:
        number, frame = self._waiting.popitem(last=False)
        if isinstance(frame, _Growing):
            del self._growing[frame.run]
            return frame.frame()
        if number == self._missed:
            self._missed = None
        elif self._events and self._events[0] == number:
            self._events.popleft()
        return frame

    def _append(self, frame: ServerFrame | _Growing) -> int:
        number = self._next
        self._waiting[number] = frame
        self._next += 1
        return number

    def _put_chunk(self, grow: Grow) -> None:
        entry = self._waiting.get(self._growing.get(grow.run, -1))
        if isinstance(entry, _Growing):
            entry.add(grow)
        else:
            self._growing[grow.run] = self._append(_Growing(grow))

    def _drop_chunks(self, run: RunId) -> None:
        number = self._growing.pop(run, None)
        if number is not None:
            del self._waiting[number]

    def _put_event(self, frame: Happened) -> None:
        self._events.append(self._append(frame))
        if len(self._events) <= self._max_events:
            return
        oldest = self._events.popleft()
        place = self._waiting.get(self._missed) if self._missed is not None else None
        if self._missed is not None and isinstance(place, Happened) and isinstance(place.event, Missed):
            del self._waiting[oldest]
            self._waiting[self._missed] = Happened(event=Missed(count=place.event.count + 1))
        else:
            self._missed = oldest
            self._waiting[oldest] = Happened(event=Missed(count=1))
