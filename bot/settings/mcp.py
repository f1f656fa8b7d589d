"""Sections: the MCP servers whose tools the model may call."""

import re
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import Field, SecretStr, StringConstraints, field_validator, model_validator

from bot.settings.base import Names, Section

HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")  # Source: RFC 9110, section 5.6.2

# Begins the names of the server's tools, which have 64 signs together.
McpName: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+([_-][a-z0-9]+)*$", max_length=24)]


class McpServerSettings(Section):
    """One MCP server."""

    command: str | None = Field(
        default=None, min_length=1, description="Program to start; it talks over stdio."
    )
    args: tuple[str, ...] = Field(
        default=(), description='Arguments of the program: ["--root", "/srv/files"]'
    )
    env: dict[str, SecretStr] = Field(
        default={}, description="Variables of the program, beside PATH, HOME and the like; it gets no others."
    )
    url: str | None = Field(
        default=None, pattern=r"^https?://[^/]", description="Address of a server that runs elsewhere."
    )
    headers: dict[str, SecretStr] = Field(
        default={}, description='Sent to the address with each request: {"Authorization": "Bearer …"}'
    )
    transport: Literal["stdio", "http", "sse"] | None = Field(
        default=None, description="Default: stdio for a command; for a URL http, then sse."
    )
    tools: Names = Field(default=("*",), description="Which of its tools to offer: read_*,search")
    timeout: float = Field(default=30, gt=0, le=3_600, description="Seconds for one call.")
    is_enabled: bool = Field(default=True, description="Connect to it.")
    risk: Literal["read", "write", "exec", "network", "send"] = Field(
        default="network", description="The most that its tools can do; decides about approvals."
    )

    @field_validator("headers")
    @classmethod
    def _can_be_sent(cls, headers: dict[str, SecretStr]) -> dict[str, SecretStr]:
        for name, value in headers.items():
            if HEADER_NAME.fullmatch(name) is None or not value.get_secret_value().isprintable():
                raise ValueError(
                    f"{name!r} can't be a header with this value: both are one line of plain signs"
                )
        return headers

    @field_validator("env")
    @classmethod
    def _can_be_set(cls, env: dict[str, SecretStr]) -> dict[str, SecretStr]:
        for name, value in env.items():
            if not name or "=" in name or "\0" in name + value.get_secret_value():
                raise ValueError(f"{name!r} can't be a variable with this value")
        return env

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if (self.command is None) == (self.url is None):
            raise ValueError("an MCP server has either a command or a url")
        if self.transport is not None and (self.transport == "stdio") != (self.command is not None):
            raise ValueError("transport stdio goes with a command, http and sse go with a url")
        if self.command is None and (self.args or self.env):
            raise ValueError("args and env go with a command")
        if self.url is None and self.headers:
            raise ValueError("headers go with a url")
        return self
