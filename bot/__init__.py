"""Switchboard: one agent, many channels, and no message lost."""

from importlib import import_module

_HOMES = {
    "App": "bot.app",
    "BotError": "bot.errors",
    "Chunk": "bot.messages",
    "End": "bot.messages",
    "InboundMessage": "bot.messages",
    "LocalBus": "bot.bus",
    "OutboundMessage": "bot.messages",
    "Settings": "bot.settings",
    "SystemEvent": "bot.messages",
    "load_settings": "bot.settings",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> object:
    """Give out the public names on first use: `bot.app` imports the channels, which import this package."""
    if name not in _HOMES:
        raise AttributeError(f"module 'bot' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
