"""The delivery of one account: each chat in order, at its pace, finished once, continued after a crash."""

import asyncio
import logging
import random
from collections.abc import Coroutine
from functools import partial
from types import TracebackType
from typing import Self

from msgspec.structs import replace

from bot.bus import Bus
from bot.bus.local import OutboundMailbox
from bot.errors import ChannelError, StoreError
from bot.messages import Address, Chunk, End, OutboundMessage, RunId
from bot.settings import ChannelSettings
from channels.base import ChannelAdapter
from channels.delivery.draft import Draft, Layout
from channels.delivery.files import CodeFiles
from channels.delivery.outbox import MAX_TRIES, Outbox
from channels.delivery.pace import Budget, Pace, Sleep
from channels.delivery.reports import NOBODY, Reports
from channels.delivery.screen import CALL_SECONDS, Screen

log = logging.getLogger(__name__)

MAX_WAIT = 60.0  # the longest pause between two tries, unless the platform asks for more
MAX_IDLE_CHATS = 256  # chats that are remembered for their pace alone, before they are looked through
HUMAN_DELAY = (0.8, 2.5)  # seconds between two blocks


class _Chat:
    """What waits for one chat; order is kept within it, and nobody else waits for it."""

    def __init__(self, budget: Budget) -> None:
        self.mailbox = OutboundMailbox()
        self.drafts: dict[RunId, Draft] = {}
        self.budget = budget
        self.is_busy = False
        self.growth: asyncio.Task[None] | None = None  # waits to show a text that grows; an end cuts it short
        self.pause: asyncio.Task[None] | None = None
        self.unshown: dict[RunId, Chunk] = {}  # the growth of these was put off for the end of another run

    def put(self, message: OutboundMessage) -> None:
        """Add a message; a last word does not wait until growth may be shown."""
        self.mailbox.put(message)
        if isinstance(message, End) and self.growth is not None:
            self.growth.cancel()

    def take_unshown(self) -> Chunk | None:
        """A text whose growth was put off, to go on with; its chunk adds nothing any more."""
        if not self.unshown:
            return None
        _, chunk = self.unshown.popitem()
        return replace(chunk, text="", replaces=False)


