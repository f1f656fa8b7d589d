"""The web server: listens, guards, and serves the routes that it is given."""

import asyncio
import errno
import logging
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from types import TracebackType
from typing import Any, Final, Self

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from bot.agent.audit import Audit
from bot.errors import ConfigError
from bot.settings import WebSettings
from bot.web.access import Access, Throttle
from bot.web.guard import Guard, Keys
from bot.web.health import Readiness, health_routes
from bot.web.hosts import HostRule
from bot.web.login import login_routes

log = logging.getLogger(__name__)

CLOSE_TIMEOUT: Final = 5  # seconds that open requests get at shutdown
PING_INTERVAL: Final = 20.0  # seconds
MAX_FRAME: Final = 2 * 1024 * 1024  # bytes of one WebSocket message: the longest text, all of it escaped


def build_app(
    settings: WebSettings,
    routes: Sequence[BaseRoute],
    readiness: Readiness,
    *,
    port: int,
    audit: Audit | None = None,
    keys: Keys | None = None,
) -> Starlette:
    """Put the routes behind the guard.

    Args:
        port: The actual one, which the `Host` header must name.
        audit: Gets told of logins, and of who guesses.
        keys: Operators come in with them.
    """
    token = settings.token.get_secret_value() if settings.token else None
    access = Access(token) if token else None
    throttle = Throttle(audit=audit)
    inner: list[BaseRoute] = [Route("/", _go_to_chat), *health_routes(readiness), *routes]
    if access is not None:
        inner += login_routes(access, throttle, keys)
    hosts = HostRule(settings.host, port, settings.allowed_hosts)
    guard = Middleware(Guard, hosts=hosts, access=access, throttle=throttle, keys=keys)
    return Starlette(routes=inner, middleware=[guard])


async def _go_to_chat(request: Request) -> Response:
    return RedirectResponse("/chat", 307)


class WebServer:
    """Serves from `__aenter__`, when it listens already, to `__aexit__`.

    Raises:
        ConfigError: The port is in use or may not be used.
    """

    def __init__(
        self,
        settings: WebSettings,
        routes: Sequence[BaseRoute],
        readiness: Readiness,
        *,
        audit: Audit | None = None,
        keys: Keys | None = None,
    ) -> None:
        self._audit = audit
        self._keys = keys
        self._settings = settings
        self._routes = routes
        self._readiness = readiness
        self._port = settings.port
        self._server: _Server | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def port(self) -> int:
        """The port it listens on."""
        return self._port

    @property
    def url(self) -> str:
        """Where a browser on this machine finds it, without a slash at the end."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self._settings.host, self._settings.host)
        return f"http://[{host}]:{self._port}" if ":" in host else f"http://{host}:{self._port}"

    async def __aenter__(self) -> Self:
        listener = _listen(self._settings.host, self._settings.port)
        self._port = listener.getsockname()[1]
        app = build_app(
            self._settings,
            self._routes,
            self._readiness,
            port=self._port,
            audit=self._audit,
            keys=self._keys,
        )
        self._server = _Server(_configure(app))
        self._task = asyncio.create_task(self._server.serve([listener]), name="web server")
        await self._server.listening.wait()
        log.info("web server listens", extra={"url": self.url})
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None and self._task is not None:
            self._server.leaving.set()
            await self._task


class _Server(uvicorn.Server):
    """uvicorn inside our loop: our signal handlers stay, and nothing ticks while nobody calls."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = asyncio.Event()
        self.leaving = asyncio.Event()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.listening.set()

    async def main_loop(self) -> None:
        await self.leaving.wait()


def _open_socket(**arguments: Any) -> asyncio.Protocol:  # `Any`: uvicorn's own
    """The protocol of a WebSocket; loaded with the first."""
    made: asyncio.Protocol = import_module("bot.web.sockets").SocketProtocol(**arguments)
    return made


def _configure(app: Starlette) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        ws=_open_socket,  # type: ignore[arg-type]  # called as the class would be
        ws_max_size=MAX_FRAME,
        ws_ping_interval=PING_INTERVAL,
        ws_ping_timeout=PING_INTERVAL,
        ws_per_message_deflate=False,
        lifespan="off",
        access_log=False,
        log_config=None,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=CLOSE_TIMEOUT,
    )


def _listen(host: str, port: int) -> socket.socket:
    """Bind before anything else starts, so that a port in use stops the start with a clear word."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        raise ConfigError(f"can't listen on host {host!r}: {error}; see BOT_WEB__HOST") from error
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(2048)
    except OSError as error:
        listener.close()
        raise ConfigError(_explain(error, host, port)) from error
    listener.setblocking(False)
    return listener


def _explain(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"port {port} is in use: another program listens there, maybe another bot; "
            "stop it, or set BOT_WEB__PORT to a free port (0 takes any)"
        )
    return f"can't listen on {host}:{port}: {error.strerror}; set BOT_WEB__HOST and BOT_WEB__PORT"
