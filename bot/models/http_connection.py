"""One connection to an HTTP/1.1 server: a request, its answer as it comes, and then the next."""

import asyncio
import zlib
from collections.abc import Callable
from typing import Final, Protocol, cast

from httptools import HttpParserError, HttpResponseParser

MAX_HEAD: Final = 64 * 1024  # bytes of names and values
MAX_HELD: Final = 1024 * 1024  # bytes of a body that wait to be read; past it the server has to wait


class HttpError(Exception):
    """The exchange with a server failed; which way, says the class."""


class Unreachable(HttpError):
    """Nobody took up the connection."""


class Untrusted(HttpError):
    """The server's certificate is not to be trusted."""


class Broken(HttpError):
    """The connection was lost, or what came over it is no HTTP."""


class HungUp(Broken):
    """The server closed the connection before it answered anything."""


class Body:
    """The body of an answer, read as it comes."""

    def __init__(self, connection: "Connection") -> None:
        self._connection = connection
        self._pieces: list[bytes] = []
        self._held = 0
        self._waiter: asyncio.Future[None] | None = None
        self._error: Exception | None = None
        self._on_end: Callable[[], None] | None = None
        self._inflater: zlib._Decompress | None = None
        self.is_over = False

    def inflate(self) -> None:
        """What comes is compressed, though nobody asked for it."""
        self._inflater = zlib.decompressobj(zlib.MAX_WBITS | 32)

    def on_end(self, told: Callable[[], None]) -> None:
        """Have this called when nothing comes any more; not where that is so already."""
        if not self.is_over and self._error is None:
            self._on_end = told

    def feed(self, data: bytes) -> None:
        """More has come; behind the end or a failure it is passed over."""
        if self.is_over or self._error is not None:
            return
        if self._inflater is not None:
            try:
                data = self._inflater.decompress(data)
            except zlib.error:
                self.fail(Broken("the body is said to be compressed and is not"))
                return
        self._pieces.append(data)
        self._held += len(data)
        if self._held > MAX_HELD:
            self._connection.wait()
        if self._waiter is not None:
            self._wake()

    def end(self) -> None:
        """All has come."""
        self.is_over = True
        self._tell()

    def fail(self, error: Exception) -> None:
        """Nothing more will come; what has come is left."""
        if not self.is_over and self._error is None:
            self._error = error
            self._tell()

    def _tell(self) -> None:
        told, self._on_end = self._on_end, None  # who is told holds us: no cycles for the collector
        if told is not None:
            told()
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def read(self) -> bytes:
        """All that is there; waits for something, and gives nothing at the end.

        Raises:
            HttpError: The connection broke; also what was given to `fail`.
        """
        while not self._pieces:
            if self._error is not None:
                raise self._error
            if self.is_over:
                return b""
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        data = b"".join(self._pieces) if len(self._pieces) > 1 else self._pieces[0]
        self._pieces.clear()
        if self._held > MAX_HELD:
            self._connection.go_on()
        self._held = 0
        return data


