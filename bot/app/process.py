"""What a process does with a bot beside running it: calm the collector, look into the store, talk."""

import gc
from collections.abc import Awaitable, Callable
from importlib import import_module

from bot.app.app import App
from bot.errors import StoreError
from bot.settings import Settings
from memory.home import read_holder
from memory.store import Store


def calm_collector() -> None:
    """Take what is loaded out of the garbage collector's rounds, and let those come less often.

    For a process that is nothing but the bot, once it is ready: with many sessions, a round over everything
    takes 50 to 100 ms, in which nobody is answered.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 50)


def open_store(settings: Settings) -> Store:
    """The store of the settings, for commands that look into it beside a running bot."""
    if not settings.data_dir.is_dir():
        raise StoreError(f"{settings.data_dir} does not exist: has the bot run with this BOT_HOME?")
    return Store(settings.data_dir, synchronous=settings.store.synchronous)


async def talk(settings: Settings, *, is_interactive: bool) -> int:
    """Talk in the terminal: to the bot that runs on this data directory, or to one of our own."""
    terminal = import_module("channels.terminal")  # loads what only a terminal needs
    chat: Callable[..., Awaitable[int]] = terminal.chat
    holder = read_holder(settings.data_dir)
    if holder is not None and holder.url is not None:
        token = settings.web.token.get_secret_value() if settings.web.token else None
        connection = terminal.WebSocketConnection(holder.url, token=token)
        return await chat(connection, data_dir=settings.data_dir, is_interactive=is_interactive)
    async with App(settings, has_web=False) as app:
        connection = terminal.LocalConnection(app.hubs["terminal"])
        return await chat(connection, data_dir=settings.data_dir, is_interactive=is_interactive)
