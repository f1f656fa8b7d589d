"""What the simulators of the four platforms share: a server on loopback, its faults, and what people see.

A simulator speaks the platform's wire protocol to the real SDK and enforces the platform's documented rules.
A test (or a person, by `python -m bot simulate`) plays the people: it says, clicks, uploads; and reads what a
chat shows.
"""

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import ClassVar, Literal, Self, TypeAlias

from aiohttp import web

PATIENCE = 20.0  # seconds until a test has waited long enough

UploadKind: TypeAlias = Literal["image", "audio", "voice", "video", "file"]


@dataclass(slots=True, kw_only=True)
class File:
    """A file in a chat."""

    name: str
    data: bytes
    mime: str
    kind: UploadKind = "file"


@dataclass(slots=True, kw_only=True)
class Shown:
    """A message as the people in a chat see it.

    Attributes:
        text: What a person reads, markup resolved: no asterisks around bold text, no HTML tags.
        raw: What the bot sent: HTML, mrkdwn, the JSON of a card.
        buttons: Labels, in order.
        edits: How often it was changed after it was posted.
        is_preview: It grows and is no message yet.
        ephemeral_to: The one person who sees it.
        pinged: Whom it notified: ids, or `everyone`.
    """

    id: str
    chat: str
    author: str
    text: str
    raw: str = ""
    thread: str | None = None
    reply_to: str | None = None
    buttons: list[str] = field(default_factory=list)
    files: list[File] = field(default_factory=list)
    reactions: list[str] = field(default_factory=list)
    edits: int = 0
    is_preview: bool = False
    ephemeral_to: str | None = None
    pinged: list[str] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class Call:
    """A call that the bot made; `status` is the HTTP status it got, 0 where the connection was cut."""

    at: float
    method: str
    chat: str = ""
    status: int = 200


@dataclass(slots=True, kw_only=True)
class Fault:
    """Something that goes wrong with the next `count` calls whose method contains `method`.

    Attributes:
        kind: `status`: answers with `status` and does nothing; `limit`: answers as the platform does when it
            is asked too often; `lose`: obeys, and cuts the connection instead of answering; `cut`: cuts it
            without obeying; `hang`: does not answer for `seconds`, and does nothing.
    """

    kind: Literal["status", "limit", "lose", "cut", "hang"]
    count: int = 1
    method: str = ""
    status: int = 500
    seconds: float = 1.0


BOT = "bot"
METHOD: web.RequestKey[str] = web.RequestKey(
    "method", str
)  # set by the handlers; what faults and calls are named by


