"""`plugins`: what is there, what it brings, and what is wrong with it."""

import asyncio

from bot.operations.terminal import say
from bot.plugins import FOLDER, GROUP, Plugin, load_plugins
from bot.settings import Settings, load_settings
from bot.settings.plugins import PluginsSettings


def plugins() -> int:
    """`plugins`: load them all, as the bot would; 1 if one has a fault."""
    settings = load_settings()
    return list_plugins(settings, settings.plugins)


def list_plugins(settings: Settings, section: PluginsSettings) -> int:
    """Print every plugin; gives the exit code."""
    found = asyncio.run(load_plugins(section, settings.data_dir))
    if not section.enabled:
        say("Plugins are switched off: BOT_PLUGINS__ENABLED.")
    elif not found:
        say(f"No plugins: none in {settings.data_dir / FOLDER}, none installed for {GROUP}.")
    for plugin in found:
        for line in describe(plugin):
            say(line)
    for name in section.disabled:
        say(f"off    {name}  (BOT_PLUGINS__DISABLED)")
    return 1 if any(plugin.fault for plugin in found) else 0


def describe(plugin: Plugin) -> list[str]:
    """A plugin in a few lines."""
    mark = "ok" if plugin.fault is None else "fault"
    version = f" {plugin.version}" if plugin.version else ""
    lines = [f"{mark:6} {plugin.name}{version}  {plugin.place}"]
    if plugin.fault is not None:
        return [*lines, f"         {plugin.fault}"]
    parts = plugin.parts
    named = {
        "tools": [tool.name for tool in parts.tools],
        "commands": [f"/{command.spec.name}" for command in parts.commands],
        "hooks": [hook.point.name + (" (security)" if hook.is_security else "") for hook in parts.hooks],
    }
    return [*lines, *(f"         {kind}: {', '.join(names)}" for kind, names in named.items() if names)]
