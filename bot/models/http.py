"""HTTP/1.1 as a model server is spoken to: requests to one address, over connections that are kept.

httptools parses, asyncio moves the bytes. aiohttp would take a tenth of a second to load, and twice the time
for each token; docs/decisions.md has the figures.
"""

import asyncio
import ssl
from base64 import b64encode
from collections.abc import Mapping
from socket import IPPROTO_TCP, SOCK_STREAM, TCP_NODELAY
from typing import Final
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from aiohappyeyeballs import start_connection

from bot.errors import ModelError
from bot.models.http_connection import Broken, Connection, HttpError, HungUp, Response, Unreachable, Untrusted

__all__ = ["Broken", "HttpClient", "HttpError", "HungUp", "Response", "Unreachable", "Untrusted"]

IDLE_SECONDS: Final = 30.0  # below what servers keep, so that they seldom hang up first
SECOND_ADDRESS: Final = 0.25  # seconds until the next address of a host is tried beside the first
PORTS: Final = {"http": 80, "https": 443}


class HttpClient:
    """Posts to one address.

    Args:
        url: `http` or `https`, with host and path.
        headers: Sent with every request.
        connect_seconds: Until the server has picked up, the handshake included.
        keeps_connections: Use a connection for many requests.

    Raises:
        ModelError: The address is none.
    """

    def __init__(
        self, url: str, headers: Mapping[str, str], *, connect_seconds: float, keeps_connections: bool = True
    ) -> None:
        self._server = _split(url)
        self._proxy = _find_proxy(self._server)
        self._connect_seconds = connect_seconds
        self._keeps = keeps_connections
        self._tls: ssl.SSLContext | None = None
        self._idle: list[Connection] = []
        self._open: set[Connection] = set()
        self._sweeper: asyncio.TimerHandle | None = None
        self._is_closed = False
        self._head = _head(self._server, self._proxy, headers, keeps=keeps_connections)

    async def post(self, body: bytes) -> Response:
        """Send a request; gives the answer as soon as its head has come.

        A kept connection that the server has closed says nothing about this request: it is sent once more.

        Raises:
            HttpError: See its classes.
        """
        head = b"%s%d\r\n\r\n" % (self._head, len(body))
        if (kept := self._take()) is not None:
            try:
                return await kept.send(head, body)
            except HungUp:
                pass
        connection = await self._connect()
        return await connection.send(head, body)

    def _take(self) -> Connection | None:
        """The connection that was used last, if it is still good."""
        oldest = asyncio.get_running_loop().time() - IDLE_SECONDS
        while self._idle:
            connection = self._idle.pop()
            if connection.is_usable and connection.since > oldest:
                return connection
            connection.abort()
        return None

    def give_back(self, connection: Connection) -> None:
        """See `Keeper`."""
        if not self._keeps or self._is_closed:
            connection.abort()
            return
        loop = asyncio.get_running_loop()
        connection.since = loop.time()
        self._idle.append(connection)
        if self._sweeper is None:
            self._sweeper = loop.call_later(IDLE_SECONDS, self._sweep)

    def _sweep(self) -> None:
        """Close what nobody has used for a while."""
        loop = asyncio.get_running_loop()
        oldest = loop.time() - IDLE_SECONDS
        stale = [connection for connection in self._idle if connection.since <= oldest]
        self._idle = [connection for connection in self._idle if connection.since > oldest]
        for connection in stale:
            connection.abort()
        self._sweeper = loop.call_later(IDLE_SECONDS, self._sweep) if self._idle else None

    async def _connect(self) -> Connection:
        try:
            async with asyncio.timeout(self._connect_seconds):
                return await self._reach()
        except ssl.SSLCertVerificationError as error:
            raise Untrusted(error.verify_message) from error
        except (OSError, TimeoutError) as error:  # `ssl.SSLError` is an OSError
            raise Unreachable(str(error)) from error

    async def _reach(self) -> Connection:
        """Open a connection to the server, or to the proxy on the way to it."""
        loop = asyncio.get_running_loop()
        near = self._proxy or self._server
        addresses = await loop.getaddrinfo(near.hostname, _port(near), type=SOCK_STREAM)
        sock = await start_connection(addresses, happy_eyeballs_delay=SECOND_ADDRESS, loop=loop)
        sock.setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)
        tls = self._context() if near.scheme == "https" else None
        transport, connection = await loop.create_connection(
            lambda: Connection(self), sock=sock, ssl=tls, server_hostname=near.hostname if tls else None
        )
        if self._proxy is not None and self._server.scheme == "https":
            connection = await self._tunnel(transport, connection)
        self._open.add(connection)
        return connection

    async def _tunnel(self, transport: asyncio.Transport, outer: Connection) -> Connection:
        """Have the proxy lead us on, and speak TLS with the server behind it."""
        assert self._proxy is not None
        target = f"{_bracketed(self._server)}:{_port(self._server)}"
        asked = [f"CONNECT {target} HTTP/1.1", f"Host: {target}", *_permit(self._proxy), "", ""]
        answer = await outer.send("\r\n".join(asked).encode("latin-1"), b"")
        if answer.status != 200:
            answer.close()
            raise Unreachable(f"the proxy refuses (HTTP {answer.status})")
        inner = Connection(self)
        secure = await asyncio.get_running_loop().start_tls(
            transport, inner, self._context(), server_hostname=self._server.hostname
        )
        if secure is None:
            raise Unreachable("the proxy hung up")
        inner.connection_made(secure)
        return inner

    def _context(self) -> ssl.SSLContext:
        if self._tls is None:  # takes some 20 ms
            self._tls = ssl.create_default_context()
        return self._tls

    def lost(self, connection: Connection) -> None:
        """See `Keeper`."""
        self._open.discard(connection)

    async def aclose(self) -> None:
        """Close all connections; what still comes over one is lost."""
        self._is_closed = True
        if self._sweeper is not None:
            self._sweeper.cancel()
        for connection in tuple(self._open):
            connection.abort()
        self._idle.clear()
        await asyncio.sleep(0)  # the event loop closes the sockets


