"""What the commands do; loaded by `bot/cli.py` when one of them is called."""

import asyncio
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

from bot.app import App, JournalEntry, back_up, open_store, read_holder, restore_backup, talk
from bot.doctor import ask, examine
from bot.messages import RunId
from bot.models.demo import demo_model_path, has_model
from bot.models.download import get_model, progress_bar
from bot.models.probe import list_models
from bot.settings import Settings, load_settings
from bot.telemetry import set_up_logging

log = logging.getLogger(__name__)

Result = TypeVar("Result")

LAST_SECONDS = 40.0  # after the grace, until the process goes whatever still hangs


def _say(text: str = "") -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _run_loop(main: Coroutine[None, None, Result]) -> Result:
    """Run an event loop, the fast one where it is installed."""
    try:
        import uvloop  # an extra: only here, so that nothing else has to know of it
    except ImportError:
        return asyncio.run(main)
    return uvloop.run(main)


def run(port: int | None) -> int:
    """`run`: start the bot and wait for a signal."""
    overrides = {} if port is None else {"web": {"port": port}}
    settings = load_settings(**overrides)
    set_up_logging(settings.log.level, settings.log.format)
    return _run_loop(_serve(settings))


async def _serve(settings: Settings) -> int:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with App(settings) as app:
        if app.url is not None:
            _say(f"Chat with {settings.name} at {app.url}/chat  (Ctrl-C stops)")
        await stop.wait()
        log.info("stopping")
        last = threading.Timer(settings.shutdown_grace + LAST_SECONDS, os._exit, (1,))
        last.daemon = True
        last.start()  # a turn that does not let itself be cancelled must not keep the process alive
    return 0


def chat(is_interactive: bool) -> int:
    """`chat`: in the terminal, with the bot that runs or one of our own."""
    settings = load_settings()
    set_up_logging("ERROR" if settings.log.level == "INFO" else settings.log.level, settings.log.format)
    return _run_loop(talk(settings, is_interactive=is_interactive))


def backup(file: Path) -> int:
    """`backup`: one file with all data."""
    size = back_up(load_settings().data_dir, file.absolute())
    _say(f"Backup written: {file} ({size / 1e6:.1f} MB)")
    return 0


def restore(file: Path, yes: bool) -> int:
    """`restore`: ask, then put a backup in place."""
    home = load_settings().data_dir
    if not yes and home.exists():
        question = f"Replace the data in {home} by {file}? The present data are kept beside it. [y/N] "
        if input(question).strip().lower() not in ("y", "yes"):
            _say("Nothing was changed.")
            return 1
    aside = restore_backup(home, file)
    _say(f"Restored {file}." + (f" The data that stood there are in {aside}." if aside else ""))
    return 0


def journal_list() -> int:
    """`journal list`: what is not done."""
    entries = asyncio.run(_unfinished(load_settings()))
    if not entries:
        _say("Nothing waits: every accepted message is answered.")
    for entry in entries:
        age = time.time() - entry.accepted_at
        _say(
            f"{entry.state:8} {entry.run}  {entry.session}  accepted {age:.0f} s ago, "
            f"{entry.attempts} attempts, {entry.crashes} crashes"
        )
    return 0


async def _unfinished(settings: Settings) -> list[JournalEntry]:
    async with open_store(settings) as store:
        return await store.journal.unfinished()


def journal_retry(run: str) -> int:
    """`journal retry`: by the bot that runs, or for the next start."""
    settings = load_settings()
    holder = read_holder(settings.data_dir)
    if holder is not None and holder.url is not None:
        ask(settings, holder.url, f"/api/journal/{quote(run)}/retry", method="POST")
        _say("The running bot takes it up now.")
    else:
        asyncio.run(_retry(settings, RunId(run)))
        _say("It will be answered at the next start.")
    return 0


async def _retry(settings: Settings, run: RunId) -> None:
    async with open_store(settings) as store:
        await store.journal.retry(run)


def model_get(if_needed: bool) -> int:
    """`model get`: fetch the demo model."""
    settings = load_settings()
    if if_needed and (settings.effective_provider != "local" or settings.local.gguf is not None):
        return 0
    if has_model(settings.data_dir):
        if not if_needed:
            _say(f"The model is there already: {demo_model_path(settings.data_dir)}")
        return 0
    with progress_bar() as progress:
        path = get_model(settings.data_dir, progress)
    _say(f"The demo model is ready: {path}")
    return 0


def model_list() -> int:
    """`model list`: what the provider offers."""
    settings = load_settings()
    if settings.effective_provider == "local":
        _say(str(settings.local.gguf or demo_model_path(settings.data_dir)))
        return 0
    for name in asyncio.run(list_models(settings.openai)):
        _say(name)
    return 0


def doctor(probe: bool) -> int:
    """`doctor`: the settings, what is missing, what runs; exit code 1 where something is missing."""
    settings = load_settings()
    report = examine(settings, is_probing=probe)
    for line in report.lines:
        _say(line)
    return 1 if report.is_lacking else 0
