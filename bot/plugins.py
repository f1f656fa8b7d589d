"""Plugins: found among what is installed and in BOT_HOME/plugins, looked at, and loaded one by one.

def setup(api: PluginApi) -> None:
    api.hook("message_received", greet)

A plugin that can't be loaded is named in the log and left out; the bot starts without it.
"""

import asyncio
import importlib.util
import inspect
import logging
import os
import re
import stat
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import Future
from functools import partial
from importlib.machinery import SourceFileLoader
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Generic, NoReturn, TypeAlias

import msgspec
from msgspec.structs import replace
from pydantic import ValidationError
from typing_extensions import TypeVar

from bot.errors import BotError
from bot.extension import Extension, Parts
from bot.settings.base import Section
from bot.settings.plugins import PluginsSettings

log = logging.getLogger(__name__)

GROUP = "switchboard.plugins"
FOLDER = "plugins"
DATA = "plugins-data"
LOAD_SECONDS = 20.0
MAX_FILES = 2_000  # of a package
NAME = re.compile(r"[a-z][a-z0-9_]{0,31}")
RESERVED = frozenset(PluginsSettings.model_fields)

S = TypeVar("S", bound=Section, default=Section)
Code: TypeAlias = ModuleType | Callable[..., object]


class PluginFault(BotError):
    """A plugin can't be loaded; the text says why, and what to do."""


class PluginApi(Extension, Generic[S]):
    """What a plugin's `setup` gets: it registers tools, commands and hooks here.

    `setup` runs before the bot is open, in a thread; what needs the event loop is begun in `gateway_start`.

    Attributes:
        name: The plugin's.
        settings: Its part of bot.toml, as its class `Settings` reads it.
        logger: Writes into the bot's log.
    """

    def __init__(self, name: str, *, settings: S, home: Path) -> None:
        super().__init__(plugin=name)
        self.name = name
        self.settings: S = settings
        self.logger = logging.getLogger(f"plugins.{name}")
        self._home = home

    @property
    def data_dir(self) -> Path:
        """Where the plugin keeps its files; made on first use, for nobody else to read."""
        path = self._home / DATA / self.name
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        return path


class Plugin(msgspec.Struct, frozen=True, kw_only=True):
    """A plugin that was found.

    Attributes:
        place: The file, or the entry point.
        parts: What it has registered; nothing where it has a fault.
        fault: Why it is not in use.
    """

    name: str
    place: str
    version: str = ""
    parts: Parts = msgspec.field(default_factory=Parts)
    fault: str | None = None


class _Found(msgspec.Struct, frozen=True, kw_only=True):
    """A plugin that is not loaded yet."""

    name: str
    place: str
    load: Callable[[], Code]
    version: str = ""


async def load_plugins(
    settings: PluginsSettings,
    home: Path,
    *,
    taken_tools: Collection[str] = (),
    taken_commands: Collection[str] = (),
    seconds: float = LOAD_SECONDS,
) -> tuple[Plugin, ...]:
    """Load all plugins, installed ones first, each kind in the order of their names.

    Args:
        home: The data directory.
        taken_tools: Names that no plugin can have, because the bot has them.
        taken_commands: The same for commands, those of the platforms' menus included.
        seconds: What each gets.
    """
    if not settings.enabled:
        return ()
    loaded: list[Plugin] = []
    for found in await asyncio.to_thread(_find, home):
        if found.name in settings.disabled:
            continue
        plugin = await _load(found, settings, home, {one.name: one.place for one in loaded}, seconds)
        clash = _clash(plugin, loaded, taken_tools, taken_commands)
        if clash is not None:
            plugin = replace(plugin, parts=Parts(), fault=clash)
        if plugin.fault is not None:
            extra = {"plugin": plugin.name, "place": plugin.place, "cause": plugin.fault}
            log.error("plugin not loaded", extra=extra)
        loaded.append(plugin)
    for name in sorted(settings.named - {plugin.name for plugin in loaded} - {*settings.disabled}):
        log.warning("settings of a plugin that is not there", extra={"plugin": name})
    return tuple(loaded)


