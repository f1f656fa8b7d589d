"""Makes a tool of a typed function: its signature is the schema, its docstring the description.

@tool
async def weather(city: str, days: int = 1) -> str:
    \"\"\"Tell the weather forecast.

    Args:
        city: In English, like "Paris".
        days: How far to look ahead, 1 to 7.
    \"\"\"
"""

import asyncio
import functools
import inspect
import re
from collections.abc import Callable
from typing import Annotated, Any, TypedDict, Unpack, get_type_hints, overload

import msgspec
from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema

from bot.agent.taint import Source
from bot.models.base import ToolSchema
from bot.tools.base import (
    EFFECTS,
    TOOL_SECONDS,
    ActsIf,
    Effect,
    Form,
    Handler,
    Place,
    Risk,
    Tool,
    ToolContext,
)

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")  # Source: OpenAI API reference, tools, `function.name`
ARGUMENT = re.compile(r"^(?P<indent>[ ]+)(?P<name>\w+)(?: \([^)]*\))?: (?P<help>.*)$")
SECTION = re.compile(r"^(Args|Arguments|Returns|Raises|Yields|Attributes):$")


class Options(TypedDict, total=False):
    """See the fields of the same names in `Tool`; without `effects` they follow from the risk."""

    name: str
    description: str
    group: str
    risk: Risk
    timeout: float
    is_idempotent: bool
    rounds: int
    is_waiting: bool
    effects: tuple[Effect, ...]
    source: Source
    place: Place
    acts_if: ActsIf
    says: tuple[str, ...]


class _Arguments(BaseModel):
    """The base of what a model has to write: nothing beside what the tool takes."""

    model_config = ConfigDict(extra="forbid")


class _PlainSchema(GenerateJsonSchema):
    """A JSON schema without titles: they say nothing that the names do not, and cost tokens each turn."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # `Any`: pydantic's own
        return False


def declare(function: Callable[..., Any], **options: Unpack[Options]) -> Tool:
    """Make a tool of a function or a bound method; one that is not async runs in a thread.

    Raises:
        ValueError: Its signature or its name can't be a tool's.
    """
    name = options.get("name", getattr(function, "__name__", ""))
    if NAME.fullmatch(name) is None:
        raise ValueError(f"tool {name!r}: a name has 1 to 64 of a-z, A-Z, 0-9, _ and -")
    description, helps = read_docstring(inspect.getdoc(function) or "")
    description = options.get("description", description)
    if not description:
        raise ValueError(f"tool {name!r}: it needs a docstring, for the model to know when to call it")
    fields, context_name = _fields(name, function, helps)

    @functools.cache
    def form() -> Form:
        arguments = create_model(name, __base__=_Arguments, **fields)  # type: ignore[call-overload]  # by name
        schema = arguments.model_json_schema(schema_generator=_PlainSchema)
        for noise in ("title", "description"):
            schema.pop(noise, None)
        parameters = msgspec.json.encode(schema)
        return Form(ToolSchema(name=name, description=description, parameters=parameters), arguments)

    risk = options.get("risk", "read")
    return Tool(
        name=name,
        form=form,
        handler=_as_handler(function),
        context_name=context_name,
        group=options.get("group", "other"),
        risk=risk,
        timeout=options.get("timeout", TOOL_SECONDS),
        is_idempotent=options.get("is_idempotent", False),
        rounds=options.get("rounds", 0),
        is_waiting=options.get("is_waiting", False),
        effects=frozenset(options.get("effects", EFFECTS[risk])),
        source=options.get("source", "tool"),
        place=options.get("place"),
        acts_if=options.get("acts_if"),
        says=options.get("says", ()),
    )


@overload
def tool(function: Callable[..., Any]) -> Tool: ...


@overload
def tool(**options: Unpack[Options]) -> Callable[[Callable[..., Any]], Tool]: ...


def tool(
    function: Callable[..., Any] | None = None, **options: Unpack[Options]
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """`declare` as a decorator, with or without options; types that no model can write are found at once."""

    def decorate(function: Callable[..., Any]) -> Tool:
        made = declare(function, **options)
        made.form()
        return made

    return decorate if function is None else decorate(function)


def _fields(
    name: str, function: Callable[..., Any], helps: dict[str, str]
) -> tuple[dict[str, tuple[Any, FieldInfo]], str | None]:
    """The model's fields, and the name of the parameter that takes the context."""
    hints = get_type_hints(function, include_extras=True)
    fields: dict[str, tuple[Any, FieldInfo]] = {}
    context_name = None
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise ValueError(f"tool {name!r}: parameter {parameter.name!r} has no name for the model to use")
        hint = hints.get(parameter.name)
        if hint is None:
            raise ValueError(f"tool {name!r}: parameter {parameter.name!r} needs a type")
        if hint is ToolContext:
            context_name = parameter.name
            continue
        default = ... if parameter.default is parameter.empty else parameter.default
        description = helps.get(parameter.name)
        fields[parameter.name] = (
            Annotated[hint, Field(description=description)] if description else hint,
            Field(default=default),
        )
    return fields, context_name


def _as_handler(function: Callable[..., Any]) -> Handler:
    if inspect.iscoroutinefunction(function):
        return function

    @functools.wraps(function)
    async def in_thread(**arguments: Any) -> Any:  # `Any`: the function's own
        return await asyncio.to_thread(function, **arguments)

    return in_thread


def read_docstring(text: str) -> tuple[str, dict[str, str]]:
    """The description, and what is said of each argument, in a docstring of the Google style."""
    lines = text.split("\n")
    begin = next((number for number, line in enumerate(lines) if SECTION.match(line)), len(lines))
    description = "\n".join(lines[:begin]).strip()
    helps: dict[str, str] = {}
    section, current, depth = "", "", 0
    for line in lines[begin:]:
        if head := SECTION.match(line):
            section = head[1]
        elif section not in ("Args", "Arguments") or not line.strip():
            continue
        elif (match := ARGUMENT.match(line)) and (not depth or len(match["indent"]) == depth):
            current, depth = match["name"], len(match["indent"])
            helps[current] = match["help"]
        elif current:
            helps[current] += f" {line.strip()}"
    return description, helps
