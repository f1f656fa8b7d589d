"""The API as the web server knows it: a door that looks at keys, and what is behind it loaded when needed."""

import asyncio
from importlib import import_module
from typing import Final

from starlette.datastructures import URLPath
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, Match, NoMatchFound
from starlette.types import ASGIApp, Receive, Scope, Send

from bot.errors import StoreError
from bot.web.api.base import OWNER, Caller, Parts
from bot.web.keys import is_api, key_of

PLACE: Final = "bot.web.api.app"


class Api:
    """Serves the paths of the API. Who shows no key was let in by the guard, and is the owner.

    Attributes:
        parts: What it reaches of the bot.
    """

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self._app: ASGIApp | None = None
        self._loading = asyncio.Lock()

    def routes(self) -> list[BaseRoute]:
        """What the web server is given; it stands behind what has paths of its own."""
        return [_ApiRoute(self)]

    @property
    def is_loaded(self) -> bool:
        """Whether anybody has asked for anything."""
        return self._app is not None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request or a WebSocket."""
        try:
            caller = await self._identify(HTTPConnection(scope))
        except StoreError:
            await _refuse("the store does not answer; try again later", 503, scope, receive, send)
            return
        if caller is None:
            await _refuse("this key is unknown or was revoked", 401, scope, receive, send)
            return
        app = self._app or await self._load()
        await app({**scope, "caller": caller}, receive, send)

    async def _identify(self, request: HTTPConnection) -> Caller | None:
        text = key_of(request)
        if text is None:
            return OWNER
        key = await self.parts.keys.check(text)
        return None if key is None else Caller(account=key.id, name=key.name, scopes=key.scopes)

    async def _load(self) -> ASGIApp:
        """Import what is behind, in a thread: it takes half a second, in which others are served."""
        async with self._loading:
            if self._app is None:
                self._app = await asyncio.to_thread(_build, self.parts)
        return self._app

    async def aclose(self) -> None:
        """End what still streams; called before the web server closes, which would wait for it."""
        await self.parts.feed.aclose()


class _ApiRoute(BaseRoute):
    """Takes all paths of the API, and leaves them as they are."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """See `BaseRoute`."""
        is_ours = scope["type"] in ("http", "websocket") and is_api(scope["path"])
        return (Match.FULL, {}) if is_ours else (Match.NONE, {})

    def url_path_for(self, name: str, /, **path_params: object) -> URLPath:
        """See `BaseRoute`."""
        raise NoMatchFound(name, path_params)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See `BaseRoute`."""
        await self._app(scope, receive, send)


def _build(parts: Parts) -> ASGIApp:
    app: ASGIApp = import_module(PLACE).build(parts)
    return app


async def _refuse(text: str, status: int, scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await receive()  # websocket.connect
        await send({"type": "websocket.close", "code": 1008, "reason": text})
        return
    response = JSONResponse(
        {"error": text}, status, {"WWW-Authenticate": "Bearer"} if status == 401 else None
    )
    await response(scope, receive, send)
