"""What every section of the settings is made of."""

from typing import Annotated, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, StringConstraints
from pydantic_settings import NoDecode

PREFIX = "BOT_"


def _split(value: object) -> object:
    """Take `a, b` for a list, as people write it into an environment variable."""
    if not isinstance(value, str):
        return value
    return tuple(part.strip() for part in value.split(",") if part.strip())


Names: TypeAlias = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)]


# Goes into sessions and paths, which have signs of their own.
AccountName: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+([_-][a-z0-9]+)*$")]


class Section(BaseModel):
    """A part of the settings; what it does not know, it refuses."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)
