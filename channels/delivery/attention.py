"""Shows people that they were heard: a typing indicator, and a reaction on their message."""

import asyncio
import logging
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self

from bot.bus import Bus
from bot.errors import ChannelError
from bot.messages import Address, AgentEnd, InboxUpdate, Missed, RunId, SystemEvent
from bot.settings import ChannelSettings
from channels.base import ChannelAdapter
from channels.delivery.pace import Sleep

log = logging.getLogger(__name__)

QUICK: Final = 0.4  # seconds in which an answer may come before anything is shown
RENEW: Final = 0.8  # of the time that an indicator lasts
CALL_SECONDS: Final = 10.0


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
        on_answer: Callable[[Address], None] = lambda address: None,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._adapter = adapter
        self._settings = settings
        self._bus = bus
        self._on_answer = on_answer
        self._sleep = sleep
        self._waiting: dict[RunId, asyncio.Task[None]] = {}
        self._growing: set[RunId] = set()
        self._group = asyncio.TaskGroup()

    async def __aenter__(self) -> Self:
        self._events = self._bus.events()
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
        reacts = emoji and event.platform_id and self._adapter.capabilities_in(event.address).reactions
        try:
            if reacts:
                await self._react(event, emoji)
            await self._type(event)
        finally:
            if reacts:
                await self._react(event, None)

    async def _react(self, event: InboxUpdate, emoji: str | None) -> None:
        assert event.platform_id is not None
        try:
            async with asyncio.timeout(CALL_SECONDS):
                await self._adapter.react(event.address, event.platform_id, emoji)
        except (ChannelError, TimeoutError) as error:
            log.debug("reaction not shown", extra={"channel": self._adapter.name, "cause": str(error)})

    async def _type(self, event: InboxUpdate) -> None:
        """Keep the typing indicator alive."""
        lasts = self._adapter.capabilities_in(event.address).typing_seconds
        while self._settings.typing and lasts is not None and event.run not in self._growing:
            try:
                async with asyncio.timeout(CALL_SECONDS):
                    await self._adapter.type(event.address)
            except (ChannelError, TimeoutError) as error:
                log.debug("typing not shown", extra={"channel": self._adapter.name, "cause": str(error)})
            await self._sleep(lasts * RENEW)
        await asyncio.Event().wait()  # the reaction stays until the answer is there
