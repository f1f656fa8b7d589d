"""The bot's own secrets: every `SecretStr` of the settings."""

from collections.abc import Iterator, Mapping

from pydantic import BaseModel, SecretStr


def secret_values(value: object) -> Iterator[str]:
    """All secrets in settings, in sections, lists and tables of any depth."""
    if isinstance(value, SecretStr):
        yield value.get_secret_value()
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from secret_values(getattr(value, name))
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from secret_values(one)
    elif isinstance(value, tuple | list | set | frozenset):
        for one in value:
            yield from secret_values(one)
