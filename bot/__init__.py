"""Switchboard: one agent, many channels, and no message lost."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bot.api import Bot
    from bot.app import App
    from bot.bus import LocalBus
    from bot.commands.declare import Context, command
    from bot.errors import BotError
    from bot.hooks.handler import hook
    from bot.messages import Chunk, End, InboundMessage, OutboundMessage, SystemEvent
    from bot.settings import Settings, load_settings
    from bot.tools.base import ToolContext
    from bot.tools.declare import tool

__all__ = [
    "App",
    "Bot",
    "BotError",
    "Chunk",
    "Context",
    "End",
    "InboundMessage",
    "LocalBus",
    "OutboundMessage",
    "Settings",
    "SystemEvent",
    "ToolContext",
    "command",
    "hook",
    "load_settings",
    "tool",
]

_HOMES = {
    "App": "bot.app",
    "Bot": "bot.api",
    "BotError": "bot.errors",
    "Chunk": "bot.messages",
    "Context": "bot.commands.declare",
    "End": "bot.messages",
    "InboundMessage": "bot.messages",
    "LocalBus": "bot.bus",
    "OutboundMessage": "bot.messages",
    "Settings": "bot.settings",
    "SystemEvent": "bot.messages",
    "ToolContext": "bot.tools.base",
    "command": "bot.commands.declare",
    "hook": "bot.hooks.handler",
    "load_settings": "bot.settings",
    "tool": "bot.tools.declare",
}


def __getattr__(name: str) -> object:
    """Give out the public names on first use: what is not asked for is not loaded."""
    if name not in _HOMES:
        raise AttributeError(f"module 'bot' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
