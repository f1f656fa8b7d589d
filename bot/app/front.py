"""The web server and all that it shows: chat page, hooks of platforms, API, operators' pages."""

from collections.abc import Callable
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Protocol, Self

import msgspec

from bot.agent.audit import Audit
from bot.agent.loop import AgentLoop
from bot.agent.prompt import PromptBuilder
from bot.app.agency import Agency
from bot.app.interface import Wired, make_api, make_dashboard
from bot.app.parts import web_settings
from bot.app.workings import Wired as Worked
from bot.app.workings import make_workings
from bot.bus import LocalBus
from bot.hooks.registry import Hooks
from bot.metrics import Metrics
from bot.running import RunningBot
from bot.settings import Settings
from bot.web.api.lazy import Api
from bot.web.dashboard.gauge import Gauge
from bot.web.dashboard.lazy import Dashboard
from bot.web.health import Readiness
from bot.web.server import WebServer
from bot.webhooks import Webhooks
from channels.hub import ChatHub
from channels.web import routes


class Shown(Wired, Worked, Protocol):
    """The bot, put together."""

    bus: LocalBus
    hooks: Hooks
    hubs: dict[str, ChatHub]
    loop: AgentLoop


class Behind(msgspec.Struct, frozen=True, kw_only=True):
    """What stands behind the server, beside the bot itself.

    Attributes:
        redact: Hides what must not be in logs; may be called in any thread.
    """

    bot: RunningBot
    agency: Agency
    audit: Audit
    prompts: PromptBuilder
    readiness: Readiness
    redact: Callable[[str], str]
    webhooks: Webhooks


class Front:
    """Serves from `__aenter__` to `__aexit__`; nothing heavy is loaded before somebody asks for it.

    Attributes:
        pages: The operators'.
        url: Where a browser on this machine finds it, once it serves.
    """

    def __init__(self, settings: Settings, app: Shown, behind: Behind) -> None:
        self._settings = settings
        self._app = app
        self._behind = behind
        self._stack = AsyncExitStack()
        self._api = self._make_api()
        self.pages = self._make_pages()
        self.url = ""

    async def __aenter__(self) -> Self:
        app, api, pages = self._app, self._api, self.pages
        every = [*routes(app.hubs), *app.platforms.routes(), *api.routes(), *pages.routes()]
        server = WebServer(
            web_settings(self._settings),
            every,
            self._behind.readiness,
            audit=self._behind.audit,
            keys=app.store.api_keys,
        )
        try:
            self.url = (await self._stack.enter_async_context(server)).url
        except BaseException:
            await self._stack.aclose()
            raise
        self._stack.push_async_callback(api.aclose)
        self._stack.push_async_callback(pages.aclose)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    def _make_api(self) -> Api:
        app, behind = self._app, self._behind
        metrics = Metrics(
            app.bus,
            app.hooks,
            depths=app.store.runs,
            lanes=lambda: app.loop,
            channels=behind.bot.channels,
            waits=app.platforms.waits,
        )
        self._stack.push_async_callback(metrics.aclose)
        return make_api(
            self._settings,
            app.store,
            app.bus,
            bot=app,
            audit=behind.audit,
            planner=behind.agency.planner,
            metrics=metrics,
            webhooks=behind.webhooks,
        )

    def _make_pages(self) -> Dashboard:
        app, behind = self._app, self._behind
        workings = make_workings(
            self._settings, app, bot=behind.bot, spending=behind.agency.spending, redact=behind.redact
        )
        self._stack.push_async_callback(workings.aclose)
        return make_dashboard(
            self._api,
            desk=app.desk,
            people=app.store.people,
            memories=app.remembering.memories,
            gauge=Gauge(behind.agency.next_prompt(behind.prompts)),
            workings=workings,
        )
