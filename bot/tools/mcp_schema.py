"""Foreign tools as ours: their names, descriptions and schemas, made valid and kept within bounds."""

import hashlib
import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeAlias

from pydantic import BaseModel, ConfigDict, model_validator

from bot.messages import Frozen
from bot.models.base import ToolSchema
from bot.tools.base import Arguments, Effect, Form, Risk, Tool, ToolOutput

MAX_NAME = 64  # Source: OpenAI API reference, tools, `function.name`
MAX_DESCRIPTION = 1_000
MAX_SCHEMA = 8_000  # bytes
HASH_DIGITS = 8
READS: frozenset[Effect] = frozenset(
    {"reads_private", "reads_untrusted"}
)  # mail, tickets, and who wrote them

RemoteCall: TypeAlias = Callable[[str, Arguments], Awaitable[ToolOutput]]


class RemoteTool(Frozen, frozen=True, kw_only=True):
    """A tool as its server describes it.

    Attributes:
        parameters: A JSON schema, encoded.
        is_reading: The server says that it changes nothing.
    """

    name: str
    description: str
    parameters: bytes
    is_reading: bool = False


class Shape(Frozen, frozen=True, kw_only=True):
    """What is looked at before a call is sent; the rest is the server's to judge.

    Attributes:
        known: The names of arguments; none where others may be given, too.
    """

    required: frozenset[str]
    known: frozenset[str] | None


class UnfitTool(ValueError):
    """A foreign tool that no model could be given; says why."""


def make_tool(server: str, remote: RemoteTool, call: RemoteCall, *, risk: Risk, timeout: float) -> Tool:
    """Make a tool that is called at its server.

    Raises:
        UnfitTool: Its schema is too long or not one of an object.
    """
    name = qualified_name(server, remote.name)
    parameters = read_schema(remote.parameters)

    async def handler(**arguments: Any) -> ToolOutput:  # `Any`: the server's own
        return await call(remote.name, arguments)

    schema = ToolSchema(
        name=name,
        description=printable(remote.description)[:MAX_DESCRIPTION].strip() or f"{name} of {server}.",
        parameters=encode_json(parameters),
    )
    form = Form(schema, arguments_model(name, parameters))
    return Tool(
        name=name,
        form=lambda: form,
        handler=handler,
        group=f"mcp:{server}",
        risk=risk,
        timeout=timeout,
        effects=READS if remote.is_reading else READS | {"acts"},
        source="mcp",
    )


def qualified_name(server: str, tool: str) -> str:
    """`server__tool`, with a hash of the tool's name where that is too long or has other signs.

    It depends on nothing but the two names, so that it stays the same whatever else the server offers.
    """
    plain = re.sub(r"[^a-zA-Z0-9_-]", "_", tool)
    name = f"{server}__{plain}"
    if plain == tool and tool and len(name) <= MAX_NAME:
        return name
    digest = hashlib.sha256(tool.encode("utf-8", "surrogatepass")).hexdigest()[:HASH_DIGITS]
    return f"{name[: MAX_NAME - HASH_DIGITS - 1]}_{digest}"


def printable(text: str) -> str:
    """Leave out what nobody sees, like escape sequences and the invisible letters that hide orders."""
    return "".join(sign for sign in text if sign.isprintable() or sign in "\n\t")


def read_schema(encoded: bytes) -> dict[str, Any]:  # `Any`: a JSON schema
    """Take a foreign schema, with the two keys that model providers insist on.

    Raises:
        UnfitTool: See `make_tool`.
    """
    if len(encoded) > MAX_SCHEMA:
        raise UnfitTool(f"its schema has {len(encoded):,} bytes, above {MAX_SCHEMA:,}")
    try:
        schema = _printable_values(json.loads(encoded, parse_constant=_refuse))
    except ValueError as error:
        raise UnfitTool(f"its schema can't be read: {error}") from error
    if not isinstance(schema, dict) or schema.get("type", "object") != "object":
        raise UnfitTool("its arguments are not an object")
    schema = {"type": "object", "properties": {}, **schema}
    if not isinstance(schema["properties"], dict):
        raise UnfitTool("its schema has properties that are not an object")
    return schema


def encode_json(value: object) -> bytes:
    """Encode what came as JSON, whatever numbers and halves of letters are in it, for which others stop."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _refuse(constant: str) -> object:
    raise ValueError(f"{constant} is no number")


def _printable_values(value: object) -> object:
    match value:
        case str():
            return printable(value)
        case dict():
            return {key: _printable_values(inner) for key, inner in value.items()}
        case list():
            return [_printable_values(inner) for inner in value]
        case _:
            return value


def arguments_model(name: str, schema: Mapping[str, Any]) -> type[BaseModel]:  # `Any`: a JSON schema
    """A model that takes any object with the names that the schema asks for."""
    shape = _shape(schema)

    class RemoteArguments(BaseModel):
        model_config = ConfigDict(extra="allow")

        @model_validator(mode="before")
        @classmethod
        def _has_the_names(cls, value: object) -> object:
            if isinstance(value, dict):
                _check(shape, value)
            return value

    RemoteArguments.__name__ = name
    return RemoteArguments


def _shape(schema: Mapping[str, Any]) -> Shape:
    required = schema.get("required")
    is_closed = schema.get("additionalProperties") is False and "patternProperties" not in schema
    return Shape(
        required=_texts(required) if isinstance(required, list) else frozenset(),
        known=_texts(list(schema["properties"])) if is_closed else None,
    )


def _texts(values: Sequence[object]) -> frozenset[str]:
    return frozenset(value for value in values if isinstance(value, str))


def _check(shape: Shape, given: Mapping[str, object]) -> None:
    if missing := shape.required - given.keys():
        raise ValueError(f"missing: {', '.join(sorted(missing))}")
    if shape.known is not None and (strange := given.keys() - shape.known):
        takes = ", ".join(sorted(shape.known)) or "no arguments"
        raise ValueError(f"unknown: {', '.join(sorted(strange))}; it takes {takes}")
