"""Brings answers onto a platform: grown in place at its pace, finished once, continued after a crash."""

import asyncio
import logging
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Protocol, Self, TypeAlias

from bot.bus import Bus
from bot.bus.local import OutboundMailbox
from bot.errors import ChannelError, StoreError
from bot.messages import Address, Chunk, End, OutboundMessage, RunId
from channels.base import ChannelAdapter

log = logging.getLogger(__name__)

CALL_SECONDS = 30.0  # the most that one call to a platform may take
MAX_WAIT = 60.0  # the longest pause between two tries, unless the platform asks for more
MAX_TRIES = 10  # then the answer waits in the outbox for the next start
NOTHING = "…"  # stands in a message whose text has gone from a shortened answer
Sleep: TypeAlias = Callable[[float], Awaitable[None]]
Clock: TypeAlias = Callable[[], float]


class Outbox(Protocol):
    """What delivery needs of the store."""

    async def pending(self, channel: str) -> list[End]: ...

    async def posted(self, run: RunId) -> dict[int, str]: ...

    async def record(self, run: RunId, part: int, platform_id: str) -> None: ...

    async def confirm(self, run: RunId) -> None: ...

    async def give_up(self, run: RunId) -> None: ...

    async def count_try(self, run: RunId) -> int: ...


class _Draft:
    """An answer on the platform: its newest text, and the messages that show it, by part.

    Attributes:
        is_unsure: A message of it may stand there that we do not know of. A post under the same key gives us
            that one instead of a new one, with the text that it had.
    """

    def __init__(self, posted: dict[int, str], *, is_unsure: bool) -> None:
        self.text = ""
        self.attempt = 0
        self.posted = posted
        self.shown: dict[int, str] = {}
        self.is_unsure = is_unsure

    def grow(self, chunk: Chunk) -> None:
        """Add a chunk; a higher attempt makes void what the one before it said."""
        is_new = chunk.replaces or chunk.attempt > self.attempt
        self.text = chunk.text if is_new else self.text + chunk.text
        self.attempt = chunk.attempt


class _Chat:
    """What waits for one chat; order is kept within it, and nobody else waits for it."""

    def __init__(self) -> None:
        self.mailbox = OutboundMailbox()
        self.drafts: dict[RunId, _Draft] = {}
        self.next_call = 0.0
        self.is_busy = False
        self.pause: asyncio.Task[None] | None = None


