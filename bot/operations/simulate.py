"""`simulate`: the bot on four simulated platforms, and a page that shows their chats side by side."""

from importlib import import_module
from pathlib import Path
from types import ModuleType

from pydantic import SecretStr

from bot.errors import ConfigError
from bot.operations.terminal import run_loop
from bot.settings import PREFIX, ChannelSettings, Settings, load_settings, walk_settings
from bot.telemetry import set_up_logging

STUDIO = "tests.simulators.studio"
OWN = ("home", "public_url", "web")  # what the studio sets itself
OPEN = {  # whoever plays Ann or Bob is known; `/admin access pairing` shows how it is for others
    "BOT_ACCESS__MODE": "open",
    "BOT_ACCESS__STRANGERS": "member",
}
PLATFORMS = ("telegram", "discord", "slack", "feishu")


def simulate(port: int, home: Path | None, platforms: str) -> int:
    """`simulate`: run until a signal; the settings hold, but for data, web server and accounts.

    Args:
        home: A new directory for the data, which stays; by default they are gone at the end.
        platforms: Names, separated by commas.
    """
    settings = load_settings()
    names = tuple(dict.fromkeys(name.strip() for name in platforms.split(",") if name.strip()))
    if not names or set(names) - set(PLATFORMS):
        raise ConfigError(f"--platforms {platforms!r}: name some of {','.join(PLATFORMS)}")
    if home is not None and (home.is_file() or (home.is_dir() and any(home.iterdir()))):
        raise ConfigError(
            f"--home {str(home)!r} is not empty: name a new directory, as the simulated platforms "
            "know nothing of what was said in an earlier run"
        )
    studio = _load_studio()
    set_up_logging(settings.log.level, settings.log.format)
    code: int = run_loop(
        studio.serve(
            {**OPEN, **variables(settings)},
            port=port,
            home=home,
            platforms=names,
            models=settings.data_dir / "models",
        )
    )
    return code


def _load_studio() -> ModuleType:
    try:
        return import_module(STUDIO)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "tests":
            raise
        raise ConfigError(
            "simulate needs the simulators, which an installed package does not have: get a checkout of the "
            "source and run `python -m bot simulate` there"
        ) from error


def variables(settings: Settings) -> dict[str, str]:
    """The settings as environment variables, without what leads to real platforms and real data."""
    found = {}
    for name, _, field in walk_settings():
        path = name.removeprefix(PREFIX).lower().split("__")
        if "<" in name or path[0] in OWN or (path[0] in PLATFORMS and not _is_shared(path[-1])):
            continue
        value: object = settings
        for part in path:
            value = getattr(value, part)
        if value is not None and value != field.default:
            found[name] = _as_text(value)
    return found


def _is_shared(field: str) -> bool:
    """Whether a platform's setting is one of those that have nothing to do with its accounts."""
    return field in ChannelSettings.model_fields


def _as_text(value: object) -> str:
    match value:
        case SecretStr():
            return value.get_secret_value()
        case Path():
            return str(value.expanduser().absolute())
        case bool():
            return str(value).lower()
        case tuple():
            return ",".join(str(one) for one in value)
        case _:
            return str(value)
