"""The door of the web server: every request and every WebSocket passes here first."""

from math import ceil
from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bot.web.access import COOKIE, Access, Throttle
from bot.web.hosts import HostRule

OPEN_PATHS: Final = frozenset({"/healthz", "/readyz", "/login", "/login.css"})
HOOKS: Final = "/hooks/"  # platforms come here; each adapter looks at their signatures itself
CONTENT_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
SECURITY_HEADERS: Final = {
    "Content-Security-Policy": CONTENT_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # no-referrer would make the login form's Origin "null"
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Guard:
    """ASGI middleware that lets in only requests to us, from our own pages, by people who know the token."""

    def __init__(self, app: ASGIApp, *, hosts: HostRule, access: Access | None, throttle: Throttle) -> None:
        self._app = app
        self._hosts = hosts
        self._access = access
        self._throttle = throttle

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the request, or turn it away."""
        if scope["type"] not in {"http", "websocket"}:
            await self._app(scope, receive, send)
            return
        refusal = self._check(HTTPConnection(scope))
        if refusal is None:
            await self._app(scope, receive, _with_headers(send))
        elif scope["type"] == "websocket":
            await receive()  # websocket.connect
            await send({"type": "websocket.close", "code": 1008, "reason": "refused"})  # HTTP 403
        else:
            await refusal(scope, receive, _with_headers(send))

    def _check(self, request: HTTPConnection) -> Response | None:
        host = request.headers.get("host")
        if host is None or not self._hosts.admits_host(host):
            text = f"This server is not reached under {host!r}: add the name to BOT_WEB__ALLOWED_HOSTS.\n"
            return PlainTextResponse(text, 403)
        if not self._hosts.admits_origin(request.headers.get("origin"), host):
            return PlainTextResponse("Pages of another site may not talk to this server.\n", 403)
        path = request.url.path
        if self._access is None or path in OPEN_PATHS or path.startswith(HOOKS):
            return None
        return self._check_token(request, self._access)

    def _check_token(self, request: HTTPConnection, access: Access) -> Response | None:
        if access.is_session(request.cookies.get(COOKIE, "")):
            return None
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return self._check_bearer(client_name(request), token.strip(), access)
        if "text/html" in request.headers.get("accept", ""):
            return RedirectResponse("/login", 303)
        return _unauthorized("a token is needed: Authorization: Bearer …")

    def _check_bearer(self, client: str, token: str, access: Access) -> Response | None:
        wait = self._throttle.wait(client)
        if wait > 0:
            return JSONResponse({"error": "too many wrong tokens"}, 429, {"Retry-After": str(ceil(wait))})
        if access.is_token(token):
            self._throttle.succeed(client)
            return None
        self._throttle.fail(client)
        return _unauthorized("the token is wrong")


def client_name(request: HTTPConnection) -> str:
    """The address a request comes from."""
    return request.client.host if request.client else "unknown"


def _unauthorized(text: str) -> Response:
    return JSONResponse({"error": text}, 401, {"WWW-Authenticate": "Bearer"})


def _with_headers(send: Send) -> Send:
    async def send_guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in SECURITY_HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return send_guarded
