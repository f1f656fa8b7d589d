"""The settings: read once from environment, `.env` and `bot.toml`, and handed down section by section."""

from bot.settings.base import PREFIX, Section
from bot.settings.channels import (
    ChannelSettings,
    DiscordSettings,
    FeishuSettings,
    SlackSettings,
    TelegramSettings,
    WebSettings,
)
from bot.settings.loading import env_example, load_settings, variable_name, walk_settings
from bot.settings.models import LocalSettings, OpenAISettings, TranscriptionSettings
from bot.settings.settings import LogSettings, Settings, StoreSettings

__all__ = [
    "PREFIX",
    "ChannelSettings",
    "DiscordSettings",
    "FeishuSettings",
    "LocalSettings",
    "LogSettings",
    "OpenAISettings",
    "Section",
    "Settings",
    "SlackSettings",
    "StoreSettings",
    "TelegramSettings",
    "TranscriptionSettings",
    "WebSettings",
    "env_example",
    "load_settings",
    "variable_name",
    "walk_settings",
]
