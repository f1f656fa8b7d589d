"""A bot of one's own: tools, commands and hooks from plain functions.

bot = Bot(name="Dicey")

@bot.command
async def dice(context: Context, sides: int = 6) -> str:
    \"\"\"Roll a die.\"\"\"
    return str(randint(1, sides))

bot.run()
"""

import asyncio
import os
import signal
import sys
import threading
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Self

from bot.app import App, calm_collector
from bot.backends.base import AgentBackend
from bot.commands.declare import Context, command
from bot.errors import BotError, ConfigError
from bot.extension import Extension
from bot.hooks.handler import hook
from bot.hooks.registry import Hooks
from bot.operations.terminal import run_loop, say
from bot.settings import Settings, load_settings
from bot.telemetry import set_up_logging
from bot.tools.base import ToolContext
from bot.tools.declare import tool

__all__ = ["Bot", "Context", "ToolContext", "command", "hook", "tool"]

LAST_SECONDS = 40.0  # after the grace, until the process goes whatever still hangs


class Bot(Extension):
    """A bot: what is registered, and the settings it runs with.

    Args:
        name: What it is called; without it, the settings say so.
        settings: Without them, they are read when it starts: environment, `.env`, `bot.toml`.
        backend: An agent of one's own, instead of the one the settings name.

    Raises:
        ValueError: Both a name and settings are given: which of them counts?
    """

    def __init__(
        self,
        *,
        name: str | None = None,
        settings: Settings | None = None,
        backend: AgentBackend | None = None,
    ) -> None:
        super().__init__()
        if name is not None and settings is not None:
            raise ValueError("name stands in the settings: give one of the two")
        self._name = name
        self._settings = settings
        self._backend = backend
        self._stack = AsyncExitStack()
        self._app: App | None = None

    @property
    def app(self) -> App:
        """The open bot.

        Raises:
            RuntimeError: It is not open.
        """
        if self._app is None:
            raise RuntimeError("the bot is not open: use `async with bot`, or bot.run()")
        return self._app

    async def __aenter__(self) -> Self:
        """Start everything; see `bot.app.App`."""
        await self._open(self._read_settings())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._app = None
        await self._stack.aclose()

    def run(self) -> None:
        """Start the bot and keep it running until Ctrl-C, a signal or an admin ends it; ends the process.

        Exit codes are those of `python -m bot`.
        """
        try:
            settings = self._read_settings()
            set_up_logging(settings.log.level, settings.log.format)
            is_to_restart = run_loop(self._serve(settings))
        except BotError as error:
            sys.stderr.write(f"{error}\n")
            raise SystemExit(2 if isinstance(error, ConfigError) else 1) from error
        if is_to_restart:
            os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
        raise SystemExit(0)

    def _read_settings(self) -> Settings:
        if self._settings is not None:
            return self._settings
        return load_settings() if self._name is None else load_settings(name=self._name)

    async def _open(self, settings: Settings) -> App:
        if self._app is not None:
            raise RuntimeError("the bot is open already")
        hooks = Hooks()
        for one in self.parts.hooks:
            hooks.add(one)
        app = App(
            settings,
            backend=self._backend,
            commands=self.parts.commands,
            tools=self.parts.tools,
            hooks=hooks,
        )
        self._app = await self._stack.enter_async_context(app)
        return self.app

    async def _serve(self, settings: Settings) -> bool:
        """Run until somebody ends it; gives whether it is to be started again."""
        stop = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        try:
            app = await self._open(settings)
            if app.url is not None:
                say(f"Chat with {settings.name} at {app.url}/chat  (Ctrl-C stops)")
            calm_collector()
            waits = {asyncio.ensure_future(event.wait()) for event in (stop, app.restart_asked)}
            _, others = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            for wait in others:
                wait.cancel()
            last = threading.Timer(settings.shutdown_grace + LAST_SECONDS, os._exit, (1,))
            last.daemon = True
            last.start()  # a turn that does not let itself be cancelled must not keep the process alive
            return not stop.is_set()
        finally:
            await self.__aexit__(None, None, None)
