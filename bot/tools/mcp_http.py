"""The HTTP transports: the SDK's, over a client that bounds what comes and survives what breaks.

In the SDK an error of the network ends the connection with all its calls. Here it is an answer like any
other, to the one request that it met.
"""

import json
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from mcp.client.sse import sse_client
from mcp.client.streamable_http import MCP_SESSION_ID, streamable_http_client
from mcp_types import INTERNAL_ERROR

log = logging.getLogger(__name__)

UNSENT = -32_950  # ours, beside the codes of JSON-RPC: the server has done nothing
MAX_BODY = 16 * 2**20  # bytes of one answer, or of one event
MAX_CONNECTIONS = 256
SILENCE_SECONDS = 3_600.0  # streams of events are silent for long; calls have time limits of their own
QUICK = httpx2.Timeout(10.0)  # where nothing is worked out: a call behind it would wait, too
TIMEOUT = httpx2.Timeout(30.0, connect=10.0, read=SILENCE_SECONDS)


class TameClient(httpx2.AsyncClient):
    """A client whose requests are always answered.

    Args:
        on_failure: Called when a message could not be posted.
    """

    def __init__(self, headers: Mapping[str, str], on_failure: Callable[[], None]) -> None:
        limits = httpx2.Limits(max_connections=MAX_CONNECTIONS, max_keepalive_connections=16)
        # What is compressed could be a thousand times as long as it seems.
        plain = {"Accept-Encoding": "identity"}
        super().__init__(headers={**headers, **plain}, timeout=TIMEOUT, limits=limits)
        self._on_failure = on_failure

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:  # `Any`: httpx2's own
        """Send, and turn what went wrong into an answer that the SDK can hand on."""
        if request.method == "DELETE" or (request.method == "POST" and not _is_call(request)):
            request.extensions = {**request.extensions, "timeout": QUICK.as_dict()}
        try:
            response = await super().send(request, **options)
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout):
            response = _failure(request, 503, UNSENT, "it can't be reached")
        except httpx2.TransportError as error:
            response = _failure(
                request, 502, INTERNAL_ERROR, f"the connection broke ({type(error).__name__})"
            )
        else:
            response = await self._examine(response)
        if request.method == "POST" and response.status_code >= 400:
            self._on_failure()
        return response

    async def _examine(self, response: httpx2.Response) -> httpx2.Response:
        request, status = response.request, response.status_code
        if response.headers.get("Content-Encoding", "identity") != "identity":
            failure = _failure(request, 502, INTERNAL_ERROR, "it compresses answers, unasked")
        elif status == 404 and MCP_SESSION_ID in request.headers:
            failure = _failure(request, 404, UNSENT, "it has forgotten the session")
        elif status >= 400 and not _is_json(response):
            failure = _failure(request, status, INTERNAL_ERROR, f"it answers with HTTP {status}")
        else:
            response.stream = _Bounded(response.stream, 0 if _is_stream(response) else MAX_BODY)
            return response
        await response.aclose()
        return failure


class _Bounded(httpx2.AsyncByteStream):
    """A body that ends with an error that the SDK expects, when it breaks or gets too long.

    Args:
        limit: In bytes; 0 for none, where each event has one.
    """

    def __init__(self, stream: httpx2.SyncByteStream | httpx2.AsyncByteStream, limit: int) -> None:
        if not isinstance(stream, httpx2.AsyncByteStream):
            raise TypeError("an asynchronous client gave a synchronous body")
        self._stream = stream
        self._limit = limit

    async def __aiter__(self) -> AsyncIterator[bytes]:
        taken = 0
        try:
            async for chunk in self._stream:
                taken += len(chunk)
                if self._limit and taken > self._limit:
                    raise httpx2.StreamError(f"it has more than {self._limit:,} bytes")
                yield chunk
        except httpx2.TransportError as error:
            raise httpx2.StreamError(f"the connection broke ({type(error).__name__})") from error

    async def aclose(self) -> None:
        await self._stream.aclose()


@asynccontextmanager
async def http_streams(url: str, headers: Mapping[str, str]) -> AsyncIterator[Any]:  # `Any`: the SDK's own
    """Streamable HTTP."""
    async with (
        TameClient(headers, lambda: None) as client,
        streamable_http_client(url, http_client=client, max_sse_event_size=MAX_BODY) as streams,
    ):
        yield streams


@asynccontextmanager
async def sse_streams(
    url: str, headers: Mapping[str, str], on_failure: Callable[[], None]
) -> AsyncIterator[Any]:  # `Any`: the SDK's own
    """The older transport, with one stream of events for all; a message that can't be posted ends it."""

    def make_client(
        headers: dict[str, str] | None = None,
        timeout: httpx2.Timeout | None = None,
        auth: httpx2.Auth | None = None,
    ) -> httpx2.AsyncClient:
        return TameClient(headers or {}, on_failure)

    async with sse_client(url, headers=dict(headers), httpx_client_factory=make_client) as streams:
        yield streams


def _failure(request: httpx2.Request, status: int, code: int, message: str) -> httpx2.Response:
    """An answer in the form of JSON-RPC; the SDK puts the id of the request in place of `null`."""
    body = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message}}
    headers = {"Content-Type": "application/json"}
    return httpx2.Response(status, headers=headers, content=json.dumps(body).encode(), request=request)


def _is_call(request: httpx2.Request) -> bool:
    """Whether a message is answered; notifications and our own answers are not."""
    message = json.loads(request.content)
    return isinstance(message, dict) and {"id", "method"} <= message.keys()


def _is_json(response: httpx2.Response) -> bool:
    return str(response.headers.get("Content-Type", "")).lower().startswith("application/json")


def _is_stream(response: httpx2.Response) -> bool:
    return str(response.headers.get("Content-Type", "")).lower().startswith("text/event-stream")
