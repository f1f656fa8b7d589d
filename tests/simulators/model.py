"""A model server on loopback that answers as scripted; without a script it repeats what it was told.

It also runs by itself: `python -m tests.simulators.model --port 0 --tokens 50 --delay 0.02 --first 0.3`.
"""

import argparse
import asyncio
import json
import sys
from base64 import b64decode
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from tests.simulators.strict import find_fault

CHUNK = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_700_000_000}
USAGE = {
    "prompt_tokens": 11,
    "completion_tokens": 7,
    "total_tokens": 18,
    "prompt_tokens_details": {"cached_tokens": 5},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A tool call that the model makes, its arguments as JSON text."""

    name: str
    arguments: str = "{}"
    id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """How one request is answered.

    Attributes:
        tokens: The answer, a piece a token.
        gate: Held shut, it keeps all tokens after the first back.
        first: Seconds before the first token; `delay`, before each further one.
        calls: Sent in pieces after the text.
        status: With another than 200, `error` is the whole answer, with `headers`.
        newline: What ends a line of the stream.
        has_comments: Keep-alive comments stand between the events.
        ends: Whether `[DONE]` is sent; `finish`, whether and why the model stops.
        cut_after: Break the connection after this many tokens.
        hang_after: Say nothing more after this many tokens, until the client leaves.
        error_after: Send `error` inside the stream after this many tokens.
        raw: Sent as it stands instead of all this, a piece a write.
        is_whole: Answer in one JSON document, as servers do that can't stream.
    """

    tokens: tuple[str, ...] = ()
    reasoning: tuple[str, ...] = ()
    refusal: str = ""
    calls: tuple[Call, ...] = ()
    gate: asyncio.Event | None = None
    first: float = 0.0
    delay: float = 0.0
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    error: dict[str, Any] | None = None
    newline: str = "\n"
    has_comments: bool = False
    finish: str | None = "stop"
    ends: bool = True
    has_usage: bool = True
    cut_after: int | None = None
    hang_after: int | None = None
    error_after: int | None = None
    raw: tuple[bytes, ...] | None = None
    content_type: str = "text/event-stream"
    is_whole: bool = False


def say(text: str) -> Reply:
    """An answer that comes word by word."""
    words = text.split(" ")
    return Reply(tokens=tuple(word if n == 0 else f" {word}" for n, word in enumerate(words)))


def call(name: str, arguments: str = "{}", *, id: str = "") -> Reply:
    """An answer that is one tool call."""
    return Reply(calls=(Call(name=name, arguments=arguments, id=id or f"call_{name}"),), finish="tool_calls")


def fail(status: int, message: str = "went wrong", *, code: str | None = None, **headers: str) -> Reply:
    """A refusal; underscores in the names of headers are dashes."""
    pairs = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return Reply(status=status, error={"message": message, "code": code, "type": "error"}, headers=pairs)


@dataclass(frozen=True, slots=True)
class Request:
    """What came in: the body as it is and decoded, and the headers in lower case."""

    raw: bytes
    body: dict[str, Any]
    headers: dict[str, str]

    @property
    def last_user_text(self) -> str:
        """The newest message of the person, without its pictures."""
        contents = [part["content"] for part in self.body["messages"] if part["role"] == "user"]
        if not contents or isinstance(contents[-1], str):
            return contents[-1] if contents else ""
        return "\n".join(part["text"] for part in contents[-1] if part["type"] == "text")

    @property
    def pictures(self) -> list[bytes]:
        """The pictures in it, in order."""
        lists = [part["content"] for part in self.body["messages"] if isinstance(part["content"], list)]
        urls = [part["image_url"]["url"] for parts in lists for part in parts if part["type"] == "image_url"]
        return [b64decode(url.partition(",")[2]) for url in urls]


@dataclass(frozen=True, slots=True)
class Recording:
    """A recording that came in to be transcribed."""

    model: str
    name: str
    data: bytes
    key: str


@dataclass(slots=True)
class ModelServer:
    """The server, from `__aenter__` to `__aexit__`.

    Attributes:
        requests: All that came in, oldest first.
        recordings: What came in to be transcribed, oldest first.
        key: What a caller has to know, if it is set.
        models: The names that it lists.
        unknown: Parameters that it refuses.
        is_strict: It refuses prompts that the strictest servers would refuse.
        eyes: Looks at a request with pictures, and may refuse it.
        busy: Requests that are being answered.
        respond: What answers when the script is at its end.
    """

    key: str | None = None
    models: tuple[str, ...] = ("sim-1", "sim-2")
    unknown: tuple[str, ...] = ()
    is_strict: bool = True
    eyes: Callable[[Request], Reply | None] | None = None
    port: int = 0
    respond: Callable[[Request], Reply] = lambda request: say(f"echo: {request.last_user_text}")
    requests: list[Request] = field(default_factory=list)
    recordings: list[Recording] = field(default_factory=list)
    url: str = ""
    busy: int = 0
    _peers: set[object] = field(default_factory=set)
    _script: deque[Reply] = field(default_factory=deque)
    _news: asyncio.Condition = field(default_factory=asyncio.Condition)
    _runner: web.AppRunner | None = None
    _closing: asyncio.Event = field(default_factory=asyncio.Event)

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_post("/v1/chat/completions", self._complete)
        app.router.add_post("/v1/audio/transcriptions", self._transcribe)
        app.router.add_get("/v1/models", self._list)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        if self._runner is not None:
            await self._runner.cleanup()

    def script(self, *replies: Reply) -> None:
        """Answer the next requests with these, in order."""
        self._script.extend(replies)

    async def received(self, count: int) -> Request:
        """Wait until this many requests have come; gives the last of them."""
        async with self._news:
            await self._news.wait_for(lambda: len(self.requests) >= count)
        return self.requests[count - 1]

    async def idle(self) -> None:
        """Wait until no request is being answered."""
        async with self._news:
            await self._news.wait_for(lambda: self.busy == 0)

    @property
    def connections(self) -> int:
        """How many connections the requests came over."""
        return len(self._peers)

    async def _list(self, request: web.Request) -> web.Response:
        if self.key is not None and request.headers.get("Authorization") != f"Bearer {self.key}":
            return _refuse(fail(401, "bad key"))
        data = [{"id": name, "object": "model", "created": 0, "owned_by": "sim"} for name in self.models]
        return web.json_response({"object": "list", "data": data})

    async def _transcribe(self, http: web.Request) -> web.Response:
        """Answer with the tokens of the script as the transcript; `raw` stands in place of the JSON.

        Source: OpenAI API reference, Create transcription: a form with `file` and `model`, both needed.
        """
        form = await http.post()
        file, model = form.get("file"), form.get("model")
        if not isinstance(file, web.FileField) or not isinstance(model, str):
            return _refuse(fail(400, "file and model are needed"))
        key = http.headers.get("Authorization", "").removeprefix("Bearer ")
        with file.file as sound:
            self.recordings.append(Recording(model, file.filename, sound.read(), key))
        if self.key is not None and key != self.key:
            return _refuse(fail(401, f"Incorrect API key provided: {key}"))
        reply = self._script.popleft() if self._script else say(f"heard {file.filename}")
        if reply.hang_after is not None:
            await self._closing.wait()
        if reply.status != 200:
            return _refuse(reply)
        if reply.raw is not None:
            return web.Response(body=b"".join(reply.raw), content_type=reply.content_type)
        return web.json_response({"text": "".join(reply.tokens)})

    async def _complete(self, http: web.Request) -> web.StreamResponse:
        raw = await http.read()
        headers = {name.lower(): value for name, value in http.headers.items()}
        request = Request(raw, json.loads(raw), headers)
        self.requests.append(request)
        self._peers.add(http.transport and http.transport.get_extra_info("peername"))
        async with self._news:
            self._news.notify_all()
        self.busy += 1
        try:
            return await self._answer(http, request)
        finally:
            self.busy -= 1
            async with self._news:
                self._news.notify_all()

    async def _answer(self, http: web.Request, request: Request) -> web.StreamResponse:
        headers = request.headers
        if self.key is not None and headers.get("authorization") != f"Bearer {self.key}":
            return _refuse(fail(401, f"Incorrect API key provided: {headers.get('authorization')}"))
        if refused := [name for name in self.unknown if name in request.body]:
            return _refuse(fail(400, f"Unrecognized request argument supplied: {refused[0]}"))
        if self.is_strict and (fault := find_fault(request.body.get("messages"))) is not None:
            return _refuse(fail(400, f"Invalid request: {fault}"))
        if self.eyes is not None and request.pictures and (refusal := self.eyes(request)) is not None:
            return _refuse(refusal)
        reply = self._script.popleft() if self._script else self.respond(request)
        if reply.status != 200:
            return _refuse(reply)
        if reply.is_whole:
            return web.json_response(_whole(reply, request))
        return await self._stream(http, reply, request)

    async def _stream(self, http: web.Request, reply: Reply, request: Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": reply.content_type})
        await response.prepare(http)
        async for piece in self._pieces(reply, str(request.body.get("model", "sim-1"))):
            if piece is None:
                if http.transport is not None:
                    http.transport.abort()
                return response
            await response.write(piece)
        await response.write_eof()
        return response

    async def _pieces(self, reply: Reply, model: str) -> AsyncIterator[bytes | None]:
        """What is written, a piece a write; `None` breaks the connection."""
        if reply.raw is not None:
            for piece in reply.raw:
                yield piece
            return
        for text in reply.reasoning:
            yield _event(reply, model, {"reasoning_content": text})
        for count, token in enumerate((*reply.tokens, None)):
            if count == reply.hang_after:
                await self._closing.wait()
            if count == reply.cut_after:
                yield None
            if count == reply.error_after:
                yield _line(reply, {"error": reply.error})
            if token is not None:
                await self._pace(reply, count)
                yield _event(reply, model, {"content": token})
        for piece in _rest(reply, model):
            yield piece

    async def _pace(self, reply: Reply, count: int) -> None:
        """Wait for the gate and for the time of a token; closing the server cuts the time short."""
        if reply.gate is not None and count:
            await reply.gate.wait()
        if seconds := reply.delay if count else reply.first:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._closing.wait()


def _rest(reply: Reply, model: str) -> list[bytes]:
    pieces = []
    if reply.refusal:
        pieces.append(_event(reply, model, {"refusal": reply.refusal}))
    for index, made in enumerate(reply.calls):
        pieces += [_event(reply, model, {"tool_calls": [piece]}) for piece in _call_pieces(index, made)]
    if reply.finish is not None:
        pieces.append(_event(reply, model, {}, finish=reply.finish))
    if reply.has_usage:
        pieces.append(_line(reply, {**CHUNK, "model": model, "choices": [], "usage": USAGE}))
    if reply.ends:
        pieces.append(f"data: [DONE]{reply.newline}{reply.newline}".encode())
    return pieces


def _call_pieces(index: int, made: Call) -> list[dict[str, Any]]:
    """The name first, then the arguments in threes."""
    cuts = range(0, len(made.arguments), 3)
    head = {
        "index": index,
        "id": made.id,
        "type": "function",
        "function": {"name": made.name, "arguments": ""},
    }
    rest = [{"index": index, "function": {"arguments": made.arguments[at : at + 3]}} for at in cuts]
    return [head, *rest]


def _event(reply: Reply, model: str, delta: dict[str, Any], *, finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return _line(reply, {**CHUNK, "model": model, "choices": [choice]})


def _line(reply: Reply, data: dict[str, Any]) -> bytes:
    end = reply.newline
    comment = f": keep-alive{end}{end}" if reply.has_comments else ""
    return f"{comment}data: {json.dumps(data, ensure_ascii=False)}{end}{end}".encode()


def _refuse(reply: Reply) -> web.Response:
    return web.json_response({"error": reply.error}, status=reply.status, headers=dict(reply.headers))


def _whole(reply: Reply, request: Request) -> dict[str, Any]:
    calls = [
        {"id": made.id, "type": "function", "function": {"name": made.name, "arguments": made.arguments}}
        for made in reply.calls
    ]
    message = {"role": "assistant", "content": "".join(reply.tokens), "tool_calls": calls or None}
    choice = {"index": 0, "message": message, "finish_reason": reply.finish}
    model = request.body.get("model")
    return {**CHUNK, "object": "chat.completion", "model": model, "choices": [choice], "usage": USAGE}


async def serve(port: int, tokens: int, delay: float, first: float) -> None:
    """Serve until the process is ended; says its URL on standard output."""

    def respond(request: Request) -> Reply:
        words = (f"echo: {request.last_user_text}", *(f" t{count}" for count in range(1, tokens)))
        return Reply(tokens=words, delay=delay, first=first)

    async with ModelServer(port=port, respond=respond) as server:
        sys.stdout.write(f"{server.url}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


def main() -> None:
    """Read the command line and serve."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--tokens", type=int, default=1)
    parser.add_argument("--delay", type=float, default=0.0)
    parser.add_argument("--first", type=float, default=0.0)
    options = parser.parse_args()
    asyncio.run(serve(options.port, options.tokens, options.delay, options.first))


if __name__ == "__main__":
    main()
