"""NiceGUI, started with the first page that is opened; this module and what it imports is heavy."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from typing import ClassVar, Final

from nicegui import Client, core
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from bot.web.dashboard import pages
from bot.web.dashboard.base import Parts
from bot.web.dashboard.live import Live
from bot.web.dashboard.look import Look, current_look
from bot.web.dashboard.policy import Nonced
from bot.web.paths import PREFIX

RECONNECT_SECONDS: Final = 10.0  # that a page's state is kept for a browser that is gone
ICON: Final = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E"
    "%3Crect width='32' height='32' rx='9' fill='%232f5fd0'/%3E"
    "%3Cpath d='M9 11h14M9 16h14M9 21h8' stroke='white' stroke-width='2.6' stroke-linecap='round'/%3E"
    "%3C/svg%3E"
)


class _Tasks:
    """Owns what Socket.IO begins, which itself lets pings sleep on after their socket is closed."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[object]] = set()

    def start(
        self, target: Callable[..., Coroutine[object, object, object]], *args: object, **fields: object
    ) -> asyncio.Task[object]:
        """Begin one."""
        task = asyncio.create_task(target(*args, **fields), name="inbox socket")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def aclose(self) -> None:
        """End them all."""
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Engine:
    """Serves the pages of one bot, from `start` to `aclose`.

    NiceGUI is there once in a process: it begins with the first engine and ends with the last. A page finds
    its bot in the scope of its request.
    """

    _open: ClassVar[set["Engine"]] = set()
    _tasks: ClassVar[_Tasks]
    _lifespan: ClassVar[AbstractAsyncContextManager[object] | None] = None

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._live = Live(parts.api.feed, parts.desk)
        self._app: ASGIApp = GZipMiddleware(Nonced(core.app), minimum_size=2_000)

    async def start(self) -> None:
        """Begin; pages can be opened from then on."""
        if not Engine._open:
            pages.register()
            _configure()
            core.sio.eio.start_service_task = True  # it ended with the engine before, if there was one
            Engine._tasks = _Tasks()
            core.sio.eio.start_background_task = Engine._tasks.start
            Engine._lifespan = core.app.router.lifespan_context(core.app)
            await Engine._lifespan.__aenter__()
        Engine._open.add(self)
        self._parts.workings.logs.open()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request or a WebSocket."""
        current_look.set(Look.of(HTTPConnection(scope)))
        inner = {**scope, "root_path": PREFIX, pages.PARTS: self._parts, pages.LIVE: self._live}
        await self._app(inner, receive, send)

    async def aclose(self) -> None:
        """Close all pages of this bot; their browsers try to come back until they find its successor."""
        if self not in Engine._open:
            return
        await self._live.aclose()
        for client in [one for one in Client.instances.values() if self._owns(one)]:
            client.delete()
        Engine._open.discard(self)
        if not Engine._open and Engine._lifespan is not None:
            for socket in tuple(core.sio.eio.sockets):
                await core.sio.eio.disconnect(socket)
            await Engine._lifespan.__aexit__(None, None, None)
            await Engine._tasks.aclose()

    def _owns(self, client: Client) -> bool:
        return client.request.scope.get(pages.PARTS) is self._parts


def _configure() -> None:
    core.app.config.add_run_config(
        reload=False,
        title="Inbox",
        viewport="width=device-width, initial-scale=1, viewport-fit=cover",
        favicon=ICON,
        dark=None,
        language="en-US",
        binding_refresh_interval=None,  # nothing ticks: what changes is sent
        reconnect_timeout=RECONNECT_SECONDS,
        message_history_length=500,
        tailwind=False,  # it compiles styles in the browser; ours are in a file
        unocss=None,
        prod_js=True,
        show_welcome_message=False,
        markdown=False,
    )
