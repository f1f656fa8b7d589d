"""A connection to an MCP server by the official SDK; none of its errors leaves this file."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeAlias

import httpx2
from mcp import Client, MCPError
from mcp.client.subscriptions import SubscriptionLost
from mcp_types import (
    CONNECTION_CLOSED,
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    Implementation,
    InputRequiredResult,
    ToolListChangedNotification,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import TypeAdapter, ValidationError

from bot.settings.mcp import McpServerSettings
from bot.tools.base import Arguments, ToolFault, ToolOutput
from bot.tools.mcp_http import UNSENT, http_streams, sse_streams
from bot.tools.mcp_process import Tail, process_streams
from bot.tools.mcp_results import Shelf, read_result
from bot.tools.mcp_schema import RemoteTool, encode_json
from bot.tools.mcp_server import McpFault, NotSent

log = logging.getLogger(__name__)

CONNECT_SECONDS = 60.0  # a program may have to be fetched first, as by npx and uvx
LISTEN_SECONDS = 5.0  # until a stream of changes that broke is opened again
MAX_PAGES = 50
MAX_MESSAGE = 2_000  # characters of an error that the model is shown
RESULT: TypeAdapter[CallToolResult | InputRequiredResult] = TypeAdapter(CallToolResult | InputRequiredResult)

Streams: TypeAlias = AbstractAsyncContextManager[Any]  # `Any`: pairs of streams, as the SDK has them


class News:
    """What a connection tells its owner, from whatever task of the SDK."""

    def __init__(self) -> None:
        self._is_there = asyncio.Event()
        self.is_over = False

    def change(self) -> None:
        """The list of tools may be another one."""
        self._is_there.set()

    def end(self) -> None:
        """The connection is lost."""
        self.is_over = True
        self._is_there.set()

    async def wait(self) -> bool:
        """Wait for the next; false at the end."""
        await self._is_there.wait()
        self._is_there.clear()
        return not self.is_over


class McpLink:
    """See `Link`."""

    def __init__(self, name: str, client: Client, news: News, shelf: Shelf, *, timeout: float) -> None:
        self._name = name
        self._client = client
        self._news = news
        self._shelf = shelf
        self._timeout = timeout

    async def tools(self) -> tuple[RemoteTool, ...]:
        """See `Link.tools`."""
        found: list[RemoteTool] = []
        cursor: str | None = None
        async with asyncio.timeout(self._timeout):
            for _ in range(MAX_PAGES):
                page = await self._client.list_tools(cursor=cursor)
                found += [
                    RemoteTool(
                        name=tool.name,
                        description=tool.description or tool.title or "",
                        parameters=encode_json(tool.input_schema),
                        is_reading=tool.annotations is not None and tool.annotations.read_only_hint is True,
                    )
                    for tool in page.tools
                ]
                cursor = page.next_cursor
                if not cursor:
                    break
        return tuple(found)

    async def call(self, name: str, arguments: Arguments) -> ToolOutput:
        """See `Link.call`."""
        if self._news.is_over:
            raise NotSent("the connection is lost")
        plain = json.loads(
            encode_json(dict(arguments))
        )  # half a letter would end the transport, and all calls
        request = CallToolRequest(params=CallToolRequestParams(name=name, arguments=plain))
        try:
            # Not by `call_tool`, which holds the result against a schema that is foreign, too.
            result = await self._client.session.send_request(request, RESULT)
        except MCPError as error:
            raise self._fault(error) from error
        except ValidationError as error:
            raise ToolFault(f"MCP server {self._name!r} gave an answer that can't be read.") from error
        if isinstance(result, InputRequiredResult):
            raise ToolFault(f"MCP server {self._name!r} wants to ask the person, which it can't do here.")
        return await read_result(result, self._shelf)

    async def changed(self) -> bool:
        """See `Link.changed`."""
        return await self._news.wait()

    def _fault(self, error: MCPError) -> ToolFault | NotSent:
        if error.code == UNSENT:
            self._news.end()
            return NotSent(error.message)
        if error.code == CONNECTION_CLOSED:
            return ToolFault(
                f"The connection to MCP server {self._name!r} broke during the call. "
                "It may have taken effect: find out before you repeat it."
            )
        return ToolFault(f"MCP server {self._name!r} says: {error.message[:MAX_MESSAGE]}")


@asynccontextmanager
async def open_link(name: str, settings: McpServerSettings, directory: Path) -> AsyncIterator[McpLink]:
    """See `Opener`."""
    tail, news = Tail(), News()
    with sdk_errors(tail):
        async with AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(CONNECT_SECONDS):
                    client = await _connect(stack, settings, tail, news)
            except TimeoutError as error:
                raise McpFault(
                    f"it was not ready within {CONNECT_SECONDS:.0f} s", detail=tail.text
                ) from error
            await stack.enter_async_context(_listening(client, news))
            yield McpLink(name, client, news, Shelf(directory), timeout=settings.timeout)


async def _connect(stack: AsyncExitStack, settings: McpServerSettings, tail: Tail, news: News) -> Client:
    """Enter a client into the stack, by the first transport that the server knows."""
    fault: McpFault | None = None
    for streams in _transports(settings, tail, news):
        try:
            with sdk_errors(tail):
                return await _enter(stack, streams, news)
        except McpFault as error:
            fault = fault or error
            news.is_over = False
            if isinstance(error.__cause__, MCPError) and error.__cause__.code == UNSENT:
                break
        except (RuntimeError, ValueError) as error:  # a version of the protocol that nobody knows
            fault = fault or McpFault(f"{type(error).__name__}: {error}", detail=tail.text)
    raise fault or McpFault("there is no way to reach it")


def _transports(settings: McpServerSettings, tail: Tail, news: News) -> Iterator[Streams]:
    """The ways to the server, in the order they are tried."""
    if settings.command is not None:
        env = {name: value.get_secret_value() for name, value in settings.env.items()}
        yield process_streams(settings.command, settings.args, env, tail)
        return
    url = settings.url or ""
    headers = {name: value.get_secret_value() for name, value in settings.headers.items()}
    if settings.transport in (None, "http"):
        yield http_streams(url, headers)
    if settings.transport in (None, "sse"):
        yield sse_streams(url, headers, news.end)


async def _enter(stack: AsyncExitStack, streams: Streams, news: News) -> Client:
    async def hear(message: object) -> None:
        if isinstance(message, ToolListChangedNotification):
            news.change()

    client = Client(
        _watched(streams, news.end),
        message_handler=hear,
        client_info=Implementation(name="switchboard", version="1"),
        cache=None,
    )
    return await stack.enter_async_context(client)


@asynccontextmanager
async def _listening(client: Client, news: News) -> AsyncIterator[None]:
    """Hear of changes where the protocol has a stream for them; older servers just say it."""
    offered = client.server_capabilities.tools
    if client.protocol_version not in MODERN_PROTOCOL_VERSIONS or not (offered and offered.list_changed):
        yield
        return
    task = asyncio.create_task(_listen(client, news), name="mcp changes")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _listen(client: Client, news: News) -> None:
    while True:
        try:
            async with client.listen(tools_list_changed=True) as subscription:
                async for _ in subscription:
                    news.change()
        except (MCPError, SubscriptionLost) as error:
            log.debug("mcp changes are not heard", extra={"error": type(error).__name__})
        await asyncio.sleep(LISTEN_SECONDS)
        news.change()  # what happened in between, nobody has told


@contextmanager
def sdk_errors(tail: Tail) -> Iterator[None]:
    """Turn errors of the SDK, also those that come in groups, into ours; others come out alone."""
    try:
        yield
    except McpFault:
        raise
    except Exception as error:
        cause = _first(error)
        if isinstance(cause, McpFault):
            raise cause from error
        words = _words(cause)
        if words is None:
            raise cause from error
        raise McpFault(words, detail=tail.text) from cause


def _first(error: Exception) -> Exception:
    """The error that began it, out of nested groups."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error