def _find(home: Path) -> list[_Found]:
    """What could be loaded; takes its time."""
    installed = sorted(entry_points(group=GROUP), key=lambda point: point.name)
    return [*(_of_point(point) for point in installed), *_in_folder(home / FOLDER)]


def _of_point(point: EntryPoint) -> _Found:
    version = point.dist.version if point.dist is not None else ""
    return _Found(name=point.name, place=point.value, load=point.load, version=version)


def _in_folder(folder: Path) -> Iterator[_Found]:
    try:
        paths = sorted(folder.iterdir()) if folder.is_dir() else []
    except OSError as error:
        log.error("plugins not read", extra={"place": str(folder), "cause": str(error)})
        return
    for path in paths:
        if path.name.startswith((".", "_")):
            continue
        if path.suffix == ".py" or (path / "__init__.py").exists():
            name = path.name.removesuffix(".py")
            yield _Found(name=name, place=str(path), load=partial(_load_file, name, path))


async def _load(
    found: _Found, settings: PluginsSettings, home: Path, there: Mapping[str, str], seconds: float
) -> Plugin:
    """Load one plugin; its faults become text."""
    plugin = Plugin(name=found.name, place=found.place, version=found.version)
    try:
        if found.name in there:
            raise PluginFault(f"there is another plugin of this name: {there[found.name]}")
        if NAME.fullmatch(found.name) is None or found.name in RESERVED:
            raise PluginFault("a plugin's name has 1 to 32 of a-z, 0-9 and _, and is none of the settings'")
        work = _begin_in_thread(partial(_set_up, found, settings, home), f"plugin {found.name}")
        waiting = asyncio.wrap_future(work)
        await asyncio.wait({waiting}, timeout=seconds)
        if not waiting.done():
            waiting.cancel()
            raise PluginFault(f"it is not loaded after {seconds:g} s: setup only registers")
        return waiting.result()
    except PluginFault as fault:
        return replace(plugin, fault=str(fault))
    except Exception as error:  # code of a plugin must not keep the bot from starting
        log.exception("plugin failed", extra={"plugin": found.name, "place": found.place})
        return replace(plugin, fault=f"{type(error).__name__}: {error}")


def _begin_in_thread(work: Callable[[], Plugin], name: str) -> Future[Plugin]:
    """Run something that may hang in a thread that does not keep the process alive."""
    future: Future[Plugin] = Future()
    future.set_running_or_notify_cancel()  # nobody can stop it any more

    def run() -> None:
        try:
            future.set_result(work())
        except Exception as error:  # noqa: BLE001 - handed to who waits
            future.set_exception(error)
        except BaseException as error:  # noqa: BLE001 - sys.exit and the like, which would end the bot
            future.set_exception(PluginFault(f"it raised {type(error).__name__}"))

    threading.Thread(target=run, name=name, daemon=True).start()
    return future


def _set_up(found: _Found, settings: PluginsSettings, home: Path) -> Plugin:
    """Import a plugin and let it register."""
    code = _import(found)
    module = code if isinstance(code, ModuleType) else sys.modules.get(code.__module__)
    setup = getattr(code, "setup", None) if isinstance(code, ModuleType) else code
    api = PluginApi(found.name, settings=_read_settings(found.name, module, settings), home=home)
    if isinstance(code, ModuleType):
        api.include(code)
    if setup is not None:
        _call_setup(setup, api)
    elif api.parts == Parts():
        raise PluginFault("it has no function setup(api), and nothing made by @tool, @command or @hook")
    version = found.version or str(getattr(module, "__version__", ""))
    return Plugin(name=found.name, place=found.place, version=version, parts=api.parts)


def _import(found: _Found) -> Code:
    try:
        code = found.load()
    except ImportError as error:
        raise PluginFault(f"it needs {error.name or error}: install it") from error
    if not (isinstance(code, ModuleType) or callable(code)):
        raise PluginFault("it is neither a module nor a function setup(api)")
    return code


def _call_setup(setup: object, api: PluginApi) -> None:
    if not callable(setup) or inspect.iscoroutinefunction(setup):
        raise PluginFault("setup is a function that takes the api, and is not async")
    try:
        setup(api)
    except ValueError as error:  # what it registers is refused, in words
        raise PluginFault(str(error)) from error


