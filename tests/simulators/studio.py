"""The page of `python -m bot simulate`: the chats of the simulated platforms side by side.

Simulators and page live in one process, the bot in another. The page gets what is shown by server-sent
events, one for each column that has changed, and posts what people do as JSON.
"""

import asyncio
import logging
import signal
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeAlias
from urllib.parse import urlencode

import msgspec
from aiohttp import web
from aiohttp.typedefs import Handler

from bot.errors import ConfigError
from bot.operations.terminal import say
from channels.registry import check_installed
from tests.simulators.platform import Shown, Simulator
from tests.simulators.studio_bot import BotProcess
from tests.simulators.studio_deeds import GROUP, Request, perform

log = logging.getLogger(__name__)

SIMULATORS = {
    "telegram": ("tests.simulators.telegram", "TelegramSimulator"),
    "discord": ("tests.simulators.discord", "DiscordSimulator"),
    "slack": ("tests.simulators.slack", "SlackSimulator"),
    "feishu": ("tests.simulators.feishu", "FeishuSimulator"),
}
STATIC = Path(__file__).with_name("studio_static")
PEOPLE = ("ann", "bob")
NEWEST = 100  # messages of a chat that are shown
PAUSE = 0.1  # seconds between two looks at a column
HEARTBEAT = 15.0
PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})  # shown; all else is saved
HOSTS = frozenset({"127.0.0.1", "localhost"})  # no name that somebody else's page could give us
HEADERS = {
    "Content-Security-Policy": "default-src 'self'; frame-ancestors 'none'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}

Column: TypeAlias = dict[str, Any]  # as it goes to the page, in JSON


class Studio:
    """The page, from `__aenter__` to `__aexit__`.

    Attributes:
        bot: Set before the page is opened.
    """

    bot: BotProcess

    def __init__(self, simulators: Sequence[Simulator], *, port: int) -> None:
        self._simulators = {simulator.name: simulator for simulator in simulators}
        self._columns: dict[str, Column] = {}
        self._news = asyncio.Condition()
        self._port = port
        self._is_closing = False
        self._stack = AsyncExitStack()
        self.url = ""

    async def __aenter__(self) -> Self:
        app = web.Application(middlewares=[_guard], client_max_size=64 * 2**20)
        app.add_routes(
            [
                web.get("/", self._page),
                web.static("/static", STATIC),
                web.get("/events", self._events),
                web.get("/file", self._file),
                web.post("/do", self._do),
            ]
        )
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5, handler_cancellation=True)
        await runner.setup()
        self._stack.push_async_callback(runner.cleanup)
        try:
            await web.TCPSite(runner, "127.0.0.1", self._port).start()
        except OSError as error:
            await self._stack.aclose()
            raise ConfigError(f"port {self._port} is in use: choose another with --port") from error
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        watchers = [asyncio.create_task(self._watch(one)) for one in self._simulators.values()]
        self._stack.push_async_callback(_cancel, watchers)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_closing = True
        await self._tell()
        await self._stack.aclose()

    # --- what the page shows

    async def show_bot(self) -> None:
        """Let the page know how the bot does."""
        await self._show("bot", {"state": self.bot.state, "url": self.bot.url})

    async def _watch(self, simulator: Simulator) -> None:
        """Keep a column as it is on its platform, to the tenth of a second."""
        while True:
            with suppress(TimeoutError):
                await simulator.until(lambda: self._columns.get(simulator.name) != _column(simulator))
                await self._show(simulator.name, _column(simulator))
            await asyncio.sleep(PAUSE)

    async def _show(self, name: str, column: Column) -> None:
        self._columns[name] = column
        await self._tell()

    async def _tell(self) -> None:
        async with self._news:
            self._news.notify_all()

    async def _page(self, request: web.Request) -> web.FileResponse:
        return web.FileResponse(STATIC / "studio.html")

    async def _events(self, request: web.Request) -> web.StreamResponse:
        """Tell the page of every column that it has not seen in its present state."""
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"} | HEADERS)
        await response.prepare(request)
        seen: dict[str, Column] = {}
        with suppress(ConnectionError):  # the page was closed
            while not self._is_closing:
                fresh = {name: one for name, one in self._columns.items() if seen.get(name) is not one}
                for name, column in fresh.items():
                    data = msgspec.json.encode({"name": name, **column})
                    await response.write(b"data: " + data + b"\n\n")
                seen |= fresh
                if not fresh and not await self._wait_for_news(seen):
                    await response.write(b": still here\n\n")
        return response

    async def _wait_for_news(self, seen: Mapping[str, Column]) -> bool:
        """Whether there are any; False after a while without."""
        with suppress(TimeoutError):
            async with asyncio.timeout(HEARTBEAT), self._news:
                return await self._news.wait_for(
                    lambda: (
                        self._is_closing
                        or any(seen.get(name) is not one for name, one in self._columns.items())
                    )
                )
        return False

    async def _file(self, request: web.Request) -> web.Response:
        query = request.query
        try:
            message = self._simulators[query["platform"]].messages[query["message"]]
            file = message.files[int(query["number"])]
        except (KeyError, ValueError, IndexError):
            raise web.HTTPNotFound from None
        is_picture = file.mime in PICTURES
        headers = {
            "Content-Type": file.mime if is_picture else "application/octet-stream",
            "Content-Disposition": "inline" if is_picture else "attachment",  # the link has the name
        }
        return web.Response(body=file.data, headers=headers)

    # --- what the people do

    async def _do(self, request: web.Request) -> web.Response:
        if request.content_type != "application/json":  # which no form of another site can send
            raise web.HTTPUnsupportedMediaType
        try:
            deed = msgspec.json.decode(await request.read(), type=Request)
        except msgspec.ValidationError as error:
            raise web.HTTPBadRequest(text=str(error)) from None
        try:
            await perform(deed, self._simulators, self.bot)
        except Exception as error:  # a simulator's assertion must not end more than this request
            log.exception("the simulator did not take it")
            return web.Response(status=409, text=f"That did not work: {error!r}")
        return web.Response(status=204)


