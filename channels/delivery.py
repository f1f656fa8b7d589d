"""Brings answers onto a platform: grown in place at its pace, finished once, continued after a crash."""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
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
Sleep: TypeAlias = Callable[[float], Awaitable[None]]


class Outbox(Protocol):
    """What delivery needs of the store."""

    async def pending(self, channel: str) -> list[End]: ...

    async def posted(self, run: RunId) -> dict[int, str]: ...

    async def record(self, run: RunId, part: int, platform_id: str) -> None: ...

    async def confirm(self, run: RunId) -> None: ...

    async def give_up(self, run: RunId) -> None: ...

    async def count_try(self, run: RunId) -> int: ...


class _Draft:
    """An answer on the platform: its newest text, and the messages that show it, by part."""

    def __init__(self, posted: dict[int, str]) -> None:
        self.text = ""
        self.posted = posted
        self.shown: dict[int, str] = {}


class _Chat:
    """What waits for one chat; order is kept within it, and nobody else waits for it."""

    def __init__(self) -> None:
        self.mailbox = OutboundMailbox()
        self.drafts: dict[RunId, _Draft] = {}
        self.next_call = 0.0
        self.is_busy = False


class Delivery:
    """Delivers the answers of one channel from `__aenter__` to `__aexit__`.

    Args:
        sleep: Waits some seconds; tests pass a clock of their own.
    """

    def __init__(
        self, adapter: ChannelAdapter, *, bus: Bus, outbox: Outbox, sleep: Sleep = asyncio.sleep
    ) -> None:
        self._adapter = adapter
        self._bus = bus
        self._outbox = outbox
        self._sleep = sleep
        self._chats: dict[Address, _Chat] = {}
        self._tasks = asyncio.TaskGroup()

    async def __aenter__(self) -> Self:
        """Take up what the platform has not confirmed, then follow the bus."""
        await self._tasks.__aenter__()
        self._subscription = self._bus.outbound(channel=self._adapter.name)
        for end in await self._outbox.pending(self._adapter.name):
            self._put(end)
        self._pump_task = self._tasks.create_task(self._pump(), name=f"delivery {self._adapter.name}")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Deliver what is there already; what fails now stays in the outbox."""
        self._subscription.close()
        try:
            async with asyncio.timeout(CALL_SECONDS):
                await self._tasks.__aexit__(None, None, None)
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
            self._tasks.create_task(self._drain(message.address, chat), name=f"chat {message.address.chat}")

    async def _drain(self, address: Address, chat: _Chat) -> None:
        """Bring everything that waits to one chat, in order; a chat with nothing half done is forgotten."""
        while (message := chat.mailbox.take()) is not None:
            await self._deliver(chat, message)
        chat.is_busy = False
        if not chat.drafts:
            del self._chats[address]

    async def _deliver(self, chat: _Chat, message: OutboundMessage) -> None:
        try:
            draft = chat.drafts.get(message.run)
            if draft is None:
                draft = chat.drafts[message.run] = _Draft(await self._outbox.posted(message.run))
            match message:
                case Chunk():
                    draft.text = message.text if message.replaces else draft.text + message.text
                    if self._adapter.capabilities.edits:
                        await self._show(chat, draft, message)
                case End():
                    del chat.drafts[message.run]
                    await self._finish(chat, draft, message)
        except (ChannelError, TimeoutError) as error:
            log.info("preview not shown", extra={"channel": self._adapter.name, "cause": str(error)})
        except StoreError as error:
            log.error("delivery not recorded", extra={"channel": self._adapter.name, "cause": str(error)})

    async def _finish(self, chat: _Chat, draft: _Draft, end: End) -> None:
        """Show the whole answer, as often as it takes, and confirm it."""
        draft.text = end.text
        if end.reason == "silent" or not end.text:
            return
        while True:
            try:
                await self._show(chat, draft, end)
                await self._outbox.confirm(end.run)
                return
            except (ChannelError, TimeoutError) as error:
                if not await self._may_retry(end, error):
                    return

    async def _may_retry(self, end: End, error: ChannelError | TimeoutError) -> bool:
        """Wait for the next try at a final answer; False where there is none now, or ever."""
        tries = await self._outbox.count_try(end.run)
        is_permanent = isinstance(error, ChannelError) and error.permanent
        log.warning(
            "delivery failed",
            extra={"channel": self._adapter.name, "run": end.run, "tries": tries, "cause": str(error)},
        )
        if is_permanent:
            await self._outbox.give_up(end.run)
        if is_permanent or tries >= MAX_TRIES:
            return False
        asked = error.retry_after if isinstance(error, ChannelError) else None
        await self._sleep(asked if asked is not None else random.uniform(0, min(MAX_WAIT, 2.0**tries)))
        return True

    async def _show(self, chat: _Chat, draft: _Draft, message: OutboundMessage) -> None:
        """Make the platform show the text of the draft; what stands there is changed, not repeated."""
        for part, text in enumerate(cut(draft.text, self._adapter.capabilities.max_chars)):
            if draft.shown.get(part) == text:
                continue
            await self._keep_pace(chat)
            async with asyncio.timeout(CALL_SECONDS):
                if (platform_id := draft.posted.get(part)) is not None:
                    await self._adapter.edit(message.address, platform_id, text)
                else:
                    key = f"{message.run}:{part}"
                    reply_to = message.reply_to if part == 0 else None
                    platform_id = await self._adapter.post(message.address, text, key=key, reply_to=reply_to)
                    draft.posted[part] = platform_id
                    await self._outbox.record(message.run, part, platform_id)
            draft.shown[part] = text

    async def _keep_pace(self, chat: _Chat) -> None:
        """Wait until the platform allows the next call in this chat; chunks are merged meanwhile."""
        loop = asyncio.get_running_loop()
        if (wait := chat.next_call - loop.time()) > 0:
            await self._sleep(wait)
        chat.next_call = loop.time() + self._adapter.capabilities.edit_interval


def cut(text: str, limit: int) -> list[str]:
    """Cut a text into pieces of at most `limit` characters, at the end of a line where there is one."""
    pieces = []
    while len(text) > limit:
        end = text.rfind("\n", limit // 2, limit) + 1 or limit
        pieces.append(text[:end])
        text = text[end:]
    return [*pieces, text]
