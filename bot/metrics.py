"""Metrics for Prometheus: counted from the first look on, so that they cost nothing where nobody looks."""

import asyncio
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Final, NamedTuple, Protocol

from bot.bus import Bus, Subscription
from bot.commands.engine import ChannelState
from bot.hooks.points import MessageSent
from bot.hooks.registry import Hooks
from bot.messages import Missed, OutboundMessage, SystemEvent

METERS: Final = "bot.meters"  # imports prometheus-client
MAX_EVENTS: Final = 10_000
CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


class Depth(NamedTuple):
    """How much waits somewhere: `queue` is `journal`, `outbox` or `webhooks`."""

    queue: str
    channel: str
    state: str
    size: int


class RateWait(NamedTuple):
    """How often, and for how many seconds in all, the calls of an account have waited for its platform.

    Attributes:
        held: Seconds for which the platform still wants nothing of it.
    """

    channel: str
    account: str
    waits: int
    seconds: float
    held: float = 0.0


class Depths(Protocol):
    """Counts what the store holds."""

    async def depths(self) -> list[Depth]: ...


class Lanes(Protocol):
    """The turns at this moment."""

    @property
    def busy_sessions(self) -> int: ...

    def running(self) -> Sequence[object]: ...


class Meters(Protocol):
    """What counts; see `bot.meters`."""

    def note(self, item: SystemEvent | OutboundMessage | Missed) -> None: ...

    def note_sent(self, sent: MessageSent) -> None: ...

    def show(
        self,
        depths: Sequence[Depth],
        channels: Sequence[ChannelState],
        waits: Sequence[RateWait],
        *,
        sessions: int,
        turns: int,
    ) -> bytes: ...


class Metrics:
    """Fulfils `bot.web.api.base.Scrape`; whoever makes it closes it.

    Args:
        channels: How the connections to the platforms are doing.
        waits: How long their rates have made us wait.
    """

    content_type = CONTENT_TYPE

    def __init__(
        self,
        bus: Bus,
        hooks: Hooks,
        *,
        depths: Depths,
        lanes: Callable[[], Lanes],
        channels: Callable[[], Sequence[ChannelState]],
        waits: Callable[[], Sequence[RateWait]] = tuple,
    ) -> None:
        self._bus = bus
        self._hooks = hooks
        self._depths = depths
        self._lanes = lanes
        self._channels = channels
        self._waits = waits
        self._meters: Meters | None = None
        self._opening = asyncio.Lock()
        self._subscriptions: tuple[Subscription[SystemEvent | OutboundMessage | Missed], ...] = ()
        self._tasks: tuple[asyncio.Task[None], ...] = ()

    @property
    def is_counting(self) -> bool:
        """Whether anybody has looked."""
        return self._meters is not None

    async def render(self) -> bytes:
        """All figures, in the text format of Prometheus."""
        async with self._opening:
            meters = self._meters or await self._open()
        lanes = self._lanes()
        return meters.show(
            await self._depths.depths(),
            self._channels(),
            self._waits(),
            sessions=lanes.busy_sessions,
            turns=len(lanes.running()),
        )

    async def aclose(self) -> None:
        """Count no more."""
        for subscription in self._subscriptions:
            subscription.close()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _open(self) -> Meters:
        module = await asyncio.to_thread(import_module, METERS)
        meters: Meters = module.PrometheusMeters()
        self._subscriptions = (self._bus.events(limit=MAX_EVENTS), self._bus.outbound())
        self._tasks = tuple(
            asyncio.create_task(_count(one, meters), name="metrics") for one in self._subscriptions
        )
        self._hooks.on(MessageSent, meters.note_sent)
        self._meters = meters
        return meters


async def _count(subscription: Subscription[SystemEvent | OutboundMessage | Missed], meters: Meters) -> None:
    async for item in subscription:
        meters.note(item)
