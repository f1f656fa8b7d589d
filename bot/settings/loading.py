"""Reads the settings, and tells all that is wrong with them at once; writes `.env.example`."""

import os
import re
from collections.abc import Iterator
from typing import get_args, get_origin

from dotenv import dotenv_values
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined
from pydantic_settings import SettingsError

from bot.errors import ConfigError
from bot.settings.base import PREFIX, Section
from bot.settings.settings import Settings


def load_settings(**overrides: object) -> Settings:
    """Read the settings.

    Args:
        overrides: What stands on the command line; ranks above all.

    Raises:
        ConfigError: Lists every unknown key, wrong value and contradiction.
    """
    try:
        faults = list(_unknown_variables())
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"The settings can't be used:\n  - .env can't be read: {error}") from error
    try:
        settings = Settings(**overrides)  # type: ignore[arg-type]  # checked by pydantic, not by mypy
    except ValidationError as error:
        faults += _describe(error)
    except SettingsError as error:  # BOT_WEB=text, where only BOT_WEB__PORT and the like are settings
        faults.append(str(error))
    except (OSError, ValueError) as error:  # a bot.toml that is no TOML, or not ours to read
        faults.append(f"bot.toml: {error}")
    except RecursionError:
        faults.append("bot.toml: it has too many brackets inside each other")
    if faults:
        raise ConfigError("The settings can't be used:\n" + "\n".join(f"  - {fault}" for fault in faults))
    return settings


def _unknown_variables() -> Iterator[str]:
    """The variables with our prefix that no setting reads: pydantic would pass over them in silence."""
    known = [_pattern(name) for name, *_ in walk_settings()]
    for name in sorted({**os.environ, **dotenv_values(".env")}):
        if name.upper().startswith(PREFIX) and not any(one.fullmatch(name.upper()) for one in known):
            yield f"{name} is not a setting (see .env.example)"


def _pattern(variable: str) -> re.Pattern[str]:
    """Matches a variable; `<NAME>` in it stands for any name of an account."""
    return re.compile(re.escape(variable).replace("<NAME>", "[A-Z0-9]+(_[A-Z0-9]+)*"))


def _describe(error: ValidationError) -> Iterator[str]:
    named = {name.lower() for name in {**os.environ, **dotenv_values(".env")}}  # told of already
    for fault in error.errors(include_url=False):
        place = ".".join(str(part) for part in fault["loc"])
        message = fault["msg"].removeprefix("Value error, ")
        if not place:
            yield from message.split("\n")
        elif fault["type"] != "extra_forbidden":
            yield f"{place} ({variable_name(place)}): {message}"
        elif variable_name(place).lower() not in named:
            yield f"{place} is not a setting (see .env.example)"


def variable_name(path: str) -> str:
    """The environment variable of a setting: `web.port` is `BOT_WEB__PORT`."""
    return PREFIX + path.upper().replace(".", "__")


def walk_settings(model: type[BaseModel] = Settings, path: str = "") -> Iterator[tuple[str, str, FieldInfo]]:
    """Every setting as (environment variable, section docstring, field), in the order of the class."""
    for name, field in model.model_fields.items():
        here = f"{path}{name}"
        if isinstance(field.annotation, type) and issubclass(field.annotation, Section):
            yield from walk_settings(field.annotation, f"{here}.")
        elif (account := _account_model(field)) is not None:
            yield from walk_settings(account, f"{here}.<name>.")
        else:
            yield variable_name(here), (model.__doc__ or "").strip().split("\n")[0], field


def _account_model(field: FieldInfo) -> type[Section] | None:
    """The section of one entry, where a setting maps names to sections."""
    if get_origin(field.annotation) is not dict:
        return None
    entry = get_args(field.annotation)[1]
    return entry if isinstance(entry, type) and issubclass(entry, Section) else None


def env_example() -> str:
    """The text of `.env.example`: every setting with its default, commented out."""
    lines = [
        "# Settings of the bot. Copy to .env and uncomment what you change; the same names work as",
        "# environment variables. bot.toml takes them too: BOT_WEB__PORT is port in [web].",
    ]
    section = ""
    for variable, title, field in walk_settings():
        if title != section:
            section = title
            lines += ["", f"# --- {title}"]
        lines += [f"# {field.description}", f"#{variable}={_example_value(field.default)}"]
    return "\n".join(lines) + "\n"


def _example_value(default: object) -> str:
    if default is None or default is PydanticUndefined or default in ((), {}):
        return ""
    if isinstance(default, tuple):
        return ",".join(map(str, default))
    return str(default).lower() if isinstance(default, bool) else str(default)
