"""A client for every server that speaks the chat completions API."""

import asyncio
from collections.abc import AsyncGenerator

import msgspec

from bot.errors import ModelError, ModelUnavailable
from bot.messages import Frozen
from bot.models.assembly import Assembler
from bot.models.base import ModelEvent, ModelProfile, ModelRequest
from bot.models.faults import http_fault
from bot.models.http import HttpClient, HttpError, Response, Unreachable, Untrusted
from bot.models.http_connection import Body
from bot.models.pictures import pictures_in
from bot.models.providers import ModelSetup
from bot.models.sight import Refusal, Sight
from bot.models.sse import OversizedEvent, SseReader
from bot.models.wire import Dialect, encode_request

DEFAULT_BASE_URL = "https://api.openai.com/v1"
MAX_ERROR_BYTES = 64 * 1024
MAX_ANSWER_BYTES = 32 * 1024 * 1024
MERGE_SECONDS = 0.04  # tokens that come within it are read as one: an answer grows 25 times a second
MANY_STREAMS = 50  # past it the answers grow less often, so that the event loop has room for the rest
MAX_MERGE_SECONDS = 0.25
AFTER_FINISH = 5.0  # seconds for usage and [DONE], which some servers never send
AFTER_DONE = 0.05  # seconds for the end of the body, without which the connection can't be used again


class Timeouts(Frozen, frozen=True, kw_only=True):
    """Seconds that a call may take.

    Attributes:
        connect: Until the server has picked up.
        first_token: From the request to the first token.
        silence: Between two tokens.
        call: For all of it.
    """

    connect: float = 10
    first_token: float = 90
    silence: float = 60
    call: float = 540


class OpenAIClient:
    """Streams answers over connections that are kept and shared; one instance serves every session.

    Args:
        base_url: The root of the API, with `/v1`.
        api_key: Sent as a bearer token; none goes out without it.
        keeps_connections: Use a connection for many calls; not worth it where connecting costs nothing.
        sight: Which of the models take pictures, where the profile says that they may.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str | None = None,
        *,
        profile: ModelProfile,
        timeouts: Timeouts,
        keeps_connections: bool = True,
        sight: Sight | None = None,
    ) -> None:
        self._url = base_url.rstrip("/") + "/chat/completions"
        self._api_key = api_key
        self._profile = profile
        self._timeouts = timeouts
        self._keeps_connections = keeps_connections
        self._dialect = Dialect()
        self._sight = sight or Sight()
        self._client: HttpClient | None = None
        self._streams = 0

    @property
    def profile(self) -> ModelProfile:
        """See `ModelClient.profile`."""
        return self._profile

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """See `ModelClient.stream`."""
        started = asyncio.get_running_loop().time()
        response = await self._open(request)
        watch = Watch(response.body, self._timeouts, started)
        assembler = Assembler(request.model)
        is_json = response.content_type == "application/json"
        self._streams += 1
        try:
            if is_json:
                await _read_whole(response.body, assembler)
            else:
                reader, body = SseReader(), response.body
                pause = Pause(body)
                while not assembler.is_over:
                    chunk = await _read(body, assembler)
                    if events := _cut(reader, chunk):
                        watch.touch()
                    assembler.take_all(events)
                    for event in assembler.drain():
                        yield event
                    if not chunk:
                        break
                    if assembler.finish_reason is not None:
                        watch.hurry(AFTER_FINISH)
                    elif not assembler.is_over:
                        await pause.take(self._merge_seconds())
                await _drain(body, watch)
            _check_is_whole(assembler, response, is_json=is_json)
            for event in assembler.close():
                yield event
        finally:
            self._streams -= 1
            watch.stop()
            response.close()

    def _merge_seconds(self) -> float:
        return min(MAX_MERGE_SECONDS, MERGE_SECONDS * max(1.0, self._streams / MANY_STREAMS))

    async def _open(self, request: ModelRequest) -> Response:
        """Send the request; pictures if the model takes them, and a line in their place if it does not."""
        pictures, sight, model = pictures_in(request.messages), self._sight, request.model
        shows = bool(pictures) and self._profile.sees and sight.may_show(model, pictures)
        answer = await self._ask(request, shows_pictures=shows)
        if not isinstance(answer, Refusal):
            if shows:
                sight.took(model)
            return answer
        if not shows or not sight.may_be_cause(answer):
            raise answer.fault
        refusal, answer = answer, await self._ask(request, shows_pictures=False)
        if isinstance(answer, Refusal):
            raise answer.fault
        sight.refused(model, pictures, refusal)
        return answer

    async def _ask(self, request: ModelRequest, *, shows_pictures: bool) -> Response | Refusal:
        """Send the request, in simpler words if the server doesn't know all of them."""
        dialect = self._dialect
        while True:
            response = await self._post(await _encode(request, dialect, has_pictures=shows_pictures))
            if response.status == 200:
                self._dialect = dialect
                return response
            try:
                async with asyncio.timeout(self._timeouts.connect):
                    body = await _read_up_to(response.body, MAX_ERROR_BYTES)
            except (TimeoutError, HttpError):
                body = b""  # the status alone says enough
            finally:
                response.close()
            simpler = _simplify(dialect, response.status, body)
            if simpler == dialect:
                fault = http_fault(response.status, response.headers, body, secret=self._api_key)
                return Refusal(response.status, body, fault)
            dialect = simpler

    async def _post(self, body: bytes) -> Response:
        client = self._connected()
        try:
            async with asyncio.timeout(self._timeouts.first_token):
                return await client.post(body)
        except TimeoutError as error:
            raise ModelUnavailable(_too_late("did not begin to answer", self._timeouts)) from error
        except HttpError as error:
            raise translate(error) from error

    def _connected(self) -> HttpClient:
        if self._client is None:
            headers = {"Content-Type": "application/json", "Accept": "text/event-stream, application/json"}
            headers["Accept-Encoding"] = "identity"  # a compressing proxy would hold tokens back
            headers["User-Agent"] = "Switchboard"
            if self._api_key:
                headers["Authorization"] = f"Bearer {self._api_key}"
            self._client = HttpClient(
                self._url,
                headers,
                connect_seconds=self._timeouts.connect,
                keeps_connections=self._keeps_connections,
            )
        return self._client

    async def aclose(self) -> None:
        """See `ModelClient.aclose`."""
        if self._client is not None:
            await self._client.aclose()


