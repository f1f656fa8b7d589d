"""The way out to the network for what a model asks for: to public hosts, within bounds of size and time."""

import asyncio
import logging
import os
import time
import zlib
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from socket import AddressFamily
from types import TracebackType
from typing import Final, Self
from urllib.request import getproxies, proxy_bypass

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from bot.tools.base import ToolFault
from bot.tools.web import Page
from security.addresses import Reach, plain

log = logging.getLogger(__name__)

MAX_URL: Final = 4_000  # characters
MAX_REDIRECTS: Final = 5
MAX_CONNECTIONS: Final = 20
CONNECT_SECONDS: Final = 10.0
BROKEN: Final = (ValueError, IndexError)  # how yarl refuses a text, and how it stumbles over `http://[]@`
REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
HEADERS: Final = {
    "User-Agent": "Mozilla/5.0 (compatible; Switchboard)",
    "Accept": "text/html,application/xhtml+xml,text/markdown,application/json;q=0.9,*/*;q=0.8",
    "Accept-Language": "en;q=0.9,*;q=0.5",
    "Accept-Encoding": "gzip, deflate",
}


class SafeResolver(AbstractResolver):
    """Looks names up, and gives no address that may not be connected to.

    The connector connects to nothing but what this returns, and asks once a connection, so that a name can't
    lead elsewhere after it was checked. One bad address spoils the name: it would be tried sooner or later.
    """

    def __init__(self, reach: Reach, resolver: AbstractResolver) -> None:
        self._reach = reach
        self._resolver = resolver

    async def resolve(
        self, host: str, port: int = 0, family: AddressFamily = AddressFamily.AF_UNSPEC
    ) -> list[ResolveResult]:
        """See the base class.

        Raises:
            ToolFault: The name leads to where nobody may go.
        """
        found = await self._resolver.resolve(host, port, family)
        for result in found:
            self._reach.check_address(host, port, result["host"])
        return found

    async def close(self) -> None:
        """See the base class."""
        await self._resolver.close()


class Network:
    """Fulfils `bot.tools.web.Fetcher` and `bot.tools.api.Caller`; keeps no cookies and no connections.

    Args:
        allow: Hosts beside the public ones, see `Reach`.
        ports: The ports that may be reached without being allowed; empty for the usual ones.
        use_proxy: Go through the proxy that the environment names. Names are then looked up by the proxy:
            only what the URL itself says is checked here.
        resolver: Looks names up; default: the system.
    """

    def __init__(
        self,
        *,
        allow: Iterable[str] = (),
        ports: Iterable[int] = (),
        use_proxy: bool = False,
        resolver: AbstractResolver | None = None,
    ) -> None:
        self._reach = Reach(allow=allow, ports=ports)
        self._use_proxy = use_proxy
        self._resolver = resolver
        self._direct: aiohttp.ClientSession | None = None
        self._proxied: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        resolver = SafeResolver(self._reach, self._resolver or aiohttp.ThreadedResolver())
        self._direct = _session(resolver)
        self._proxied = _session(aiohttp.ThreadedResolver())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for session in (self._direct, self._proxied):
            if session is not None:
                await session.close()

    async def get(
        self, url: str, *, headers: Mapping[str, str] | None = None, max_bytes: int, seconds: float
    ) -> Page:
        """See `bot.tools.web.Fetcher`."""
        here = start = parse_url(url)
        async with _deadline(seconds, start):
            for _ in range(MAX_REDIRECTS + 1):
                own = headers or {} if here.origin() == start.origin() else {}
                page = await self._exchange("GET", here, headers=own, body=None, max_bytes=max_bytes)
                if page.location is None:
                    return page
                here = _follow(here, page.location)
        raise ToolFault(f"{start.host} redirects more than {MAX_REDIRECTS} times: give the final address.")

    async def call(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes | None = None,
        max_bytes: int,
        seconds: float,
    ) -> Page:
        """See `bot.tools.api.Caller`."""
        target = parse_url(url)
        async with _deadline(seconds, target):
            return await self._exchange(method, target, headers=headers, body=body, max_bytes=max_bytes)

    async def _exchange(
        self, method: str, url: URL, *, headers: Mapping[str, str], body: bytes | None, max_bytes: int
    ) -> Page:
        """One request and its answer; of a redirect, only where it leads."""
        host, port = url.raw_host or "", url.port or 0
        self._reach.check_host(host, port)
        proxy = _proxy_of(url) if self._use_proxy else None
        session = self._proxied if proxy else self._direct
        if session is None:
            raise RuntimeError("the network is used before it was opened")
        started = time.monotonic()
        with _told(url):
            response = await session.request(
                method, url, headers={**HEADERS, **headers}, data=body, allow_redirects=False, proxy=proxy
            )
            try:
                page = await _read(response, max_bytes)
            finally:
                response.close()
        took = round(time.monotonic() - started, 3)
        fields = {"host": host, "status": page.status, "bytes": len(page.body), "seconds": took}
        log.info("host answered", extra=fields)
        return page


def host_of(url: str) -> str:
    """The entry of an allow list that lets through what a URL of the settings names.

    Raises:
        ToolFault: It names nothing.
    """
    parsed = parse_url(url)
    host = plain(parsed.raw_host or "")
    return f"[{host}]:{parsed.port}" if ":" in host else f"{host}:{parsed.port}"


