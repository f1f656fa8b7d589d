"""All accounts on all platforms: opened beside the start of the bot, closed with it."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from importlib import import_module
from types import TracebackType
from typing import Final, Protocol, Self

import msgspec
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Router
from starlette.types import Receive, Scope, Send

from bot.bus import Bus
from bot.commands.engine import ChannelState
from bot.commands.spec import CommandSpec
from bot.errors import BotError, ChannelError, StoreError
from bot.messages import Address, Frozen
from bot.metrics import RateWait
from bot.settings import ChannelSettings
from channels.base import ChannelAdapter, Liveness, Setup, State
from channels.delivery.attention import Attention
from channels.delivery.outbox import Outbox
from channels.delivery.pace import Pace
from channels.delivery.reports import Dead, Reports, Sent, note_nothing
from channels.intake import Engagement, Intake, Rules
from channels.keeper import Keeper
from channels.registry import AdapterFactory, check_installed, load_adapter

log = logging.getLogger(__name__)

CLOSE_SECONDS: Final = 10.0
DELIVERY: Final = "channels.delivery.delivery"  # with the Markdown of all platforms: loaded when one is on


class Account(Frozen, frozen=True, kw_only=True):
    """An account to be opened; `factory` where its code is at hand already."""

    channel: str
    name: str
    settings: ChannelSettings
    factory: AdapterFactory | None = None


class Stores(Protocol):
    """What the platforms need of the store."""

    @property
    def outbox(self) -> Outbox: ...

    def state(self, channel: str, account: str) -> State: ...


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """What all accounts share."""

    bus: Bus
    store: Stores
    rules: Rules
    names: Callable[[], tuple[str, ...]]
    commands: tuple[CommandSpec, ...] = ()
    public_url: str | None = None
    presence: tuple[str, str | None] | None = None
    on_dead: Dead
    on_sent: Sent = note_nothing


class Platforms:
    """Speaks on every account from `__aenter__` to `__aexit__`.

    Entering returns at once: an SDK that takes long to load, or a platform that is away, holds nothing up.
    """

    def __init__(self, accounts: Iterable[Account], surroundings: Surroundings) -> None:
        self._accounts = tuple(accounts)
        self._around = surroundings
        self._keepers: dict[tuple[str, str], Keeper] = {}
        self._hearing: dict[tuple[str, str], AsyncExitStack] = {}
        self._faults: dict[tuple[str, str], str] = {}
        self._paces: dict[tuple[str, str], Pace] = {}
        self._closing = asyncio.Event()
        self._is_deaf = False
        self._group = asyncio.TaskGroup()

    async def __aenter__(self) -> Self:
        """Open what is to be opened, in the background.

        Raises:
            ConfigError: An SDK is not installed.
        """
        for account in self._accounts:
            if account.factory is None:
                check_installed(account.channel)
        await self._group.__aenter__()
        for account in self._accounts:
            self._group.create_task(self._serve(account), name=f"open {account.channel}:{account.name}")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop_hearing()
        self._closing.set()
        await self._group.__aexit__(None, None, None)

    async def stop_hearing(self) -> None:
        """Take nothing more from the platforms; answers still go out."""
        self._is_deaf = True  # for accounts that are still loading
        for stack in tuple(self._hearing.values()):
            await stack.aclose()

    async def _serve(self, account: Account) -> None:
        """One account from opening to closing; what is wrong with it concerns no other."""
        key, engagement = (account.channel, account.name), Engagement()
        try:
            factory = account.factory
            if factory is None:
                factory = await asyncio.to_thread(load_adapter, account.channel)
            await asyncio.to_thread(import_module, DELIVERY)
            adapter = factory(self._setup(account, engagement))
        except BotError as error:
            self._fail(key, error)
            return
        except Exception as error:
            log.exception("channel can't be made", extra={"channel": account.channel})
            self._fail(key, error)
            return
        async with AsyncExitStack() as stack:
            stack.push_async_callback(self._close, adapter)
            try:
                pace = self._paces[key] = Pace()
                attention = self._attention(adapter, account.settings, engagement, pace)
                await stack.enter_async_context(self._delivery(adapter, account.settings, attention, pace))
            except StoreError as error:
                self._fail(key, error)
                return
            if self._is_deaf:
                return
            hearing = self._hearing[key] = await stack.enter_async_context(AsyncExitStack())
            await hearing.enter_async_context(attention)
            self._keepers[key] = await hearing.enter_async_context(Keeper(adapter))
            await self._closing.wait()

    def _fail(self, key: tuple[str, str], error: Exception) -> None:
        self._faults[key] = str(error)
        log.error("channel is off", extra={"channel": key[0], "account": key[1], "cause": str(error)})

    def _setup(self, account: Account, engagement: Engagement) -> Setup[ChannelSettings]:
        around = self._around
        intake = Intake(
            account.settings,
            bus=around.bus,
            rules=around.rules,
            names=around.names,
            engagement=engagement,
        )
        return Setup(
            account=account.name,
            settings=account.settings,
            intake=intake,
            state=around.store.state(account.channel, account.name),
            commands=around.commands,
            bot_name=around.names()[0],
            public_url=around.public_url,
            presence=around.presence,
        )

    def _delivery(
        self, adapter: ChannelAdapter, settings: ChannelSettings, attention: Attention, pace: Pace
    ) -> AbstractAsyncContextManager[object]:
        around = self._around
        delivery: AbstractAsyncContextManager[object] = import_module(DELIVERY).Delivery(
            adapter,
            settings,
            bus=around.bus,
            outbox=around.store.outbox,
            reports=Reports(on_dead=around.on_dead, on_text=attention.text_shown, on_sent=around.on_sent),
            pace=pace,
        )
        return delivery

    def _attention(
        self, adapter: ChannelAdapter, settings: ChannelSettings, engagement: Engagement, pace: Pace
    ) -> Attention:
        def note(address: Address) -> None:
            if not address.is_direct:
                engagement.note(address, by_bot=True)

        return Attention(adapter, settings, bus=self._around.bus, pace=pace, on_answer=note)

    async def _close(self, adapter: ChannelAdapter) -> None:
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await adapter.aclose()
        except (BotError, TimeoutError) as error:
            log.warning("channel closed badly", extra={"channel": adapter.name, "cause": str(error)})

    # --- what others ask

    def adapter(self, channel: str, account: str) -> ChannelAdapter | None:
        """The adapter of an account, once it is open."""
        keeper = self._keepers.get((channel, account))
        return keeper.adapter if keeper is not None else None

    def max_file_bytes(self, channel: str) -> int:
        """The largest file that is taken from people of a channel."""
        most = (one.settings.max_file_mb for one in self._accounts if one.channel == channel)
        return max(most, default=0) * 1_000_000

    def states(self) -> Sequence[ChannelState]:
        """How every account is doing."""
        return [
            ChannelState(
                channel=one.channel,
                account=one.name,
                is_connected=liveness.is_connected,
                last_event_at=liveness.last_event_at,
                cause=liveness.cause,
            )
            for one in self._accounts
            for liveness in (self._liveness(one),)
        ]

    def waits(self) -> list[RateWait]:
        """How long the rates of each account have made us wait."""
        return [
            RateWait(channel, account, pace.waits, pace.waited, pace.held)
            for (channel, account), pace in self._paces.items()
        ]

    async def set_presence(self, status: str, activity: str | None) -> list[str]:
        """Show how the bot is doing wherever it can be shown; gives the channels that show it."""
        shown = []
        for keeper in self._keepers.values():
            try:
                async with asyncio.timeout(CLOSE_SECONDS):
                    await keeper.adapter.set_presence(status, activity)
                shown.append(keeper.adapter.name)
            except (ChannelError, TimeoutError) as error:
                log.debug("presence not shown", extra={"channel": keeper.adapter.name, "cause": str(error)})
        return shown

    def _liveness(self, account: Account) -> Liveness:
        key = (account.channel, account.name)
        keeper = self._keepers.get(key)
        if keeper is not None:
            return keeper.liveness
        return Liveness(is_connected=False, cause=self._faults.get(key, "still loading"))

    def routes(self) -> list[Mount]:
        """Where the platforms' webhooks arrive."""
        return [Mount("/hooks", app=self._take_hook)]

    async def _take_hook(self, scope: Scope, receive: Receive, send: Send) -> None:
        parts = str(scope["path"]).strip("/").split("/")
        adapter = self.adapter(parts[1], parts[2]) if len(parts) == 3 else None
        if adapter is None or not adapter.routes:
            await PlainTextResponse("Nothing listens here.", 404)(scope, receive, send)
            return
        await Router(routes=list(adapter.routes))({**scope, "root_path": ""}, receive, send)