class Delivery:
    """Delivers the answers of one channel from `__aenter__` to `__aexit__`.

    Args:
        sleep: Waits some seconds, on the clock that `clock` reads; tests pass their own.
        call_seconds: The most that one call to the platform may take.
    """

    def __init__(
        self,
        adapter: ChannelAdapter,
        *,
        bus: Bus,
        outbox: Outbox,
        sleep: Sleep = asyncio.sleep,
        clock: Clock = time.monotonic,
        call_seconds: float = CALL_SECONDS,
    ) -> None:
        self._adapter = adapter
        self._bus = bus
        self._outbox = outbox
        self._sleep = sleep
        self._clock = clock
        self._call_seconds = call_seconds
        self._chats: dict[Address, _Chat] = {}
        self._resumed: set[RunId] = set()
        self._is_closing = False
        self._group = asyncio.TaskGroup()

    async def __aenter__(self) -> Self:
        """Take up what the platform has not confirmed, then follow the bus."""
        self._subscription = self._bus.outbound(channel=self._adapter.name)
        try:
            pending = await self._outbox.pending(self._adapter.name)
        except BaseException:
            self._subscription.close()
            raise
        await self._group.__aenter__()
        for end in pending:
            self._resumed.add(end.run)
            self._put(end)
        self._pump_task = self._group.create_task(self._pump(), name=f"delivery {self._adapter.name}")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Deliver what is there already; what fails now stays in the outbox."""
        self._is_closing = True
        self._subscription.close()
        for chat in self._chats.values():
            if chat.pause is not None:
                chat.pause.cancel()
        try:
            async with asyncio.timeout(self._call_seconds):
                await self._group.__aexit__(None, None, None)
        except TimeoutError:
            log.warning("delivery cut short", extra={"channel": self._adapter.name})

    async def _pump(self) -> None:
        async for message in self._subscription:
            self._put(message)

    def _put(self, message: OutboundMessage) -> None:
        chat = self._chats.setdefault(message.address, _Chat())
        chat.mailbox.put(message)
        if not chat.is_busy:
            chat.is_busy = True
            self._group.create_task(self._drain(message.address, chat), name=f"chat {message.address.chat}")

    async def _drain(self, address: Address, chat: _Chat) -> None:
        """Bring everything that waits to one chat, in order; a chat with nothing half done is forgotten."""
        while not chat.mailbox.is_empty or await self._rest(chat):
            if chat.mailbox.is_empty:
                continue
            await self._wait_for_turn(chat)  # first, so that what comes meanwhile is shown by the same call
            if (message := chat.mailbox.take()) is not None:
                await self._deliver(chat, message)
        chat.is_busy = False
        if not chat.drafts:
            del self._chats[address]

    async def _rest(self, chat: _Chat) -> bool:
        """Wait until a chat may be forgotten, and its pace with it; False where it may be now."""
        wait = chat.next_call - self._clock()
        if chat.drafts or self._is_closing or wait <= 0:
            return False
        await self._pause(chat, wait)
        return True

    async def _deliver(self, chat: _Chat, message: OutboundMessage) -> None:
        try:
            match message:
                case Chunk():
                    await self._preview(chat, message)
                case End():
                    await self._finish(chat, message)
        except ChannelError as error:
            chat.next_call = max(chat.next_call, self._clock() + (error.retry_after or 0.0))
            log.info("preview not shown", extra={"channel": self._adapter.name, "cause": str(error)})
        except TimeoutError:
            log.info("preview not shown", extra={"channel": self._adapter.name, "cause": "no answer"})
        except StoreError as error:
            log.error("delivery not recorded", extra={"channel": self._adapter.name, "cause": str(error)})
        except Exception:  # a mistake in an adapter: it costs this message its delivery, and no other
            log.exception("delivery broke", extra={"channel": self._adapter.name, "run": message.run})

    async def _draft(self, chat: _Chat, message: OutboundMessage) -> _Draft:
        """The draft of a run, with what an earlier process has posted of it."""
        draft = chat.drafts.get(message.run)
        if draft is None:
            is_unsure = message.attempt > 1 or message.run in self._resumed
            posted = await self._outbox.posted(message.run)
            draft = chat.drafts[message.run] = _Draft(posted, is_unsure=is_unsure)
        return draft

    async def _preview(self, chat: _Chat, chunk: Chunk) -> None:
        draft = await self._draft(chat, chunk)
        draft.grow(chunk)
        if self._adapter.capabilities.edits and draft.text:
            await self._show(chat, draft, chunk)

    async def _finish(self, chat: _Chat, end: End) -> None:
        """Show the whole answer, as often as it takes, and confirm it."""
        tries = 0
        try:
            while True:
                try:
                    if end.text and end.reason != "silent":
                        draft = await self._draft(chat, end)
                        draft.text = end.text
                        await self._show(chat, draft, end)
                    await self._outbox.confirm(end.run)
                    return
                except (ChannelError, TimeoutError, StoreError) as error:
                    tries += 1
                    if not await self._may_retry(chat, end, error, tries):
                        return
        finally:
            chat.drafts.pop(end.run, None)
            self._resumed.discard(end.run)

    async def _may_retry(
        self, chat: _Chat, end: End, error: ChannelError | TimeoutError | StoreError, tries: int
    ) -> bool:
        """Wait for the next try at a final answer; False where there is none now, or ever.

        Args:
            tries: Those of this process; the outbox knows of more, unless it fails or never had the answer.
        """
        is_permanent = isinstance(error, ChannelError) and error.permanent
        if not isinstance(error, StoreError):
            tries = max(tries, await self._outbox.count_try(end.run))
        log.warning(
            "delivery failed",
            extra={"channel": self._adapter.name, "run": end.run, "tries": tries, "cause": str(error)},
        )
        if is_permanent:
            await self._outbox.give_up(end.run)
        if is_permanent or tries >= MAX_TRIES or self._is_closing:
            return False
        asked = error.retry_after if isinstance(error, ChannelError) else None
        wait = asked if asked is not None else random.uniform(0, min(MAX_WAIT, 2.0**tries))
        return await self._pause(chat, wait)

    async def _pause(self, chat: _Chat, seconds: float) -> bool:
        """Wait; False where the delivery was closed meanwhile."""
        pause = chat.pause = self._group.create_task(_wait(self._sleep, seconds), name="pause")
        await asyncio.wait({pause})
        chat.pause = None
        return not pause.cancelled()

    async def _show(self, chat: _Chat, draft: _Draft, message: OutboundMessage) -> None:
        """Make the platform show the text of the draft; what stands there is changed, not repeated."""
        pieces = cut(draft.text, self._adapter.capabilities.max_chars)
        for part, text in enumerate(pieces):
            if draft.shown.get(part) == text:
                continue
            if part not in draft.posted:
                await self._post(chat, draft, message, part, text)
            elif self._adapter.capabilities.edits:
                await self._edit(chat, draft, message, part, text)
        for part in sorted(draft.posted.keys() - range(len(pieces))):  # the text has become shorter
            if draft.shown.get(part) != NOTHING and self._adapter.capabilities.edits:
                await self._edit(chat, draft, message, part, NOTHING)

    async def _post(self, chat: _Chat, draft: _Draft, message: OutboundMessage, part: int, text: str) -> None:
        await self._wait_for_turn(chat)
        reply_to = message.reply_to if part == 0 else None
        try:
            async with self._call(chat):
                platform_id = await self._adapter.post(
                    message.address, text, key=f"{message.run}:{part}", reply_to=reply_to
                )
        except (ChannelError, TimeoutError) as error:
            is_refused = isinstance(error, ChannelError) and error.retry_after is not None
            draft.is_unsure = draft.is_unsure or not is_refused
            raise
        draft.posted[part] = platform_id
        await self._outbox.record(message.run, part, platform_id)
        capabilities = self._adapter.capabilities
        if not (draft.is_unsure and capabilities.idempotent and capabilities.edits):
            draft.shown[part] = text
        else:
            await self._edit(chat, draft, message, part, text)

    async def _edit(self, chat: _Chat, draft: _Draft, message: OutboundMessage, part: int, text: str) -> None:
        await self._wait_for_turn(chat)
        async with self._call(chat):
            await self._adapter.edit(message.address, draft.posted[part], text)
        draft.shown[part] = text

    @asynccontextmanager
    async def _call(self, chat: _Chat) -> AsyncIterator[None]:
        """One call to the platform: bounded, and counted for the pace."""
        try:
            async with asyncio.timeout(self._call_seconds):
                yield
        finally:
            chat.next_call = self._clock() + self._adapter.capabilities.edit_interval

    async def _wait_for_turn(self, chat: _Chat) -> None:
        """Wait until the platform allows the next call in this chat; chunks are merged meanwhile."""
        while (wait := chat.next_call - self._clock()) > 0:
            await self._sleep(wait)


async def _wait(sleep: Sleep, seconds: float) -> None:
    await sleep(seconds)


def cut(text: str, limit: int) -> list[str]:
    """Cut a text into pieces of at most `limit` characters, at the end of a line where there is one.

    Joined, the pieces are `text`; what was cut once is cut there for every longer text.

    Raises:
        ValueError: `limit` is below 1.
    """
    if limit < 1:
        raise ValueError(f"limit is {limit}, but a piece has at least one character")
    pieces = []
    while len(text) > limit:
        end = text.rfind("\n", limit // 2, limit) + 1 or limit
        pieces.append(text[:end])
        text = text[end:]
    return [*pieces, text]
