"""The HTTP API, webhooks and traces: what of the bot they are given."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from importlib import import_module
from typing import Protocol

from bot.agent.audit import Audit
from bot.app.doors import Doors
from bot.app.remembering import Remembering
from bot.bus import Bus
from bot.errors import ConfigError
from bot.hooks.registry import Hooks
from bot.inbox.base import Desk
from bot.long_term import LongTerm
from bot.metrics import Metrics
from bot.people import Linking, People
from bot.settings import Settings
from bot.web.api.base import CHANNEL, AuditBook, Operated, Parts, Planner
from bot.web.api.feed import Feed
from bot.web.api.lazy import Api
from bot.web.dashboard.base import Parts as PageParts
from bot.web.dashboard.gauge import Gauge
from bot.web.dashboard.lazy import Dashboard
from bot.web.dashboard.panels.workings import Workings
from bot.webhooks import Vault, Webhooks
from memory.store import Store
from security.audit import AuditBook as Book

API_CHANNEL = CHANNEL  # nothing delivers there: who asked reads the answer in the history, or as it comes
NO_TRACES = "BOT_TRACING__ENDPOINT needs OpenTelemetry: pip install 'switchboard-bot[otel]'"


class Wired(Operated, Protocol):
    """The bot as it is steered, its doors and inbox, who is who there, and what it remembers."""

    doors: Doors
    desk: Desk
    linking: Linking

    @property
    def remembering(self) -> Remembering: ...


class LazyVault:
    """Fulfils `bot.webhooks.Vault`; opens the stored secrets when the first one is wanted."""

    def __init__(self, open_vault: Callable[[], Vault]) -> None:
        self._open = open_vault
        self._vault: Vault | None = None

    async def _opened(self) -> Vault:
        if self._vault is None:
            self._vault = await asyncio.to_thread(self._open)
        return self._vault

    async def put(self, name: str, value: str) -> None:
        """See the protocol."""
        await (await self._opened()).put(name, value)

    async def get(self, name: str) -> str | None:
        """See the protocol."""
        return await (await self._opened()).get(name)

    async def delete(self, name: str) -> bool:
        """See the protocol."""
        return await (await self._opened()).delete(name)


def make_webhooks(settings: Settings, store: Store, bus: Bus) -> Webhooks:
    """Whoever is told of events; their secrets are kept with the others."""
    key = settings.secret_key.get_secret_value() if settings.secret_key is not None else None
    return Webhooks(bus, store.webhooks, LazyVault(lambda: store.secrets(key=key)))


def make_api(
    settings: Settings,
    store: Store,
    bus: Bus,
    *,
    bot: Wired,
    audit: Audit,
    planner: Planner,
    metrics: Metrics,
    webhooks: Webhooks,
) -> Api:
    """The API over the parts of a bot; nothing heavy is loaded before its first request."""

    def open_audit() -> AuditBook:
        return Book(settings.data_dir / "audit", lengths=dict)

    return Api(
        Parts(
            name=settings.name,
            bot=bot,
            doors=bot.doors,
            bus=bus,
            feed=Feed(bus),
            keys=store.api_keys,
            runs=store.runs,
            transcript=store.history,
            planner=planner,
            audit=audit,
            open_audit=open_audit,
            metrics=metrics,
            webhooks=webhooks,
            desk=bot.desk,
            linking=bot.linking,
            memories=bot.remembering.memories,
            redact=bot.remembering.redact,
        )
    )


def make_dashboard(
    api: Api, *, desk: Desk, people: People, memories: LongTerm | None, gauge: Gauge, workings: Workings
) -> Dashboard:
    """The operator's pages; nothing heavy is loaded before the first one is opened."""
    return Dashboard(
        PageParts(
            name=api.parts.name,
            desk=desk,
            api=api.parts,
            people=people,
            memories=memories,
            gauge=gauge,
            workings=workings,
        )
    )


def make_tracing(settings: Settings, bus: Bus, hooks: Hooks) -> AbstractAsyncContextManager[object]:
    """What sends traces, where the settings want some.

    Raises:
        ConfigError: OpenTelemetry is not installed.
    """
    tracing = settings.tracing
    if tracing.endpoint is None:
        return nullcontext()
    try:
        module = import_module("bot.tracing")
    except ModuleNotFoundError as error:
        raise ConfigError(NO_TRACES) from error
    headers = {name: value.get_secret_value() for name, value in tracing.headers.items()}
    made: AbstractAsyncContextManager[object] = module.Tracing(
        bus,
        hooks,
        module.otlp_exporter(tracing.endpoint, headers),
        name=settings.name,
        provider=settings.effective_provider,
        ratio=tracing.ratio,
    )
    return made
