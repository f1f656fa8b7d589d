"""The door of the web server: every request and every WebSocket passes here first."""

from math import ceil
from typing import Final, Protocol

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bot.web.access import COOKIE, Access, Entry, Throttle
from bot.web.api.base import ApiKey
from bot.web.hosts import HostRule, is_loopback, parse_authority
from bot.web.keys import brings_key
from bot.web.paths import PREFIX, is_page

OPEN_PATHS: Final = frozenset({"/healthz", "/readyz", "/login", "/login.css"})
HOOKS: Final = "/hooks/"  # platforms come here; each adapter looks at their signatures itself
READING: Final = frozenset({"GET", "HEAD"})
MAX_BODY: Final = 2 * 1024 * 1024  # bytes of a request; the routes ask for less
CONTENT_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
ENTRY: Final = "entry"  # in the scope of a request: how its sender was let in
OPERATING: Final = frozenset({"operate", "admin"})  # scopes of keys that open the operator's pages
SECURITY_HEADERS: Final = {
    "Content-Security-Policy": CONTENT_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # no-referrer would make the login form's Origin "null"
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Keys(Protocol):
    """The API keys that operators may come in with."""

    async def check(self, text: str) -> ApiKey | None: ...

    async def find(self, id_: str) -> ApiKey | None: ...


def may_operate(key: ApiKey | None) -> bool:
    """Whether a key is in force and opens the operator's pages."""
    return key is not None and key.revoked_at is None and not OPERATING.isdisjoint(key.scopes)


class Guard:
    """ASGI middleware that lets in only requests to us, from our own pages, by people who know the token.

    Without a token, only who sits at this machine is let in, and nobody who comes through a proxy. Who came
    in with an API key sees the operator's pages only, as long as the key is in force.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        hosts: HostRule,
        access: Access | None,
        throttle: Throttle,
        keys: Keys | None = None,
    ) -> None:
        self._app = app
        self._hosts = hosts
        self._access = access
        self._throttle = throttle
        self._keys = keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the request, or turn it away."""
        if scope["type"] not in {"http", "websocket"}:
            await self._app(scope, receive, send)
            return
        refusal = await self._check(HTTPConnection(scope))
        if refusal is None:
            await self._serve(scope, receive, _with_headers(send))
        elif scope["type"] == "websocket":
            await receive()  # websocket.connect
            await send({"type": "websocket.close", "code": 1008, "reason": "refused"})  # HTTP 403
        else:
            await refusal(scope, receive, _with_headers(send))

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":  # its server bounds its messages
            await self._app(scope, receive, send)
            return
        body = _Body(receive)
        try:
            await self._app(scope, body.receive, body.watch(send))
        except _TooLarge:
            if body.is_answered:
                raise
            await PlainTextResponse(f"More than {MAX_BODY} bytes.\n", 413)(scope, receive, send)

    async def _check(self, request: HTTPConnection) -> Response | None:
        host = request.headers.get("host")
        if host is None or not self._hosts.admits_host(host):
            text = f"This server is not reached under {host!r}: add the name to BOT_WEB__ALLOWED_HOSTS.\n"
            return PlainTextResponse(text, 403)
        if not self._hosts.admits_origin(request.headers.get("origin"), host) or _is_foreign(request):
            return PlainTextResponse("Pages of another site may not talk to this server.\n", 403)
        if _length(request.headers) > MAX_BODY:
            return PlainTextResponse(f"More than {MAX_BODY} bytes.\n", 413)
        path = request.url.path
        if path in OPEN_PATHS or path.startswith(HOOKS) or brings_key(request):
            return None
        if self._access is not None:
            return await self._check_token(request, self._access)
        if not _is_at_home(request, host):
            text = "From elsewhere this server is reached with a token only: set BOT_WEB__TOKEN.\n"
            return PlainTextResponse(text, 403)
        return None

    async def _check_token(self, request: HTTPConnection, access: Access) -> Response | None:
        entry = await self._entry(request, access)
        if entry is not None:
            request.scope[ENTRY] = entry
            return None if _is_of_a_page(request) else _unauthorized("a cookie is for the page: send a token")
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return await self._check_bearer(client_name(request), token.strip(), access)
        if "text/html" in request.headers.get("accept", ""):
            is_operators = is_page(request.url.path)
            return RedirectResponse(f"/login?to={PREFIX}/" if is_operators else "/login", 303)
        return _unauthorized("a token is needed: Authorization: Bearer …")

    async def _entry(self, request: HTTPConnection, access: Access) -> Entry | None:
        id_ = access.key_of(request.cookies.get(COOKIE, ""))
        if not id_:
            return None if id_ is None else Entry()
        if self._keys is None or not is_page(request.url.path):
            return None
        key = await self._keys.find(id_)
        if key is None or not may_operate(key):
            return None
        return Entry(key.id, key.name, "admin" in key.scopes)

    async def _check_bearer(self, client: str, token: str, access: Access) -> Response | None:
        wait = self._throttle.wait(client)
        if wait > 0:
            return JSONResponse({"error": "too many wrong tokens"}, 429, {"Retry-After": str(ceil(wait))})
        if access.is_token(token):
            await self._throttle.succeed(client)
            return None
        await self._throttle.fail(client)
        return _unauthorized("the token is wrong")


def client_name(request: HTTPConnection) -> str:
    """The address a request comes from."""
    return request.client.host if request.client else "unknown"


def _is_at_home(request: HTTPConnection, host: str) -> bool:
    """Whether somebody at this machine asks under its own name; a proxy names whom it asks for."""
    authority = parse_authority(host.lower())
    return authority is not None and is_loopback(authority.name) and is_loopback(client_name(request))


def _is_foreign(request: HTTPConnection) -> bool:
    """Whether a browser says that another site had it ask; following a link from there is no harm.

    Source: W3C, Fetch Metadata Request Headers.
    """
    if request.headers.get("sec-fetch-site", "none") in {"none", "same-origin"}:
        return False
    is_link = request.headers.get("sec-fetch-mode") == "navigate" and _is_reading(request)
    return not (is_link and request.headers.get("sec-fetch-dest") == "document")


def _is_of_a_page(request: HTTPConnection) -> bool:
    """Whether what a cookie lets in may change something: browsers say where that came from."""
    is_named = "origin" in request.headers or request.headers.get("sec-fetch-site") == "same-origin"
    return _is_reading(request) or is_named


def _is_reading(request: HTTPConnection) -> bool:
    return request.scope["type"] == "http" and request.scope["method"] in READING


def _length(headers: Headers) -> int:
    text = headers.get("content-length", "0")
    return int(text) if text.isascii() and text.isdigit() else 0


def _unauthorized(text: str) -> Response:
    return JSONResponse({"error": text}, 401, {"WWW-Authenticate": "Bearer"})


class _TooLarge(Exception):  # stays between the two halves of `Guard`
    """A body without a length goes on for too long."""


class _Body:
    """Counts what comes in, and knows whether the answer has begun."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._count = 0
        self.is_answered = False

    async def receive(self) -> Message:
        message = await self._receive()
        self._count += len(message.get("body", b""))
        if self._count > MAX_BODY:
            raise _TooLarge
        return message

    def watch(self, send: Send) -> Send:
        async def send_watched(message: Message) -> None:
            self.is_answered = True
            await send(message)

        return send_watched


def _with_headers(send: Send) -> Send:
    async def send_guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in SECURITY_HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return send_guarded
