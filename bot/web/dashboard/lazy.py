"""The pages as the web server knows them: nothing of them is loaded before the first one is opened."""

import asyncio
from importlib import import_module
from typing import Final, Protocol

from starlette.datastructures import URLPath
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.routing import BaseRoute, Match, NoMatchFound
from starlette.types import Receive, Scope, Send

from bot.web.dashboard.base import Parts
from bot.web.paths import PREFIX, is_page

PLACE: Final = "bot.web.dashboard.engine"
MISSING: Final = (
    "The operator's pages need NiceGUI, which is not installed.\n\n"
    "    pip install 'switchboard-bot[dashboard]'\n\n"
    "Then start the bot again.\n"
)


class Pages(Protocol):
    """What serves them, once it is loaded."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None: ...

    async def aclose(self) -> None: ...


class Dashboard:
    """Serves everything under `PREFIX`.

    Attributes:
        parts: What the pages are given.
    """

    def __init__(self, parts: Parts, *, place: str = PLACE) -> None:
        self.parts = parts
        self._place = place
        self._pages: Pages | None = None
        self._loading = asyncio.Lock()
        self._is_closed = False

    def routes(self) -> list[BaseRoute]:
        """What the web server is given."""
        return [_PagesRoute(self)]

    @property
    def is_loaded(self) -> bool:
        """Whether anybody has opened a page."""
        return self._pages is not None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request or a WebSocket."""
        if scope["path"] == PREFIX and scope["type"] == "http":
            query = scope["query_string"].decode("latin-1")
            target = f"{PREFIX}/?{query}" if query else f"{PREFIX}/"
            await RedirectResponse(target, 307)(scope, receive, send)
            return
        try:
            pages = self._pages or await self._load()
        except ModuleNotFoundError as error:
            if (error.name or "").startswith("bot."):
                raise
            pages = None
        if pages is not None:
            await pages(scope, receive, send)
        elif scope["type"] == "websocket":
            await receive()  # websocket.connect
            await send({"type": "websocket.close", "code": 1013, "reason": "not there"})
        else:
            await PlainTextResponse(MISSING, 503)(scope, receive, send)

    async def _load(self) -> Pages | None:
        """Import what is behind, in a thread: it takes a second, in which others are served."""
        async with self._loading:
            if self._pages is None and not self._is_closed:
                module = await asyncio.to_thread(import_module, self._place)
                engine = module.Engine(self.parts)
                await engine.start()
                self._pages = engine
        return self._pages

    async def aclose(self) -> None:
        """Close the pages; called before the web server closes, which would wait for them."""
        async with self._loading:
            self._is_closed = True
            if self._pages is not None:
                await self._pages.aclose()


class _PagesRoute(BaseRoute):
    """Takes all paths of the pages, and leaves them as they are."""

    def __init__(self, app: Dashboard) -> None:
        self._app = app

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """See `BaseRoute`."""
        is_ours = scope["type"] in ("http", "websocket") and is_page(scope["path"])
        return (Match.FULL, {}) if is_ours else (Match.NONE, {})

    def url_path_for(self, name: str, /, **path_params: object) -> URLPath:
        """See `BaseRoute`."""
        raise NoMatchFound(name, path_params)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See `BaseRoute`."""
        await self._app(scope, receive, send)