class Pause:
    """Lets tokens gather between two reads; the end of the body cuts it short.

    What a token costs is mostly waking up for it, so this is what many answers at once depend on.
    """

    __slots__ = ("_body", "_loop", "_waiter")

    def __init__(self, body: Body) -> None:
        self._body = body
        self._loop = asyncio.get_running_loop()
        self._waiter: asyncio.Future[None] | None = None
        body.on_end(self._wake)

    async def take(self, seconds: float) -> None:
        """Wait for more to come."""
        if self._body.is_over:
            return
        self._waiter = self._loop.create_future()
        timer = self._loop.call_later(seconds, self._wake)
        try:
            await self._waiter
        finally:
            timer.cancel()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class Watch:
    """Ends a body that stays silent: one timer a call, moved only when it goes off."""

    __slots__ = ("_body", "_due", "_end", "_handle", "_loop", "_reason", "_timeouts")

    def __init__(self, body: Body, timeouts: Timeouts, started: float) -> None:
        self._body = body
        self._timeouts = timeouts
        self._loop = asyncio.get_running_loop()
        self._end = started + timeouts.call
        self._due = started + timeouts.first_token
        self._reason = "sent no token in time"
        self._handle = self._loop.call_at(min(self._due, self._end), self._look)

    def touch(self) -> None:
        """Note that a token came."""
        self._due = self._loop.time() + self._timeouts.silence
        self._reason = "fell silent in the middle of the answer"

    def hurry(self, seconds: float) -> None:
        """Wait no longer than this for what follows."""
        self._due = self._loop.time() + seconds
        self._handle.cancel()
        self._handle = self._loop.call_at(min(self._due, self._end), self._look)

    def stop(self) -> None:
        """Stop looking."""
        self._handle.cancel()

    def _look(self) -> None:
        now = self._loop.time()
        if now >= self._end:
            self._body.fail(ModelUnavailable(_too_late("took too long", self._timeouts)))
        elif now >= self._due:
            self._body.fail(ModelUnavailable(_too_late(self._reason, self._timeouts)))
        else:
            self._handle = self._loop.call_at(min(self._due, self._end), self._look)