class Response:
    """The head of an answer, and its body.

    Attributes:
        headers: By their names in lower case; of several with one name the last.
    """

    def __init__(self, connection: "Connection") -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.body = Body(connection)
        self._connection = connection

    @property
    def content_type(self) -> str:
        """As `text/event-stream`, without what stands behind it."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    def close(self) -> None:
        """Be done with it; a connection over which more would come is closed."""
        if not self.body.is_over:
            self._connection.abort()


class Keeper(Protocol):
    """Takes connections back."""

    def give_back(self, connection: "Connection") -> None:
        """It has brought a whole answer, and takes another request."""

    def lost(self, connection: "Connection") -> None:
        """It is closed."""


class Connection(asyncio.Protocol):
    """Sends one request at a time, and parses what comes back.

    Args:
        keeper: Gets it back after each whole answer, as long as the server keeps it open.

    Attributes:
        on_body: Takes the pieces of a body from the parser, straight to where they are read.
    """

    on_body: Callable[[bytes], None]

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper
        self._transport: asyncio.Transport | None = None
        self._parser: HttpResponseParser | None = None
        self._response: Response | None = None
        self._head: asyncio.Future[Response] | None = None
        self._size = 0
        self._keeps = False
        self._ends_by_closing = False
        self.since = 0.0

    @property
    def is_usable(self) -> bool:
        """Whether a request can be sent over it."""
        return self._transport is not None and not self._transport.is_closing() and self._head is None

    async def send(self, head: bytes, body: bytes) -> Response:
        """Send a request; gives the answer as soon as its head has come.

        Raises:
            HungUp: The server closed the connection instead.
            Broken: What came is no answer.
        """
        if self._transport is None or not self.is_usable:
            raise HungUp("the connection is closed")
        self._response = Response(self)
        self.on_body = self._response.body.feed
        self._parser = HttpResponseParser(self)
        self._head = asyncio.get_running_loop().create_future()
        self._size = 0
        self._transport.write(head + body if len(body) < MAX_HEAD else head)
        if len(body) >= MAX_HEAD:
            self._transport.write(body)
        try:
            return await self._head
        except BaseException:
            self.abort()
            raise

    def abort(self) -> None:
        """Close it at once."""
        if self._transport is not None:
            self._transport.abort()

    def wait(self) -> None:
        """Read no more for now."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.pause_reading()

    def go_on(self) -> None:
        """Read again."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    # --- what the event loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It is open."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's are no subclass of it

    def data_received(self, data: bytes) -> None:
        """Bytes have come."""
        if self._parser is None:  # nobody has asked for anything
            self.abort()
            return
        try:
            self._parser.feed_data(data)
        except HttpParserError as error:
            self._fail(Broken(f"what the server sends is no HTTP: {error}"))

    def eof_received(self) -> None:
        """The server sends no more; the transport closes itself."""

    def connection_lost(self, exc: Exception | None) -> None:
        """It is closed."""
        self._keeper.lost(self)
        response = self._response
        if response is None or response.body.is_over:
            return
        if self._ends_by_closing and exc is None:
            response.body.end()
            return
        has_begun = self._head is None or self._head.done() or self._size > 0
        self._fail(Broken("the connection was lost") if has_begun else HungUp("the server hung up"))

    def _fail(self, error: HttpError) -> None:
        if self._head is not None and not self._head.done():
            self._head.set_exception(error)
        if self._response is not None:
            self._response.body.fail(error)
        self.abort()

    # --- what the parser calls

    def on_message_begin(self) -> None:
        """An answer begins; behind the one that was asked for there must be none."""
        if self._response is None:
            self.abort()

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header of the answer, or one that comes behind its body."""
        self._size += len(name) + len(value)
        if self._size > MAX_HEAD:
            raise HttpParserError("the head is too long")
        if self._response is not None:
            self._response.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        """The head is whole."""
        if self._parser is None or self._response is None or self._head is None:
            return
        status = self._parser.get_status_code()
        if status < 200:  # "I am still here": the answer is still to come
            self._response.headers.clear()
            return
        response = self._response
        response.status = status
        self._keeps = self._parser.should_keep_alive()
        framing = response.headers.keys() & {"content-length", "transfer-encoding"}
        self._ends_by_closing = not framing
        if response.headers.get("content-encoding", "").lower() in ("gzip", "deflate"):
            response.body.inflate()
        if not self._head.done():
            self._head.set_result(response)

    def on_message_complete(self) -> None:
        """The answer is whole."""
        response, head = self._response, self._head
        if response is None or head is None or not response.status:
            return  # only "I am still here"
        self._parser = self._response = self._head = None
        response.body.end()
        if self._keeps and head.done() and not head.cancelled():
            self._keeper.give_back(self)
        else:
            self.abort()