class Simulator:
    """A platform on loopback, from `__aenter__` to `__aexit__`; can be killed and brought back in between.

    Chats are named by the tests as they like (`"ann"`, `"team"`); a simulator maps them to ids of its
    platform, the same at every run. `direct` chats have one person in them, all others are groups.
    """

    name: ClassVar[str]

    def __init__(self) -> None:
        self.port = 0
        self.calls: list[Call] = []
        self.messages: dict[str, Shown] = {}  # by id, in order of their posting
        self._faults: list[Fault] = []
        self._numbers = itertools.count(1)
        self._runner: web.AppRunner | None = None
        self._news = asyncio.Condition()

    # --- the server

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.kill()

    def routes(self) -> list[web.AbstractRouteDef]:
        """What the platform serves."""
        raise NotImplementedError

    def limit_answer(self, request: web.Request, seconds: float) -> web.StreamResponse:
        """How the platform says that it was asked too often; each has its own form."""
        raise NotImplementedError

    def failure_answer(self, request: web.Request, status: int) -> web.StreamResponse:
        """How the platform's front end answers when it is broken."""
        return web.Response(
            status=status, text="<html><body>Bad gateway</body></html>", content_type="text/html"
        )

    async def drop(self) -> None:
        """Cut the live connections (gateway, sockets, polls that wait); new ones are taken."""
        raise NotImplementedError

    async def start(self) -> None:
        """Serve; at the same port as before, after `kill`."""
        app = web.Application(middlewares=[self._fault], client_max_size=64 * 2**20)
        app.add_routes(self.routes())
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port, reuse_address=True)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def kill(self) -> None:
        """Vanish: cut everything, serve nothing; what was said stays."""
        if self._runner is not None:
            await self.drop()
            runner, self._runner = self._runner, None
            await runner.cleanup()

    @property
    def url(self) -> str:
        """Where it serves."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def settings(self) -> dict[str, str]:
        """The environment variables that point a bot at this platform."""
        raise NotImplementedError

    @web.middleware
    async def _fault(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        """Let calls fail as the test wants it, and write down every call."""
        method = self.method_of(request)
        call = Call(at=time.monotonic(), method=method, chat=await self.chat_of(request))
        if method:
            self.calls.append(call)
        try:
            response = await self._obey(request, handler, self._next_fault(method))
        except web.HTTPException as error:
            call.status = error.status
            raise
        if response is None:
            response = web.Response(status=500)
            if request.transport is not None:
                request.transport.abort()
            call.status = 0
        else:
            call.status = response.status
        await self.tell()
        return response

    async def _obey(
        self,
        request: web.Request,
        handler: Callable[[web.Request], Awaitable[web.StreamResponse]],
        fault: Fault | None,
    ) -> web.StreamResponse | None:
        """Answer a call; `None` to cut the connection."""
        if fault is None:
            return await handler(request)
        if fault.kind == "limit":
            return self.limit_answer(request, fault.seconds)
        if fault.kind == "status":
            return self.failure_answer(request, fault.status)
        if fault.kind == "hang":
            await asyncio.sleep(fault.seconds)
        elif fault.kind == "lose":
            await handler(request)
        return None

    def method_of(self, request: web.Request) -> str:
        """The platform's name of a call, like `sendMessage`; empty for polls and all that is no call."""
        raise NotImplementedError

    async def chat_of(self, request: web.Request) -> str:
        """The chat that a call is about, by the test's name; empty where there is none."""
        return ""

    def _next_fault(self, method: str) -> Fault | None:
        for fault in self._faults:
            if method and fault.method in method:
                fault.count -= 1
                if fault.count <= 0:
                    self._faults.remove(fault)
                return fault
        return None

    def fail(self, fault: Fault) -> None:
        """Let coming calls go wrong."""
        self._faults.append(fault)

    def heal(self) -> None:
        """No more faults."""
        self._faults.clear()

    # --- the people

    async def user_says(
        self,
        chat: str,
        text: str,
        *,
        user: str = "ann",
        direct: bool = True,
        mentions_bot: bool = False,
        thread: str | None = None,
        reply_to: str | None = None,
        is_bot: bool = False,
    ) -> str:
        """Say something; gives the platform's id of the message.

        Args:
            mentions_bot: As the platform's people do it, beside `text`.
        """
        raise NotImplementedError

    async def user_edits(self, chat: str, message: str, text: str, *, user: str = "ann") -> None:
        """Change what was said."""
        raise NotImplementedError

    async def user_deletes(self, chat: str, message: str, *, user: str = "ann") -> None:
        """Take back what was said; Telegram tells bots nothing of it, and has no such method."""
        raise NotImplementedError

    async def upload(
        self, chat: str, file: File, *, user: str = "ann", text: str = "", direct: bool = True
    ) -> str:
        """Send a file, with a caption."""
        raise NotImplementedError

    async def click(self, message: str, label: str, *, user: str = "ann") -> None:
        """Press the button of a message."""
        raise NotImplementedError

    async def slash(
        self, chat: str, command: str, arguments: str = "", *, user: str = "ann", direct: bool = True
    ) -> None:
        """Use a command from the platform's own menu (where it has none: say it)."""
        raise NotImplementedError

    async def redeliver(self) -> None:
        """Deliver the last event once more, as the platform does when it missed the acknowledgement."""
        raise NotImplementedError

    # --- what is to be seen

    def chat(self, chat: str, *, author: str | None = BOT, thread: str | None = None) -> list[Shown]:
        """The messages of a chat, oldest first; of the bot alone unless said otherwise."""
        return [
            message
            for message in self.messages.values()
            if message.chat == chat
            and (author is None or message.author == author)
            and (thread is None or message.thread == thread)
        ]

    def texts(self, chat: str) -> list[str]:
        """What the bot's messages in a chat say."""
        return [message.text for message in self.chat(chat)]

    def typing(self, chat: str) -> int:
        """How often the bot has shown in a chat that it is writing."""
        raise NotImplementedError

    async def tell(self) -> None:
        """Wake those who wait; after every change."""
        async with self._news:
            self._news.notify_all()

    async def until(self, claim: Callable[[], bool], *, seconds: float = PATIENCE) -> None:
        """Wait until a claim about the platform is true.

        Raises:
            TimeoutError: It did not become true.
        """
        async with asyncio.timeout(seconds), self._news:
            await self._news.wait_for(claim)

    async def said(self, chat: str, text: str) -> Shown:
        """Wait for a message of the bot that reads exactly so, and is no preview."""

        def found() -> list[Shown]:
            return [one for one in self.chat(chat) if one.text == text and not one.is_preview]

        try:
            await self.until(lambda: bool(found()))
        except TimeoutError:
            raise AssertionError(f"{self.name} {chat} shows {self.texts(chat)!r}, not {text!r}") from None
        return found()[-1]

    @asynccontextmanager
    async def away(self) -> AsyncIterator[None]:
        """The platform is gone for a while."""
        await self.kill()
        try:
            yield
        finally:
            await self.start()


class Budget:
    """Refuses what goes over a documented rate; sliding window.

    Args:
        calls: Allowed in any `seconds` seconds, under each key.
    """

    def __init__(self, calls: int, seconds: float) -> None:
        self._calls = calls
        self._seconds = seconds
        self._spent: dict[str, list[float]] = {}

    def spend(self, key: str) -> float:
        """Count a call; 0 where it is allowed, else the seconds until one would be."""
        now = time.monotonic()
        spent = self._spent[key] = [at for at in self._spent.get(key, []) if at > now - self._seconds]
        if len(spent) >= self._calls:
            return spent[0] + self._seconds - now
        spent.append(now)
        return 0.0
