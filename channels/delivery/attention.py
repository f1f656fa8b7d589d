"""Shows people that they were heard: a typing indicator, and a reaction on their message."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Final, Self

from bot.bus import Bus
from bot.errors import ChannelError
from bot.messages import Address, AgentEnd, InboxUpdate, Missed, RunId, SessionKey, SystemEvent
from bot.settings import ChannelSettings
from channels.base import CallKind, ChannelAdapter
from channels.delivery.pace import Pace, Sleep

log = logging.getLogger(__name__)

QUICK: Final = 0.4  # seconds in which an answer may come before anything is shown
RENEW: Final = 0.8  # of the time that an indicator lasts
CALL_SECONDS: Final = 10.0
TAKE_BACK_TRIES: Final = 5
LATER: Final = 1.0  # seconds until a sign is tried again for which there was no room


class Attention:
    """Follows what is accepted on one account, from `__aenter__` to `__aexit__`.

    What fails here is not worth another try: the next sign says the same.

    Args:
        on_answer: Told where the bot has spoken.
    """

    def __init__(
        self,
        adapter: ChannelAdapter,
        settings: ChannelSettings,
        *,
        bus: Bus,
        pace: Pace,
        on_answer: Callable[[Address], None] = lambda address: None,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._adapter = adapter
        self._settings = settings
        self._bus = bus
        self._pace = pace
        self._on_answer = on_answer
        self._sleep = sleep
        self._waiting: dict[RunId, asyncio.Task[None]] = {}
        self._growing: set[RunId] = set()
        self._group = asyncio.TaskGroup()

    async def __aenter__(self) -> Self:
        self._events = self._bus.events(wants=_is_of_use)
        await self._group.__aenter__()
        name = f"attention {self._adapter.name}"
        self._following = self._group.create_task(self._follow(), name=name)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._events.close()
        self._following.cancel()  # what it has not read yet must begin no more signs
        self._calm_all()
        await self._group.__aexit__(None, None, None)

    async def _follow(self) -> None:
        async for event in self._events:
            self._see(event)

    def _see(self, event: SystemEvent | Missed) -> None:
        match event:
            case InboxUpdate(direction="in", run=run) if run is not None and self._is_ours(event):
                self._waiting[run] = self._group.create_task(self._attend(event), name=f"typing {run}")
            case InboxUpdate(direction="out", run=run):
                if self._is_ours(event):
                    self._on_answer(event.address)
                self._calm(run)
            case AgentEnd(run=run):
                self._calm(run)
            case Missed():  # among them may be ends: rather no sign than one for good
                self._calm_all()

    def _calm_all(self) -> None:
        for run in tuple(self._waiting):
            self._calm(run)

    def text_shown(self, run: RunId) -> None:
        """People see an answer grow: there is no need to show that it is being written."""
        if run in self._waiting and self._settings.streaming == "partial":
            self._growing.add(run)

    def _calm(self, run: RunId | None) -> None:
        if run is not None:
            self._growing.discard(run)
        if run is not None and (task := self._waiting.pop(run, None)) is not None:
            task.cancel()

    def _is_ours(self, event: InboxUpdate) -> bool:
        address = event.address
        return address.channel == self._adapter.name and address.account == self._adapter.account

    async def _attend(self, event: InboxUpdate) -> None:
        """Show that the message is being seen to, until it is cancelled."""
        await self._sleep(QUICK)
        emoji = self._settings.ack_reaction
        has_reacted = await self._react(event, emoji) if emoji else False
        try:
            await self._type(event)
        finally:
            if has_reacted:
                await self._take_back(event)

    async def _react(self, event: InboxUpdate, emoji: str) -> bool:
        """Put a reaction on a message; False where there is none, or no room for it."""
        message = event.platform_id
        if message is None or not self._adapter.capabilities_in(event.address).reactions:
            return False
        return await self._sign(event, "react", lambda: self._adapter.react(event.address, message, emoji))

    async def _take_back(self, event: InboxUpdate) -> None:
        """Take a reaction back; that has to be done, and waits until there is room."""
        message = event.platform_id
        assert message is not None

        def take_back() -> Awaitable[None]:
            return self._adapter.react(event.address, message, None)

        for _ in range(TAKE_BACK_TRIES):
            if await self._sign(event, "react", take_back):
                return
            await self._sleep(LATER)

    async def _type(self, event: InboxUpdate) -> None:
        """Keep the typing indicator alive."""
        lasts = self._adapter.capabilities_in(event.address).typing_seconds
        while self._settings.typing and lasts is not None and event.run not in self._growing:
            is_shown = await self._sign(event, "typing", lambda: self._adapter.type(event.address))
            await self._sleep(lasts * RENEW if is_shown else LATER)
        await asyncio.Event().wait()  # the reaction stays until the answer is there

    async def _sign(self, event: InboxUpdate, kind: CallKind, call: Callable[[], Awaitable[None]]) -> bool:
        """Make a call if texts leave room for it, however it ends; False where they leave none."""
        permit = self._pace.spare(kind, self._adapter.capabilities_in(event.address).rates)
        if permit is None:
            return False
        try:
            async with asyncio.timeout(CALL_SECONDS):
                await call()
        except (ChannelError, TimeoutError) as error:
            log.debug("sign not shown", extra={"channel": self._adapter.name, "cause": str(error)})
        finally:
            permit.end()
        return True


def _is_of_use(kind: type[SystemEvent], session: SessionKey) -> bool:
    return kind in (InboxUpdate, AgentEnd)
