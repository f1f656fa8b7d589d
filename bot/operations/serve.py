"""`run` and `chat`: the bot itself."""

import asyncio
import logging
import os
import signal
import sys
import threading

from bot.app import App, calm_collector, load_filled, talk
from bot.operations.terminal import run_loop, say
from bot.settings import Settings, load_settings
from bot.telemetry import set_up_logging

log = logging.getLogger(__name__)

RESTART = 75  # exit code inside of us: start again in place of this process
LAST_SECONDS = 40.0  # after the grace, until the process goes whatever still hangs


def run(port: int | None) -> int:
    """`run`: start the bot and wait for a signal."""
    overrides = {} if port is None else {"web": {"port": port}}
    settings = load_settings(**overrides)
    set_up_logging(settings.log.level, settings.log.format)
    code = run_loop(_serve(settings))
    if code == RESTART:
        log.info("starting again")
        os.execv(sys.executable, [sys.executable, "-m", "bot", *sys.argv[1:]])
    return code


async def _serve(settings: Settings) -> int:
    """Run until a signal or an admin ends it; gives `RESTART` where it is to be started again."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with App(settings) as app:
        if app.url is not None:
            say(f"Chat with {settings.name} at {app.url}/chat  (Ctrl-C stops)")
        calm_collector()
        await _first(stop, app.restart_asked)
        log.info("stopping")
        last = threading.Timer(settings.shutdown_grace + LAST_SECONDS, os._exit, (1,))
        last.daemon = True
        last.start()  # a turn that does not let itself be cancelled must not keep the process alive
    return RESTART if app.restart_asked.is_set() and not stop.is_set() else 0


async def _first(*events: asyncio.Event) -> None:
    """Wait until one of the events is set."""
    waits = [asyncio.create_task(event.wait(), name="wait for the end") for event in events]
    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    for wait in waits:
        wait.cancel()
    await asyncio.wait(waits)


def chat(is_interactive: bool) -> int:
    """`chat`: in the terminal, with the bot that runs or one of our own."""
    settings = load_filled()
    set_up_logging("ERROR" if settings.log.level == "INFO" else settings.log.level, settings.log.format)
    return run_loop(talk(settings, is_interactive=is_interactive))
