"""The settings as people look them over: what is in force, and where it comes from; secrets stay hidden."""

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Final, Literal, NamedTuple, TypeAlias

from dotenv import dotenv_values
from pydantic import BaseModel, SecretStr, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from bot.errors import ConfigError
from bot.settings.base import Section
from bot.settings.loading import variable_name
from bot.settings.settings import PLAIN_NAMES, Settings

Origin: TypeAlias = Literal["default", "environment", "file"]  # file: bot.toml, or the command line

HIDDEN: Final = "••••••"
MAX_VALUE: Final = 200  # characters


class SettingLine(NamedTuple):
    """A setting with what is in force; `help` says what it is for."""

    variable: str
    value: str
    origin: Origin
    help: str


def settings_lines(settings: Settings, *, redact: Callable[[str], str] = str) -> list[SettingLine]:
    """Every setting, in the order of the class.

    Of what is kept by names (prices, APIs, accounts) only the names are told.

    Args:
        redact: Hides what stands in a value and is secret all the same, like a password in a URL.
    """
    named = {name.upper() for name in {**os.environ, **dotenv_values(".env")}}
    named |= {variable_name(f"openai.{name}") for plain, name in PLAIN_NAMES.items() if plain in named}
    return list(_lines(settings, "", named, redact))


def _lines(
    model: BaseModel, path: str, named: set[str], redact: Callable[[str], str]
) -> Iterator[SettingLine]:
    for name, field in type(model).model_fields.items():
        here, value = f"{path}{name}", getattr(model, name)
        if isinstance(value, Section):
            yield from _lines(value, f"{here}.", named, redact)
            continue
        variable = variable_name(here)
        origin: Origin = "default" if value == field.get_default(call_default_factory=True) else "file"
        if any(one == variable or one.startswith(f"{variable}__") for one in named):
            origin = "environment"
        yield SettingLine(variable, _shown(value, redact), origin, field.description or "")


def _shown(value: object, redact: Callable[[str], str]) -> str:
    match value:
        case None:
            return ""
        case SecretStr():
            return HIDDEN
        case bool():
            return str(value).lower()
        case tuple() | list() | frozenset() | Mapping():
            return redact(", ".join(map(str, value)))[:MAX_VALUE]
        case _:
            return redact(str(value))[:MAX_VALUE]


def check_setting(path: str, text: str) -> object:
    """Read what somebody has typed for a setting, as the settings themselves would.

    Args:
        path: Like `log.level`.

    Raises:
        ConfigError: It is no value for it.
    """
    field = _field(path)
    adapter: TypeAdapter[object] = TypeAdapter(Annotated[field.annotation, field])  # type: ignore[arg-type]  # known when it runs
    try:
        return adapter.validate_python(text)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]["msg"].removeprefix("Value error, ")
        raise ConfigError(f"{variable_name(path)}: {fault}") from error


def choices_of(path: str) -> tuple[str, ...]:
    """What a setting can be, where it can only be one of a few words."""
    annotation = _field(path).annotation
    if annotation is bool:
        return ("true", "false")
    words = getattr(annotation, "__args__", ()) if getattr(annotation, "__origin__", None) is Literal else ()
    return tuple(map(str, words))


def value_of(settings: Settings, path: str) -> str:
    """What a setting is, as one would type it."""
    value: object = settings
    for name in path.split("."):
        value = getattr(value, name)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _field(path: str) -> FieldInfo:
    model: type[BaseModel] = Settings
    *sections, leaf = path.split(".")
    for name in sections:
        annotation = model.model_fields[name].annotation
        assert isinstance(annotation, type)
        assert issubclass(annotation, BaseModel)
        model = annotation
    return model.model_fields[leaf]