class Delivery:
    """Delivers the answers of one account from `__aenter__` to `__aexit__`.

    Args:
        reports: Told of what happens to answers.
        pace: When the account may be asked, where others ask it too; without it, nobody else does.
        sleep: Waits some seconds; tests pass their own.
        call_seconds: The most that one call to the platform may take.
    """

    def __init__(
        self,
        adapter: ChannelAdapter,
        settings: ChannelSettings,
        *,
        bus: Bus,
        outbox: Outbox,
        reports: Reports = NOBODY,
        pace: Pace | None = None,
        sleep: Sleep = asyncio.sleep,
        call_seconds: float = CALL_SECONDS,
    ) -> None:
        self._adapter = adapter
        self._settings = settings
        self._bus = bus
        self._outbox = outbox
        self._reports = reports
        self._sleep = sleep
        self._call_seconds = call_seconds
        self._pace = pace or Pace(sleep=sleep)
        self._screen = Screen(
            adapter,
            settings,
            outbox=outbox,
            pace=self._pace,
            on_text=reports.on_text,
            call_seconds=call_seconds,
        )
        self._chats: dict[Address, _Chat] = {}
        self._idle_limit = MAX_IDLE_CHATS
        self._resumed: set[RunId] = set()
        self._is_closing = False
        self._group = asyncio.TaskGroup()

    async def __aenter__(self) -> Self:
        """Take up what the platform has not confirmed, then follow the bus."""
        self._subscription = self._bus.outbound(channel=self._adapter.name)
        try:
            pending = await self._outbox.pending(self._adapter.name, self._adapter.account)
        except BaseException:
            self._subscription.close()
            raise
        await self._group.__aenter__()
        for end in pending:
            self._resumed.add(end.run)
            self._put(end)
        name = f"delivery {self._adapter.name}:{self._adapter.account}"
        self._group.create_task(self._pump(), name=name)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Deliver what is there already; what fails now stays in the outbox."""
        self._is_closing = True
        self._subscription.close()
        for chat in self._chats.values():
            for waiting in (chat.pause, chat.growth):
                if waiting is not None:
                    waiting.cancel()
        try:
            async with asyncio.timeout(self._call_seconds):
                await self._group.__aexit__(None, None, None)
        except TimeoutError:
            log.warning("delivery cut short", extra={"channel": self._adapter.name})

    async def _pump(self) -> None:
        async for message in self._subscription:
            if message.address.account == self._adapter.account:
                self._put(message)

    def _put(self, message: OutboundMessage) -> None:
        chat = self._chats.get(message.address)
        if chat is None:
            self._forget_idle_chats()
            chat = self._chats[message.address] = _Chat(self._pace.budget())
        chat.put(message)
        if not chat.is_busy:
            chat.is_busy = True
            self._group.create_task(self._drain(chat), name=f"chat {message.address.chat}")

    def _forget_idle_chats(self) -> None:
        """Let go of the chats that have nothing half done, and whose pace matters no more."""
        if len(self._chats) < self._idle_limit:
            return
        for address, chat in list(self._chats.items()):
            if not chat.is_busy and not chat.drafts and chat.budget.is_idle:
                del self._chats[address]
        self._idle_limit = max(MAX_IDLE_CHATS, 2 * len(self._chats))

    async def _drain(self, chat: _Chat) -> None:
        """Bring everything that waits to one chat, in order."""
        while (message := chat.mailbox.take() or chat.take_unshown()) is not None:
            await self._deliver(chat, message)
        chat.is_busy = False

    async def _deliver(self, chat: _Chat, message: OutboundMessage) -> None:
        """Bring one message, or the newest of a text that grows; where the errors of a delivery stop."""
        try:
            match message:
                case Chunk():
                    await self._grow(chat, message)
                case End():
                    await self._finish(chat, message)
        except (ChannelError, TimeoutError) as error:
            log.info("preview not shown", extra={"channel": self._adapter.name, "cause": str(error)})
        except StoreError as error:
            log.error("delivery not recorded", extra={"channel": self._adapter.name, "cause": str(error)})
        except Exception:  # a mistake in an adapter: it costs this message its delivery, and no other
            log.exception("delivery broke", extra={"channel": self._adapter.name, "run": message.run})

    def _layout(self, address: Address) -> Layout:
        capabilities = self._adapter.capabilities_in(address)
        mode = self._settings.streaming
        return Layout(
            limit=capabilities.max_size,
            measure=self._adapter.measure,
            mode="off" if mode == "partial" and not capabilities.edits else mode,
            block_min=self._settings.block_min,
            block_max=self._settings.block_max,
        )

    async def _draft(self, chat: _Chat, message: OutboundMessage) -> Draft:
        """The draft of a run, with what an earlier process has posted of it."""
        draft = chat.drafts.get(message.run)
        if draft is None:
            layout = self._layout(message.address)
            draft = Draft(
                message.run, message.address, layout, message.reply_to, chat.budget, self._pace.budget
            )
            draft.attempt = message.attempt
            draft.is_unsure = message.attempt > 1 or message.run in self._resumed
            if draft.is_unsure:
                draft.resume(await self._outbox.posted(message.run), message.attempt)
            chat.drafts[message.run] = draft
        return draft

    async def _grow(self, chat: _Chat, chunk: Chunk) -> None:
        """Show a text that grows, until all of it stands there or a last word has come."""
        draft = await self._draft(chat, chunk)
        draft.grow(chunk)
        if draft.layout.mode == "off" or self._is_closing:
            return

        def newest() -> None:
            if (more := chat.mailbox.take_chunk(draft.run)) is not None:
                draft.grow(more)

        async def wait(coming: Coroutine[None, None, None]) -> bool:
            return await self._wait_to_grow(chat, coming)

        show = partial(self._screen.show, draft, newest=newest, wait=wait)
        if draft.layout.mode == "block":
            is_shown = await show(between=self._human_delay)
            if is_shown and chat.mailbox.is_empty and await wait(self._idle()):
                is_shown = not chat.mailbox.is_empty or await show(is_idle=True)
        else:
            is_shown = await show()
        if not is_shown and not self._is_closing:
            chat.unshown[draft.run] = chunk

    async def _wait_to_grow(self, chat: _Chat, coming: Coroutine[None, None, None]) -> bool:
        """Wait until growth may be shown; False where a last word came first."""
        growth = chat.growth = self._group.create_task(coming, name="growth")
        if chat.mailbox.has_end:
            growth.cancel()
        await asyncio.wait({growth})
        chat.growth = None
        return not growth.cancelled()

    async def _idle(self) -> None:
        await self._sleep(self._settings.block_idle)

    async def _human_delay(self) -> None:
        if self._settings.human_delay:
            await self._sleep(random.uniform(*HUMAN_DELAY))

    async def _finish(self, chat: _Chat, end: End) -> None:
        """Show the whole answer, as often as it takes, and confirm it."""
        tries = 0
        try:
            while True:
                try:
                    await self._show_end(chat, end)
                    await self._outbox.confirm(end.run)
                    await self._reports.on_sent(end)
                    return
                except (ChannelError, TimeoutError, StoreError) as error:
                    tries += 1
                    if not await self._may_retry(chat, end, error, tries):
                        return
        finally:
            chat.drafts.pop(end.run, None)
            chat.unshown.pop(end.run, None)
            self._resumed.discard(end.run)

    async def _show_end(self, chat: _Chat, end: End) -> None:
        draft = await self._draft(chat, end)
        if end.reason == "silent":
            await self._screen.clear(draft)
            return
        capabilities = self._adapter.capabilities_in(end.address)
        files = CodeFiles.of(end.text, capabilities.long_code)
        buttons = (button for button in end.buttons if capabilities.forms or button.form is None)
        draft.end(files.text, tuple(buttons))
        await self._screen.show(draft)
        await self._screen.clear(draft, beyond=len(draft.pieces()))
        with files.written() as written:
            await self._screen.send_files(draft, (*written, *end.attachments))

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
            self._reports.on_dead(end.address, str(error))
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


async def _wait(sleep: Sleep, seconds: float) -> None:
    await sleep(seconds)