def _read_settings(name: str, module: ModuleType | None, settings: PluginsSettings) -> Section:
    kind = getattr(module, "Settings", Section)
    if not (isinstance(kind, type) and issubclass(kind, Section)):
        raise PluginFault("its class Settings is not made of bot.settings.Section")
    try:
        return kind.model_validate(settings.of(name))
    except ValidationError as error:
        _refuse_settings(name, error)


def _refuse_settings(name: str, error: ValidationError) -> NoReturn:
    faults = [
        f"[plugins.{name}] {'.'.join(str(part) for part in fault['loc'])}: {fault['msg']}"
        for fault in error.errors(include_url=False, include_input=False)
    ]
    raise PluginFault("; ".join(faults)) from None  # the error itself would show values, secrets among them


def _clash(
    plugin: Plugin, others: list[Plugin], taken_tools: Collection[str], taken_commands: Collection[str]
) -> str | None:
    """Why the parts of a plugin can't stand beside those that are there."""
    tools = {*taken_tools, *(tool.name for other in others for tool in other.parts.tools)}
    commands = {*taken_commands, *(name for other in others for name in _command_names(other))}
    for tool in plugin.parts.tools:
        if tool.name in tools:
            return f"there is another tool {tool.name!r}"
    for name in _command_names(plugin):
        if name in commands:
            return f"there is another command {name!r}"
    return None


def _command_names(plugin: Plugin) -> Iterator[str]:
    """What its commands block for others: a group's first word is no command of its own."""
    for command in plugin.parts.commands:
        yield command.spec.name
        if command.spec.native is not None and command.spec.native != command.spec.name:
            yield command.spec.native


class _SourceOnly(SourceFileLoader):
    """Reads the file itself: a compiled one beside it may be somebody else's."""

    def path_stats(self, path: object) -> NoReturn:
        """Never find a compiled file."""
        raise OSError(f"{path} is compiled each time")


def _load_file(name: str, path: Path) -> ModuleType:
    """Import a file, or a folder with `__init__.py`.

    Raises:
        PluginFault: Others could change it.
    """
    if (reason := find_distrust(path)) is not None:
        raise PluginFault(reason)
    is_package = path.is_dir()
    file = path / "__init__.py" if is_package else path
    full_name = f"switchboard_plugin_{name}"
    spec = importlib.util.spec_from_file_location(
        full_name,
        file,
        loader=_SourceOnly(full_name, str(file)),
        submodule_search_locations=[str(path)] if is_package else None,
    )
    assert spec is not None
    assert spec.loader is not None
    _forget(full_name)
    module = importlib.util.module_from_spec(spec)
    sys.modules[full_name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        _forget(full_name)
        raise
    return module


def _forget(full_name: str) -> None:
    for name in [name for name in sys.modules if name == full_name or name.startswith(f"{full_name}.")]:
        del sys.modules[name]


def find_distrust(path: Path) -> str | None:
    """Why a plugin in `BOT_HOME/plugins` is not run: somebody else could have written it. `None` if not.

    Looks at the file or all of the folder, at what a link leads to, and at the folders they stand in.
    """
    real = path.resolve()
    for place in dict.fromkeys((path.parent.parent, path.parent, real.parent, real)):
        if (reason := _look_at(place)) is not None:
            return reason
    return _look_inside(real) if real.is_dir() else None


def _look_inside(folder: Path) -> str | None:
    count = 0
    for root, folders, files in os.walk(folder):
        for name in (*folders, *files):
            count += 1
            place = Path(root, name)
            if count > MAX_FILES:
                return f"{folder} has more than {MAX_FILES:,} files"
            if place.is_symlink():
                return f"{place} is a link: inside of a plugin they are not followed"
            if (reason := _look_at(place)) is not None:
                return reason
    return None


def _look_at(place: Path) -> str | None:
    try:
        status = place.stat()
    except OSError as error:
        return f"{place} can't be read: {error.strerror}"
    if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
        return f"{place} is no file"
    if status.st_uid not in (0, os.geteuid()):
        return f"{place} belongs to another user (uid {status.st_uid}): chown it to the one the bot runs as"
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"others can write {place}: chmod go-w {place}"
    return None
