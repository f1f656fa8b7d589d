"""Switchboard: one agent, many channels, and no message lost."""

from importlib import import_module

_HOMES = {
    "App": "bot.app",
    "Bot": "bot.api",
    "BotError": "bot.errors",
    "Chunk": "bot.messages",
    "Context": "bot.api",
    "End": "bot.messages",
    "InboundMessage": "bot.messages",
    "LocalBus": "bot.bus",
    "OutboundMessage": "bot.messages",
    "Settings": "bot.settings",
    "SystemEvent": "bot.messages",
    "ToolContext": "bot.api",
    "command": "bot.api",
    "hook": "bot.api",
    "load_settings": "bot.settings",
    "tool": "bot.api",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> object:
    """Give out the public names on first use: `bot.app` imports the channels, which import this package."""
    if name not in _HOMES:
        raise AttributeError(f"module 'bot' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