def _split(url: str) -> SplitResult:
    """The parts of an address.

    Raises:
        ModelError: It is none.
    """
    try:
        parts = urlsplit(url)
        is_sound = parts.scheme in PORTS and bool(parts.hostname) and _port(parts) > 0
    except ValueError:
        is_sound = False
    if not is_sound or not url.isascii() or any(sign.isspace() for sign in url):
        raise ModelError("BOT_OPENAI__BASE_URL is not an address.")
    return parts


def _port(parts: SplitResult) -> int:
    return parts.port or PORTS[parts.scheme]


def _bracketed(parts: SplitResult) -> str:
    """The host as it stands in front of a port."""
    host = parts.hostname or ""
    return f"[{host}]" if ":" in host else host


def _head(
    server: SplitResult, proxy: SplitResult | None, headers: Mapping[str, str], *, keeps: bool
) -> bytes:
    """A request up to the length of its body."""
    path = (server.path or "/") + (f"?{server.query}" if server.query else "")
    host = _bracketed(server) + (f":{server.port}" if server.port else "")
    is_led = proxy is not None and server.scheme == "http"  # the proxy reads where it goes
    lines = [f"POST {server.scheme}://{host}{path} HTTP/1.1" if is_led else f"POST {path} HTTP/1.1"]
    lines.append(f"Host: {host}")
    if is_led and proxy is not None:
        lines += _permit(proxy)
    if server.username:
        lines.append(f"Authorization: {_basic(server)}")
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if not keeps:
        lines.append("Connection: close")
    lines.append("Content-Length: ")
    return "\r\n".join(lines).encode("latin-1")


def _permit(proxy: SplitResult) -> list[str]:
    return [f"Proxy-Authorization: {_basic(proxy)}"] if proxy.username else []


def _basic(parts: SplitResult) -> str:
    pair = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
    return f"Basic {b64encode(pair.encode()).decode()}"


def _find_proxy(server: SplitResult) -> SplitResult | None:
    """The system's proxy for a server, if there is one."""
    if proxy_bypass(server.hostname or ""):
        return None
    found = getproxies().get(server.scheme)
    if not found:
        return None
    try:
        return _split(found if "://" in found else f"http://{found}")
    except ModelError:
        raise ModelError(f"The proxy for {server.scheme} addresses is not an address.") from None
