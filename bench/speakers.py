"""The two that are compared, under one interface: the bot as it is wired, and asyncio with aiohttp alone."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal, Protocol

import aiohttp
import msgspec

from bench.model_server import TEXT
from bot.app import App, calm_collector
from bot.bus import Bus
from bot.messages import Address, End, InboundMessage, MessageId, RunId, Sender, new_id, utc_now
from bot.settings import OpenAISettings, Settings, StoreSettings, WebSettings
from bot.settings.memory import MemorySettings
from bot.settings.tools import ToolsSettings
from bot.tools.base import Tool

QUESTION = "What is the weather like in Lisbon this week, and what should I pack?"
CHANNEL = "web"


class Exchange:
    """A question and its answer; times are those of `time.perf_counter`."""

    __slots__ = ("asked_at", "ended_at", "first", "first_at", "last", "text")

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.first: asyncio.Future[None] = loop.create_future()
        self.last: asyncio.Future[None] = loop.create_future()
        self.text = ""
        self.asked_at = self.first_at = self.ended_at = 0.0

    def begin(self) -> None:
        """The first piece has come."""
        self.first_at = time.perf_counter()
        if not self.first.cancelled():
            self.first.set_result(None)

    def end(self, text: str) -> None:
        """The whole text has come."""
        self.ended_at = time.perf_counter()
        self.text = text
        if not self.last.cancelled():  # who waited may have been cancelled
            self.last.set_result(None)

    @property
    def seconds(self) -> float:
        """From the question to the whole text."""
        return self.ended_at - self.asked_at

    @property
    def seconds_to_first(self) -> float:
        """From the question to the first piece."""
        return self.first_at - self.asked_at


class Speaker(Protocol):
    """Who is asked."""

    async def ask(self, chat: str) -> Exchange:
        """Put a question; returns when it is accepted, and the answer goes on."""

    async def kill(self, chat: str) -> float:
        """Stop the answer in a chat; gives the seconds until that was confirmed."""


async def answer(speaker: Speaker, chat: str) -> Exchange:
    """Ask and wait for the whole text.

    Raises:
        RuntimeError: The answer is another than the model's.
    """
    exchange = await speaker.ask(chat)
    await exchange.last
    if exchange.text != TEXT:
        raise RuntimeError(f"the answer was {exchange.text!r}")
    return exchange


class Bot:
    """Talks to a bot over its bus.

    Attributes:
        url: Where its API is, if it has one.
    """

    def __init__(self, bus: Bus, url: str | None = None) -> None:
        self._bus = bus
        self.url = url
        self._open: dict[RunId, Exchange] = {}

    async def ask(self, chat: str) -> Exchange:
        """See `Speaker.ask`."""
        return await self._publish(_message(chat, QUESTION))

    async def kill(self, chat: str) -> float:
        """See `Speaker.kill`."""
        exchange = await self._publish(_message(chat, "/kill"))
        await exchange.last
        if not exchange.text.startswith("Agent run cancelled"):
            raise LookupError(exchange.text)
        return exchange.seconds

    async def _publish(self, message: InboundMessage) -> Exchange:
        exchange = self._open[message.run] = Exchange()
        exchange.asked_at = time.perf_counter()
        await self._bus.publish(message)
        return exchange

    async def listen(self) -> None:
        """Take the answers off the bus, until cancelled."""
        with self._bus.outbound(channel=CHANNEL) as messages:
            async for message in messages:
                exchange = self._open.get(message.run)
                if exchange is None:
                    continue
                if not exchange.first.done():
                    exchange.begin()
                if isinstance(message, End):
                    del self._open[message.run]
                    exchange.end(message.text)


def _message(chat: str, text: str) -> InboundMessage:
    address = Address(channel=CHANNEL, chat=chat)
    id_ = new_id()
    return InboundMessage(
        id=MessageId(id_),
        platform_id=id_,
        address=address,
        session=address.session(),
        sender=Sender(id="ann", name="Ann"),
        text=text,
        received_at=utc_now(),
    )


@asynccontextmanager
async def bot(
    home: Path,
    base_url: str,
    *,
    synchronous: Literal["FULL", "NORMAL"] = "FULL",
    tools: Sequence[Tool] = (),
    has_web: bool = False,
) -> AsyncIterator[Bot]:
    """The bot of `bot/app`, without its page unless that is wanted, in front of a model server.

    Args:
        tools: What its model is offered, beside the three that every chat has; without any, what a chat has.
    """
    settings = Settings(
        home=home,
        model="bench",
        openai=OpenAISettings(base_url=base_url),
        store=StoreSettings(synchronous=synchronous),
        memory=MemorySettings(auto_learn=False),  # a second call of the model after each turn
        web=WebSettings(enabled=has_web, port=0),
        max_concurrent_turns=4_000,
        shutdown_grace=0,
        tools=ToolsSettings(profile="minimal", allow=("look_up_*",)) if tools else ToolsSettings(),
    )
    async with App(settings, has_web=has_web, tools=tools) as app, asyncio.TaskGroup() as group:
        calm_collector()  # as the process of a bot does
        speaker = Bot(app.bus, app.url)
        listening = group.create_task(speaker.listen(), name="driver")
        yield speaker
        listening.cancel()


class _Delta(msgspec.Struct):
    content: str = ""
    tool_calls: list[object] = []


class _Choice(msgspec.Struct):
    delta: _Delta


class _Chunk(msgspec.Struct):
    choices: list[_Choice]


_decode = msgspec.json.Decoder(_Chunk).decode


class Bare:
    """The limit: a task a session, a stream a question, and nothing else."""

    def __init__(self, base_url: str, client: aiohttp.ClientSession) -> None:
        self._url = f"{base_url}/chat/completions"
        self._client = client
        self._inboxes: dict[str, asyncio.Queue[Exchange]] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def ask(self, chat: str) -> Exchange:
        """See `Speaker.ask`."""
        if chat not in self._tasks:
            inbox = self._inboxes[chat] = asyncio.Queue()
            self._tasks[chat] = asyncio.create_task(self._serve(inbox))
        exchange = Exchange()
        exchange.asked_at = time.perf_counter()
        self._inboxes[chat].put_nowait(exchange)
        return exchange

    async def kill(self, chat: str) -> float:
        """See `Speaker.kill`."""
        began = time.perf_counter()
        task = self._tasks.pop(chat)
        task.cancel()
        await asyncio.wait({task})
        return time.perf_counter() - began

    async def _serve(self, inbox: asyncio.Queue[Exchange]) -> None:
        while True:
            exchange = await inbox.get()
            try:
                await self._stream(exchange)
            except asyncio.CancelledError:
                exchange.end("")
                raise

    async def _stream(self, exchange: Exchange) -> None:
        messages: list[dict[str, object]] = [{"role": "user", "content": QUESTION}]
        parts: list[str] = []
        while not parts:
            calls: list[object] = []
            body = msgspec.json.encode({"model": "bench", "stream": True, "messages": messages})
            rest = b""
            async with self._client.post(self._url, data=body) as response:
                async for data in response.content.iter_any():
                    *events, rest = (rest + data).split(b"\n\n")
                    for delta in map(_delta_of, events):
                        parts += [delta.content] if delta.content else ()
                        calls += delta.tool_calls
                    if parts and not exchange.first.done():
                        exchange.begin()
            messages += [{"role": "assistant", "tool_calls": calls}]
            messages += [
                {"role": "tool", "content": text} for text in await asyncio.gather(*map(_look_up, calls))
            ]
        exchange.end("".join(parts))

    async def aclose(self) -> None:
        """Stop all tasks."""
        for task in self._tasks.values():
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks.values())


def _delta_of(event: bytes) -> _Delta:
    if event == b"data: [DONE]":
        return _Delta()
    choices = _decode(event[6:]).choices
    return choices[0].delta if choices else _Delta()


async def _look_up(call: object) -> str:
    return f"Sunny: {call}"


@asynccontextmanager
async def bare(base_url: str) -> AsyncIterator[Bare]:
    """The limit in front of a model server."""
    connector = aiohttp.TCPConnector(limit=0)
    headers = {"Content-Type": "application/json"}
    async with aiohttp.ClientSession(
        connector=connector, headers=headers, cookie_jar=aiohttp.DummyCookieJar()
    ) as client:
        speaker = Bare(base_url, client)
        try:
            yield speaker
        finally:
            await speaker.aclose()
