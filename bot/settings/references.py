"""Settings that say `secret:<name>` instead of a secret: which they are, and the settings without them."""

import re
from collections.abc import Iterator, Mapping
from typing import Final, TypeVar

from pydantic import BaseModel, SecretStr, ValidationError

from bot.errors import ConfigError
from bot.settings.loading import variable_name
from bot.settings.settings import Settings

NAME: Final = re.compile(r"[a-z0-9]+([._-][a-z0-9]+)*")
REFERENCE: Final = re.compile(rf"((?:\S+ )?)secret:({NAME.pattern})")  # `Bearer secret:github`, too

ModelT = TypeVar("ModelT", bound=BaseModel)


def secrets_named_in(settings: Settings) -> dict[str, str]:
    """The secrets that settings name, each with the variable of a setting that does."""
    return {name: variable_name(place) for place, name in _references(settings, "")}


def with_secrets(settings: Settings, secrets: Mapping[str, str]) -> Settings:
    """The settings with the secrets in place of their names; what names none is left as it is.

    Raises:
        ConfigError: A secret is not there, or can't be what it is named for.
    """
    missing = [
        f"{variable} names the secret {name!r}, which is not there: python -m bot secret set {name}"
        for name, variable in secrets_named_in(settings).items()
        if name not in secrets
    ]
    if missing:
        raise ConfigError("The settings can't be used:\n" + "\n".join(f"  - {one}" for one in missing))
    changed = {
        field: filled
        for field in type(settings).model_fields
        if (filled := _filled(getattr(settings, field), secrets, field)) is not getattr(settings, field)
    }
    return settings.model_copy(update=changed) if changed else settings


def _references(value: object, place: str) -> Iterator[tuple[str, str]]:
    match value:
        case SecretStr():
            if (match := REFERENCE.fullmatch(value.get_secret_value())) is not None:
                yield place, match[2]
        case BaseModel():
            for field in type(value).model_fields:
                yield from _references(getattr(value, field), f"{place}.{field}" if place else field)
        case dict():
            for key, one in value.items():
                yield from _references(one, f"{place}.{key}")


def _filled(value: object, secrets: Mapping[str, str], place: str) -> object:
    match value:
        case SecretStr():
            match = REFERENCE.fullmatch(value.get_secret_value())
            return value if match is None else SecretStr(match[1] + secrets[match[2]])
        case BaseModel():
            return _filled_section(value, secrets, place)
        case dict():
            filled = {key: _filled(one, secrets, f"{place}.{key}") for key, one in value.items()}
            return filled if any(filled[key] is not value[key] for key in filled) else value
    return value


def _filled_section(section: ModelT, secrets: Mapping[str, str], place: str) -> ModelT:
    """A section anew, so that what is in the store passes the same checks as what stands in a file."""
    fields = {name: getattr(section, name) for name in type(section).model_fields}
    filled = {name: _filled(value, secrets, f"{place}.{name}") for name, value in fields.items()}
    if all(filled[name] is fields[name] for name in fields):
        return section
    try:
        return type(section).model_validate(filled)
    except ValidationError as error:  # not chained: it quotes what it was given
        faults = (fault["msg"] for fault in error.errors(include_url=False, include_input=False))
        text = f"{variable_name(place)} with its secrets: {'; '.join(faults)}"
    raise ConfigError(text)
