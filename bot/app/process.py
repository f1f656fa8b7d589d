"""What a process does with a bot beside running it: calm the collector, look into the store, talk."""

import asyncio
import gc
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from importlib import import_module

from bot.app.app import App
from bot.app.doors import Doors
from bot.app.parts import audit_log
from bot.commands.pairing import LetIn, Request
from bot.errors import ConfigError, StoreError
from bot.messages import Role
from bot.settings import Settings
from channels.registry import ADAPTERS, accounts, check_installed
from memory.home import Home, read_holder
from memory.store import Store
from security.access import Outside
from security.audit import AuditBook
from security.injection import Scans, load_scanner
from security.sandbox import find_sandbox

log = logging.getLogger(__name__)


def calm_collector() -> None:
    """Take what is loaded out of the garbage collector's rounds, and let those come less often.

    For a process that is nothing but the bot, once it is ready: with many sessions, a round over everything
    takes 50 to 100 ms, in which nobody is answered.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 4, 50)  # hardly anything of a turn is in a cycle
    gc.enable()


def open_store(settings: Settings) -> Store:
    """The store of the settings, for commands that look into it beside a running bot."""
    if not settings.data_dir.is_dir():
        raise StoreError(f"{settings.data_dir} does not exist: has the bot run with this BOT_HOME?")
    return Store(settings.data_dir, synchronous=settings.store.synchronous)


def open_audit(settings: Settings) -> AuditBook:
    """The audit log of the settings, to be read and checked beside a running bot."""
    return AuditBook(settings.data_dir / "audit", lengths=lambda: asyncio.run(_audit_lengths(settings)))


async def _audit_lengths(settings: Settings) -> dict[str, int]:
    async with open_store(settings) as store:
        return await store.audit_pointer.lengths()


def open_scanner(settings: Settings) -> Scans:
    """What looks for injected instructions in texts; loads its model."""
    return load_scanner(settings.injection)


def find_channels(settings: Settings) -> dict[str, tuple[tuple[str, ...], str | None]]:
    """The platforms: which accounts of each have credentials, and why it can't be used where it can't."""
    found: dict[str, list[str]] = {name: [] for name in ADAPTERS}
    for channel, account, _ in accounts(settings):
        found[channel].append(account)
    return {name: (tuple(names), _fault_of(name)) for name, names in found.items()}


def _fault_of(channel: str) -> str | None:
    try:
        check_installed(channel)
    except ConfigError as error:
        return str(error)
    return None


async def find_sandbox_fault(settings: Settings) -> str | None:
    """Why commands can't be run in a sandbox here; `None` where they can."""
    workspace = settings.data_dir / "workspace"
    if not workspace.is_dir():
        return None
    return (await find_sandbox(settings.sandbox, workspace=workspace, home=settings.data_dir)).fault


async def waiting(settings: Settings) -> Sequence[Request]:
    """Who waits to be let in, while no bot runs."""
    async with open_store(settings) as store:
        return [one for one in await store.pairings.open(time.time()) if not one.is_denied]


async def let_in(settings: Settings, code: str, role: Role | None) -> LetIn:
    """Let somebody in while no bot runs; the next start tells and answers them.

    Raises:
        BotError: Nobody waits with this code.
        HomeInUse: A bot runs all the same.
    """
    with Home(settings.data_dir):
        async with open_store(settings) as store:
            audit = audit_log(settings, store, on_failure=_lose)
            await audit.open()
            try:
                outside = Outside(
                    tell=lambda address, text: store.outbox.announce([address], text),
                    publish=store.journal.accept,
                )
                doors = Doors.of(settings.access, store, admins=settings.admins, audit=audit, outside=outside)
                return await doors.let_in(code, role)
            finally:
                await audit.aclose()


def _lose(cause: str) -> None:
    log.critical("audit line not written", extra={"cause": cause})


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