@web.middleware
async def _guard(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Keep other people's pages out: they reach a loopback address under a name of theirs."""
    if request.url.host not in HOSTS:
        raise web.HTTPForbidden(text="unknown host")
    response = await handler(request)
    if not response.prepared:
        response.headers.update(HEADERS)
    return response


def _column(simulator: Simulator) -> Column:
    """All that the page shows of a platform."""
    chats = {
        chat: [_as_json(simulator.name, one) for one in simulator.chat(chat, author=None)[-NEWEST:]]
        for chat in (*PEOPLE, GROUP)
    }
    return {"chats": chats, "typing": {chat: simulator.typing(chat) for chat in chats}}


def _as_json(platform: str, message: Shown) -> Column:
    files = [
        {
            "name": file.name,
            "is_picture": file.mime in PICTURES,
            "url": "/file?" + urlencode({"platform": platform, "message": message.id, "number": number}),
        }
        for number, file in enumerate(message.files)
    ]
    return {
        "id": message.id,
        "author": message.author,
        "text": message.text,
        "thread": message.thread,
        "reply_to": message.reply_to,
        "buttons": [*message.buttons],
        "files": files,
        "reactions": [*message.reactions],
        "edits": message.edits,
        "is_preview": message.is_preview,
        "ephemeral_to": message.ephemeral_to,
        "pinged": [*message.pinged],
    }


async def _cancel(tasks: Sequence[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


def _simulators(names: Sequence[str]) -> Iterator[Simulator]:
    """Those that can be loaded; of the others a line is printed."""
    for name in names:
        module, attribute = SIMULATORS[name]
        try:
            check_installed(name)
            simulator: Simulator = getattr(import_module(module), attribute)()
        except (ConfigError, ModuleNotFoundError) as error:
            say(f"{name} is left out: {error}")
        else:
            yield simulator


def _make_home(home: Path, models: Path) -> Path:
    """A data directory that has the demo model, also if it is fetched later on."""
    data = home.expanduser().absolute()
    data.mkdir(parents=True, exist_ok=True)
    (data / "models").symlink_to(models)
    return data


async def serve(
    variables: Mapping[str, str], *, port: int, home: Path | None, platforms: Sequence[str], models: Path
) -> int:
    """Run until a signal; then nothing is left, but for the data where `home` is given.

    Args:
        variables: Settings of the bot.
        models: Where the demo model is, or will be.

    Raises:
        ConfigError: The port is in use, or no platform can be simulated.
    """
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with AsyncExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="switchboard-")))
        data = _make_home(home or directory / "home", models)
        simulators = [await stack.enter_async_context(one) for one in _simulators(platforms)]
        if not simulators:
            raise ConfigError("no platform is left to simulate")
        environment = {**variables, "BOT_HOME": str(data)}
        for simulator in simulators:
            environment |= simulator.settings
        studio = Studio(simulators, port=port)
        studio.bot = BotProcess(environment, directory=directory, tell=studio.show_bot)
        stack.push_async_callback(studio.bot.aclose)
        await stack.enter_async_context(studio)
        say(f"Simulated: {', '.join(one.name for one in simulators)}")
        say(f"Play at {studio.url}  (Ctrl-C stops)")
        await studio.bot.start()
        await stop.wait()
    return 0
