"""Backends by name; the code of one is loaded when it is chosen."""

import importlib
from collections.abc import Callable
from importlib.metadata import entry_points
from typing import TypeAlias

import msgspec

from bot.backends.base import AgentBackend
from bot.errors import ConfigError
from bot.models.providers import ModelSetup

GROUP = "switchboard.backends"
BACKENDS = {
    "native": "bot.backends.native:open_native",
    "openai_agents": "bot.backends.openai_agents:open_openai_agents",
}
EXTRAS = {"agents": "agents"}  # by the module that is missing
LEGACY = {
    "claude_code": "native",
    "gemini_cli": "native",
    "open_interpreter": "native",
    "pocketpaw_native": "native",
}


class BackendSetup(msgspec.Struct, frozen=True, kw_only=True):
    """What a backend is made of.

    Attributes:
        turn_seconds: How long a turn may take.
    """

    models: ModelSetup
    turn_seconds: float


BackendFactory: TypeAlias = Callable[[BackendSetup], AgentBackend]


def resolve_backend(name: str) -> str:
    """The place of a backend's factory, as `module:function`; loads nothing.

    Third parties add theirs through the entry point group `switchboard.backends`.

    Raises:
        ConfigError: Nobody knows the name.
    """
    name = LEGACY.get(name, name)
    if name in BACKENDS:
        return BACKENDS[name]
    others = {point.name: point.value for point in entry_points(group=GROUP)}
    if name not in others:
        known = ", ".join(sorted({*BACKENDS, *LEGACY, *others}))
        raise ConfigError(f"BOT_BACKEND: there is no backend {name!r}; there are {known}.")
    return others[name]


def load_factory(place: str) -> BackendFactory:
    """Import a backend's factory; takes its time, so call it in a thread.

    Raises:
        ConfigError: It can't be imported, or is no factory.
    """
    module, _, name = place.partition(":")
    try:
        factory = getattr(importlib.import_module(module), name, None)
    except ImportError as error:
        needs = error.name or str(error)
        extra = EXTRAS.get(needs)
        way = "install it" if extra is None else f"pip install 'switchboard-bot[{extra}]'"
        raise ConfigError(f"The backend at {place} needs {needs}: {way}, or set BOT_BACKEND.") from error
    if not callable(factory):
        raise ConfigError(f"The backend at {place} is not there: {module} has no function {name!r}.")
    return factory  # type: ignore[no-any-return]  # what a plugin's factory takes shows when it is called