def _words(error: Exception) -> str | None:
    """What an error of the SDK says to an operator; none for errors that are not the SDK's."""
    match error:
        case FileNotFoundError() | PermissionError():
            return str(error)
        case MCPError() if error.code == CONNECTION_CLOSED:
            return "it ended"
        case MCPError():
            return error.message[:MAX_MESSAGE]
        case httpx2.HTTPStatusError():
            return f"it answers with HTTP {error.response.status_code}"
        case httpx2.InvalidURL():
            return "its address can't be used"
        case httpx2.HTTPError() | httpx2.SSEError() | httpx2.StreamError():
            return f"the connection broke ({type(error).__name__})"
        case TimeoutError():
            return "it does not answer"
        case ValidationError():
            return "it gave an answer that can't be read"
        case OSError():
            return f"{type(error).__name__}: {error}"
        case _:
            return None


class _Watched:
    """A stream of the SDK that tells when it has ended."""

    def __init__(self, stream: Any, on_end: Callable[[], None]) -> None:  # `Any`: the SDK's protocol
        self._stream = stream
        self._on_end = on_end

    async def receive(self) -> Any:
        return await self._stream.receive()

    async def aclose(self) -> None:
        await self._stream.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self._stream.__anext__()
        except Exception:
            self._on_end()
            raise

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._stream.__aexit__(kind, error, traceback)


@asynccontextmanager
async def _watched(streams: Streams, on_end: Callable[[], None]) -> AsyncIterator[Any]:
    async with streams as (read_stream, write_stream):
        yield _Watched(read_stream, on_end), write_stream