def parse_url(text: str) -> URL:
    """Read a URL as the connection will.

    Raises:
        ToolFault: It is not one that can be asked for.
    """
    text = text.strip()
    if len(text) > MAX_URL:
        raise ToolFault(f"The URL is longer than {MAX_URL} characters.")
    if any(sign <= " " or sign in "\\\x7f" for sign in text):
        raise ToolFault(
            "The URL has blanks, backslashes or control characters in it: write them as %20 and so on."
        )
    try:
        url = URL(text)
        host, port = url.raw_host, url.port
    except BROKEN as error:
        raise ToolFault(
            f"This is not a URL: {text[:100]!r}. Write it like https://example.com/page."
        ) from error
    if url.scheme not in {"http", "https"} or not host or not port:
        raise ToolFault(
            f"Only http and https can be fetched, not {text[:100]!r}; write https://example.com/page."
        )
    if url.raw_user is not None or url.raw_password is not None:
        raise ToolFault("A URL with a user name or password in it is not fetched: leave them out.")
    return url.with_fragment(None)


def _follow(here: URL, location: str) -> URL:
    try:
        return parse_url(str(here.join(URL(location.strip()))))
    except BROKEN as error:
        raise ToolFault(f"{here.host} redirects to something that is no URL.") from error


def _session(resolver: AbstractResolver) -> aiohttp.ClientSession:
    connector = aiohttp.TCPConnector(
        resolver=resolver, use_dns_cache=False, force_close=True, limit=MAX_CONNECTIONS
    )
    return aiohttp.ClientSession(
        connector=connector,
        connector_owner=True,
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,  # it is done within bounds, see `_Inflater`
        trust_env=False,
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
    )


def _proxy_of(url: URL) -> str | None:
    return None if proxy_bypass(url.host or "") else getproxies().get(url.scheme)


@asynccontextmanager
async def _deadline(seconds: float, url: URL) -> AsyncIterator[None]:
    """End a wait with an error that the model can read."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError as error:
        raise ToolFault(f"{url.host} did not answer within {seconds:g} s: try again later.") from error


@contextmanager
def _told(url: URL) -> Iterator[None]:
    """Turn the library's errors into ours. They are not chained: some carry URLs with secrets."""
    try:
        yield
    except aiohttp.ClientConnectorDNSError:
        raise ToolFault(f"There is no host {url.host!r}, or it can't be looked up now.") from None
    except aiohttp.ClientConnectorCertificateError:
        raise ToolFault(f"{url.host} shows a certificate that is not valid: its page is not read.") from None
    except aiohttp.ClientSSLError:
        raise ToolFault(f"{url.host} can't be reached safely: the TLS connection failed.") from None
    except aiohttp.ClientConnectorError as error:
        errno = error.os_error.errno  # its text is not told: it names the address that the name led to
        why = os.strerror(errno) if errno else "none of its addresses answers"
        raise ToolFault(f"{url.host} can't be connected to on port {url.port}: {why}.") from None
    except (aiohttp.ClientResponseError, aiohttp.ClientPayloadError):
        raise ToolFault(f"{url.host} gives an answer that is not proper HTTP.") from None
    except aiohttp.InvalidURL:
        raise ToolFault(
            f"{url.host!r} can't be asked: write the host as a name or a plain address."
        ) from None
    except (aiohttp.ClientError, OSError) as error:
        if isinstance(error, TimeoutError):
            raise ToolFault(f"{url.host} did not pick up within {CONNECT_SECONDS:g} s.") from None
        raise ToolFault(f"The connection to {url.host} broke: {type(error).__name__}.") from None


async def _read(response: aiohttp.ClientResponse, max_bytes: int) -> Page:
    location = response.headers.get("Location") if response.status in REDIRECTS else None
    body, is_cut = (b"", False) if location is not None else await _read_body(response, max_bytes)
    return Page(
        url=str(response.url),
        status=response.status,
        mime=response.content_type if "Content-Type" in response.headers else "",
        charset=response.charset,
        body=body,
        is_cut=is_cut,
        location=location,
    )


async def _read_body(response: aiohttp.ClientResponse, max_bytes: int) -> tuple[bytes, bool]:
    """The body, unpacked, and whether there was more of it than `max_bytes`, packed or not."""
    inflater = _inflater(response)
    body, came = bytearray(), 0
    async for chunk in response.content.iter_any():
        came += len(chunk)
        body += inflater.feed(chunk, max_bytes + 1 - len(body)) if inflater else chunk
        if len(body) > max_bytes or came > max_bytes:
            return bytes(body[:max_bytes]), True
    return bytes(body), False


def _inflater(response: aiohttp.ClientResponse) -> "_Inflater | None":
    encoding = response.headers.get("Content-Encoding", "").strip().lower()
    if encoding in {"", "identity"}:
        return None
    if encoding not in {"gzip", "x-gzip", "deflate"}:
        raise ToolFault(f"{response.url.host} packs its answer as {encoding[:40]!r}, which nobody asked for.")
    return _Inflater(response.url.host or "")


class _Inflater:
    """Unpacks gzip and deflate piece by piece, and never to more than is asked for."""

    def __init__(self, host: str) -> None:
        self._host = host
        self._unpack = zlib.decompressobj(zlib.MAX_WBITS | 32)  # finds out itself which of the two it is
        self._has_begun = False

    def feed(self, chunk: bytes, most: int) -> bytes:
        """Unpack some more; gives up to `most` bytes, and nothing past the end of what was packed.

        Raises:
            ToolFault: It is not packed as it says.
        """
        if self._unpack.eof:
            return b""
        try:
            unpacked = (
                self._begin(chunk, most) if not self._has_begun else self._unpack.decompress(chunk, most)
            )
        except zlib.error as error:
            raise ToolFault(f"{self._host} gives an answer that can't be unpacked.") from error
        self._has_begun = True
        return unpacked

    def _begin(self, chunk: bytes, most: int) -> bytes:
        try:
            return self._unpack.decompress(chunk, most)
        except zlib.error:  # some servers call it deflate and leave out the zlib header
            self._unpack = zlib.decompressobj(-zlib.MAX_WBITS)
            return self._unpack.decompress(chunk, most)
