"""The platforms: where their adapters are, what they need, and which accounts the settings name."""

from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from typing import Any, Final, TypeAlias

from bot.errors import ConfigError
from bot.settings import ChannelSettings, FeishuSettings, Settings, SlackSettings
from channels.base import ChannelAdapter, Setup

ADAPTERS: Final = {
    "telegram": "channels.telegram.adapter:TelegramAdapter",
    "discord": "channels.discord.adapter:DiscordAdapter",
    "slack": "channels.slack.adapter:SlackAdapter",
    "feishu": "channels.feishu.adapter:FeishuAdapter",
}
SDKS: Final = {"telegram": "telegram", "discord": "discord", "slack": "slack_bolt", "feishu": "lark_oapi"}
ENTRY_POINTS: Final = "switchboard.channels"

AdapterFactory: TypeAlias = Callable[[Setup[Any]], ChannelAdapter]  # `Any`: each takes its own section


def load_adapter(name: str) -> AdapterFactory:
    """Load the code of a platform; an SDK that is not switched on is never imported.

    Raises:
        ConfigError: It is not installed, or no platform has this name.
    """
    place = ADAPTERS.get(name)
    if place is None:
        for point in entry_points(group=ENTRY_POINTS, name=name):
            factory: AdapterFactory = point.load()
            return factory
        raise ConfigError(f"there is no channel {name!r}; known: {', '.join(ADAPTERS)}")
    module, _, attribute = place.partition(":")
    check_installed(name)
    found: AdapterFactory = getattr(import_module(module), attribute)
    return found


def check_installed(name: str) -> None:
    """Look whether the SDK of a platform is there, without loading it.

    Raises:
        ConfigError: It is not.
    """
    package = SDKS.get(name)
    if package is not None and find_spec(package) is None:
        raise ConfigError(
            f"channel {name!r} needs the package {package!r}: pip install 'switchboard-bot[{name}]'"
        )


def accounts(settings: Settings) -> Iterator[tuple[str, str, ChannelSettings]]:
    """Every account that has credentials, as (channel, account, its section)."""
    for name in ADAPTERS:
        section: ChannelSettings = getattr(settings, name)
        if _is_on(section):
            yield name, "default", section
        named: dict[str, object] = section.accounts  # type: ignore[attr-defined]  # each of the four has it
        for account, credentials in named.items():
            own = vars(credentials)  # with what it lacks: no account speaks with the key of another
            yield name, account, section.model_copy(update={**own, "accounts": {}})


def _is_on(section: ChannelSettings) -> bool:
    match section:
        case SlackSettings():
            return section.bot_token is not None
        case FeishuSettings():
            return section.app_id is not None
        case _:
            return getattr(section, "token", None) is not None
