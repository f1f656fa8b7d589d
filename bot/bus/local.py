"""The bus of one process: direct calls inward, bounded mailboxes outward."""

import asyncio
from collections import deque
from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import Generic, Self, TypeVar

import msgspec

from bot.bus.base import InboundHandler, Receipt, Wants
from bot.errors import StoreError
from bot.messages import Chunk, End, InboundMessage, Missed, OutboundMessage, RunId, SessionKey, SystemEvent

Item = TypeVar("Item")

MERGE_AT = 256  # chunks of one run that wait before they are joined into one
MAX_RUNS = 10_000  # runs that may wait in one mailbox; the outbox still has what is pushed out


class _Mailbox(Generic[Item]):
    """One reader's end: wakes it when there is something, ends its iteration when closed."""

    def __init__(self) -> None:
        self._leave: Callable[[], None] | None = None
        self._waiter: asyncio.Future[None] | None = None

    def join(self, readers: list[Self]) -> Self:
        """Become one of `readers` until closed."""
        readers.append(self)
        self._leave = partial(readers.remove, self)
        return self

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Item:
        while (item := self.take()) is None:
            if self._leave is None:
                raise StopAsyncIteration
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        return item

    def take(self) -> Item | None:
        """The next item, if there is one now."""
        raise NotImplementedError

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def close(self) -> None:
        """See `Subscription.close`."""
        if self._leave is not None:
            self._leave()
            self._leave = None
        self._wake()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class OutboundMailbox(_Mailbox[OutboundMessage]):
    """Holds at most one merged chunk or one end a run, in the order the runs first spoke.

    An end has the whole text, so it takes the place of the chunks that still wait.
    """

    def __init__(self) -> None:
        super().__init__()
        self._runs: dict[RunId, list[Chunk] | End] = {}

    def put(self, message: OutboundMessage) -> None:
        """Add a message; never waits."""
        waiting = self._runs.get(message.run)
        if is_void(message, waiting):
            return
        if isinstance(message, End):
            self._runs[message.run] = message
        elif not isinstance(waiting, list) or message.attempt > waiting[-1].attempt:
            self._runs[message.run] = [message]
        else:
            waiting.append(message)
            if len(waiting) >= MERGE_AT:
                waiting[:] = [join_chunks(waiting)]
        if len(self._runs) > MAX_RUNS:
            del self._runs[next(iter(self._runs))]
        if self._waiter is not None:
            self._wake()

    @property
    def is_empty(self) -> bool:
        """Whether nothing waits."""
        return not self._runs

    @property
    def has_end(self) -> bool:
        """Whether the last word of a run waits."""
        return any(isinstance(waiting, End) for waiting in self._runs.values())

    def take_chunk(self, run: RunId) -> Chunk | None:
        """What waits of a text that still grows, merged; `None` where nothing does, or its end."""
        waiting = self._runs.get(run)
        if not isinstance(waiting, list):
            return None
        del self._runs[run]
        return join_chunks(waiting)

    def take(self) -> OutboundMessage | None:
        """The next merged chunk or end, if there is one now."""
        if not self._runs:
            return None
        run = next(iter(self._runs))
        waiting = self._runs.pop(run)
        return join_chunks(waiting) if isinstance(waiting, list) else waiting


class EventMailbox(_Mailbox[SystemEvent | Missed]):
    """Holds the newest `limit` events that its reader wants, and counts those that had to go."""

    def __init__(self, limit: int, wants: Wants | None = None) -> None:
        super().__init__()
        self._limit = limit
        self.wants = wants
        self._events: deque[SystemEvent] = deque()
        self._missed = 0

    def put(self, event: SystemEvent) -> None:
        """Add an event, if it is wanted; never waits."""
        if self.wants is not None and not self.wants(type(event), event.session):
            return
        self._events.append(event)
        if len(self._events) > self._limit:
            self._events.popleft()
            self._missed += 1
        if self._waiter is not None:
            self._wake()

    def take(self) -> SystemEvent | Missed | None:
        """The next event, or how many are missing before it, if there is one now."""
        if self._missed:
            missed, self._missed = self._missed, 0
            return Missed(count=missed)
        return self._events.popleft() if self._events else None


def is_void(message: OutboundMessage, waiting: list[Chunk] | End | None) -> bool:
    """Whether what waits of the run leaves nothing for a message to say.

    A lower attempt lost the run; and nothing follows an end but a higher attempt (a parked message that is
    tried again).
    """
    if waiting is None:
        return False
    if isinstance(waiting, End):
        return message.attempt <= waiting.attempt
    return message.attempt < waiting[-1].attempt


def join_chunks(chunks: list[Chunk]) -> Chunk:
    """Join chunks of one attempt, oldest first, into one that shows the same on the screen."""
    if len(chunks) == 1:
        return chunks[0]
    start = max((index for index, chunk in enumerate(chunks) if chunk.replaces), default=0)
    text = "".join(chunk.text for chunk in chunks[start:])
    return msgspec.structs.replace(chunks[-1], text=text, replaces=chunks[start].replaces)


class LocalBus:
    """The bus inside one process."""

    def __init__(self) -> None:
        self._handler: InboundHandler | None = None
        self._channels: dict[str, list[OutboundMailbox]] = {}
        self._everything: list[OutboundMailbox] = []
        self._events: list[EventMailbox] = []

    def serve(self, handler: InboundHandler) -> None:
        """See `Bus.serve`."""
        self._handler = handler

    async def publish(self, message: InboundMessage) -> Receipt:
        """See `Bus.publish`."""
        if self._handler is None:
            raise StoreError("nobody accepts messages yet: the bot is still starting")
        return await self._handler(message)

    def send(self, message: OutboundMessage) -> None:
        """See `Bus.send`."""
        for mailbox in self._channels.get(message.address.channel, ()):
            mailbox.put(message)
        for mailbox in self._everything:
            mailbox.put(message)

    def emit(self, event: SystemEvent) -> None:
        """See `Bus.emit`."""
        for mailbox in self._events:
            mailbox.put(event)

    def outbound(self, *, channel: str | None = None) -> OutboundMailbox:
        """See `Bus.outbound`."""
        readers = self._everything if channel is None else self._channels.setdefault(channel, [])
        return OutboundMailbox().join(readers)

    def is_wanted(self, kind: type[SystemEvent], session: SessionKey) -> bool:
        """See `Bus.is_wanted`."""
        return any(mailbox.wants is None or mailbox.wants(kind, session) for mailbox in self._events)

    def events(self, *, limit: int = 1000, wants: Wants | None = None) -> EventMailbox:
        """See `Bus.events`."""
        return EventMailbox(limit, wants).join(self._events)