def translate(error: HttpError) -> ModelError:
    """Our error for one of the connection's."""
    match error:
        case Untrusted():
            return ModelError("The model server's certificate is not trusted.")
        case Unreachable():
            return ModelUnavailable("The model server can't be reached.")
        case _:
            return ModelUnavailable("The connection to the model server broke.")


async def _read(body: Body, assembler: Assembler) -> bytes:
    """The bytes that are there; none at the end. What breaks after the model's last token is no matter."""
    try:
        return await body.read()
    except ModelUnavailable:  # from the watch
        if assembler.finish_reason is None:
            raise
    except HttpError as error:
        if assembler.finish_reason is None:
            raise translate(error) from error
    return b""


async def _read_whole(body: Body, assembler: Assembler) -> None:
    try:
        whole = await _read_up_to(body, MAX_ANSWER_BYTES)
    except HttpError as error:
        raise translate(error) from error
    assembler.take(whole)


async def _read_up_to(body: Body, limit: int) -> bytes:
    found = bytearray()
    while len(found) < limit and (chunk := await body.read()):
        found += chunk
    return bytes(found)


async def _drain(body: Body, watch: Watch) -> None:
    """Read the body to its end, so that the connection can be used again."""
    if body.is_over:
        return
    watch.hurry(AFTER_DONE)
    try:
        while await body.read():
            continue
    except (HttpError, ModelUnavailable):
        return  # the answer is whole; only the connection is lost


def _cut(reader: SseReader, chunk: bytes) -> list[bytes]:
    try:
        return reader.feed(chunk) if chunk else reader.flush()
    except OversizedEvent as error:
        raise ModelUnavailable("The model server sent far more than an answer.") from error


def _check_is_whole(assembler: Assembler, response: Response, *, is_json: bool) -> None:
    if is_json or assembler.is_over or assembler.finish_reason is not None:
        return
    if response.content_type == "text/html":
        raise ModelError("The address answers with a web page, not a model: check BOT_OPENAI__BASE_URL.")
    raise ModelUnavailable("The model server broke off in the middle of the answer.")


async def _encode(request: ModelRequest, dialect: Dialect, *, has_pictures: bool) -> bytes:
    """The body of a request; megabytes of pictures are put together in a thread."""
    if has_pictures:
        return await asyncio.to_thread(encode_request, request, dialect)
    return encode_request(request, dialect, has_pictures=False)


def _simplify(dialect: Dialect, status: int, body: bytes) -> Dialect:
    """The dialect without the parameter that the server complains about; the same if it is not about one."""
    if status not in (400, 422):
        return dialect
    if dialect.has_stream_options and b"stream_options" in body:
        return msgspec.structs.replace(dialect, has_stream_options=False)
    if dialect.has_new_limit and b"max_completion_tokens" in body:
        return msgspec.structs.replace(dialect, has_new_limit=False)
    return dialect


def _too_late(what: str, timeouts: Timeouts) -> str:
    limits = f"{timeouts.first_token:g} s, {timeouts.silence:g} s, {timeouts.call:g} s"
    return f"The model server {what} (limits: {limits})."


def open_openai(setup: ModelSetup) -> OpenAIClient:
    """Make the client that the settings ask for."""
    section = setup.openai
    key = section.api_key
    return OpenAIClient(
        section.base_url or DEFAULT_BASE_URL,
        key.get_secret_value() if key is not None else None,
        profile=setup.profile,
        sight=Sight(is_sure=section.pictures == "on"),
        timeouts=Timeouts(
            connect=section.connect_timeout,
            first_token=section.first_token_timeout,
            silence=section.silence_timeout,
            call=section.call_timeout,
        ),
    )
