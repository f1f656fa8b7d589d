"""The whole chat page over loopback: echo bot, hubs and the real web server; can be restarted."""

from contextlib import AsyncExitStack
from types import TracebackType
from typing import Self

from bot.bus import LocalBus
from bot.settings import WebSettings
from bot.web.health import Readiness
from bot.web.server import WebServer
from channels.frames import CommandHint
from channels.hub import ChatHub
from channels.web import routes
from tests.channels.echo import EchoBot, MemoryStore, Reply, echo

COMMANDS = (
    CommandHint(name="/kill", help="Stop the answer that is being written"),
    CommandHint(name="/kill all", help="Stop all answers and empty the queue"),
    CommandHint(name="/stop", help="The same as /kill"),
)


class Site:
    """Runs from `start` to `stop`; the port and the store stay the same over a restart."""

    def __init__(self, reply: Reply = echo, settings: WebSettings | None = None) -> None:
        self.store = MemoryStore()
        self.reply = reply
        self.settings = settings or WebSettings(port=0)
        self.url = ""
        self.bot: EchoBot
        self.hub: ChatHub
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    @property
    def socket_url(self) -> str:
        return f"{self.url.replace('http', 'ws', 1)}/chat/ws"

    async def start(self) -> None:
        bus = LocalBus()
        self.hub = ChatHub("web", bus, transcript=self.store, bot_name="Echo", commands=COMMANDS)
        terminal = ChatHub("terminal", bus, transcript=self.store, bot_name="Echo", commands=COMMANDS)
        await self._stack.enter_async_context(self.hub)
        await self._stack.enter_async_context(terminal)
        self.bot = await self._stack.enter_async_context(EchoBot(bus, self.store, self.reply))
        hubs = {"web": self.hub, "terminal": terminal}
        server = WebServer(self.settings, routes(hubs), Readiness(None))
        await self._stack.enter_async_context(server)
        self.url = server.url
        self.settings = self.settings.model_copy(update={"port": server.port})

    async def stop(self) -> None:
        await self._stack.aclose()
