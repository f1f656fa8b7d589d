"""Sections: what tools may reach on the network, and the APIs that they may call."""

import re
from typing import Annotated, Final, TypeAlias
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field, SecretStr, field_validator
from pydantic_settings import NoDecode

from bot.settings.base import Names, Section
from bot.web.hosts import parse_authority

READING: Final = frozenset({"GET", "HEAD"})
METHODS: Final = READING | {"POST", "PUT", "PATCH", "DELETE"}
HEADER_NAME: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")  # Source: RFC 9110, section 5.6.2, `token`
FRAMING: Final = frozenset({"host", "content-length", "transfer-encoding", "connection", "upgrade", "te"})


def _split(value: object) -> object:
    """Take `80, 443` for a list, as people write it into an environment variable."""
    if not isinstance(value, str):
        return value
    return tuple(part for part in value.replace(",", " ").split() if part)


Port: TypeAlias = Annotated[int, Field(ge=1, le=65535)]
Ports: TypeAlias = Annotated[tuple[Port, ...], NoDecode, BeforeValidator(_split)]


class NetworkSettings(Section):
    """What the tools that read the web may reach."""

    allow: Names = Field(
        default=(),
        description="Hosts to be reached though they are private, as host, or host:port for other ports.",
    )
    ports: Ports = Field(
        default=(), description="Ports to be reached on public hosts; default: 80, 443, 8080, 8443."
    )
    use_proxy: bool = Field(
        default=False,
        description="Go through the proxy of HTTP_PROXY and HTTPS_PROXY; it must refuse private addresses.",
    )

    @field_validator("allow")
    @classmethod
    def _are_hosts(cls, allow: tuple[str, ...]) -> tuple[str, ...]:
        for entry in allow:
            if parse_authority(entry) is None:
                raise ValueError(f"{entry!r} is not a host: write intranet.example, or 127.0.0.1:8080")
        return allow


class SearchSettings(Section):
    """Search on the web."""

    url: str | None = Field(
        default=None,
        pattern=r"^https?://[^/?#@]+[^?#]*$",
        description="A SearXNG server with JSON switched on; without it, public search engines are asked.",
    )


class ApiSettings(Section):
    """An API that the bot may call; what it sends along stays hidden from the model."""

    base_url: str = Field(
        pattern=r"^https?://[^\s?#@\\]+$",
        description="What every path is added to, like https://api.github.com; may be a private host.",
    )
    description: str = Field(
        default="", max_length=300, description="What it is good for; the model reads it."
    )
    headers: dict[str, SecretStr] = Field(
        default={}, description='Sent along, like {"Authorization": "Bearer …"}.'
    )
    query: dict[str, SecretStr] = Field(default={}, description='Added to the query, like {"api_key": "…"}.')
    methods: Names = Field(default=("GET",), description="HTTP methods that may be used; default: GET.")
    paths: Names = Field(
        default=("/*",),
        description="Paths that may be asked, after base_url; * is any text, slashes too; default: all.",
    )

    @field_validator("base_url")
    @classmethod
    def _has_host(cls, base_url: str) -> str:
        if parse_authority(urlsplit(base_url).netloc) is None:
            raise ValueError(f"{base_url!r} names no host")
        return base_url.rstrip("/")

    @field_validator("headers")
    @classmethod
    def _can_be_sent(cls, headers: dict[str, SecretStr]) -> dict[str, SecretStr]:
        for name, value in headers.items():
            if HEADER_NAME.fullmatch(name) is None or name.lower() in FRAMING:
                raise ValueError(f"{name!r} can't be a header here")
            if not value.get_secret_value().isprintable() or not value.get_secret_value().isascii():
                raise ValueError(f"the value of {name} has characters that a header can't have")
        return headers

    @field_validator("methods")
    @classmethod
    def _are_known(cls, methods: tuple[str, ...]) -> tuple[str, ...]:
        methods = tuple(method.upper() for method in methods)
        if unknown := set(methods) - METHODS:
            raise ValueError(f"{', '.join(sorted(unknown))}: only {', '.join(sorted(METHODS))} are known")
        return methods

    @field_validator("paths")
    @classmethod
    def _begin_at_base(cls, paths: tuple[str, ...]) -> tuple[str, ...]:
        for path in paths:
            if not path.startswith("/"):
                raise ValueError(f"{path!r} must begin with /")
        return paths
