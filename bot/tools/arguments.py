"""Reads the arguments a model wrote, and says what is wrong with them so that it can mend them."""

import json
import math
import re
import reprlib
from collections.abc import Sequence
from typing import Any, NoReturn

from pydantic import ValidationError

from bot.tools.base import Arguments, Tool, ToolFault

MAX_CHARACTERS = 4_000_000
MAX_DEPTH = 64
MAX_FAULTS = 8
MAX_LINE = 300
PLAIN = (int, bool, type(None))
NEAR = 30  # characters shown before the place of a fault

_LONE = re.compile(r"[\ud800-\udfff]")
_short = reprlib.Repr()
_short.maxstring = _short.maxother = 80


def parse_arguments(tool: Tool, text: str) -> Arguments:
    """The validated arguments of a call, by name.

    Raises:
        ToolFault: Says where they are wrong, and what was expected.
    """
    values = _read_object(tool, text)
    return validate_arguments(tool, values if _is_plain(values) else _sound(values))


def validate_arguments(tool: Tool, values: Arguments) -> Arguments:
    """What a tool makes of values that are not text any more.

    Raises:
        ToolFault: Has a line for each value that does not fit.
    """
    try:
        # By its iterator: asked for its keys, as `dict` does, a model takes long to say that it has none.
        return dict(iter(tool.arguments.model_validate(values if type(values) is dict else dict(values))))
    except ValidationError as error:
        faults = error.errors(include_url=False, include_context=False)
        lines = [
            _describe(fault["type"], _path(fault["loc"]), fault["msg"], fault["input"])[:MAX_LINE]
            for fault in faults[:MAX_FAULTS]
        ]
        if len(faults) > MAX_FAULTS:
            lines.append(f"and {len(faults) - MAX_FAULTS} more")
        raise ToolFault(
            "\n".join([f"The arguments do not fit ({_expected(tool)}):", *lines])
        ) from None  # the error has the arguments in it, and they have no place in a log


def _describe(kind: str, path: str, message: str, value: object) -> str:
    match kind:
        case "missing":
            return f"{path}: is missing"
        case "extra_forbidden":
            return f"{path}: there is no such argument"
        case _:
            return f"{path}: {message.removeprefix('Value error, ')} (got {_short.repr(value)})"


def _read_object(tool: Tool, text: str) -> dict[str, Any]:  # `Any`: whatever JSON has
    if len(text) > MAX_CHARACTERS:
        raise ToolFault(f"The arguments are longer than {MAX_CHARACTERS:,} characters: send less at a time.")
    if not text.strip():
        return {}
    try:
        value = _decoder.decode(text)
    except json.JSONDecodeError as error:
        raise ToolFault(_malformed(error, tool)) from None
    except RecursionError:
        _refuse_depth()
    except ValueError:  # an integer of thousands of digits
        raise ToolFault("A number in the arguments is too long: send it as text.") from None
    if not isinstance(value, dict):
        kind = "null" if value is None else f"a {type(value).__name__}"
        raise ToolFault(f"The arguments must be one JSON object ({_expected(tool)}), not {kind}.")
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ToolFault(f"The arguments have {_short.repr(name)} twice in one object: send it once.")
        found[name] = value
    return found


_decoder = json.JSONDecoder(object_pairs_hook=_object)


def _malformed(error: json.JSONDecodeError, tool: Tool) -> str:
    text, end = error.doc, error.pos
    is_cut = end >= len(text.rstrip()) or error.msg.startswith("Unterminated string")
    if is_cut:
        return (
            f"The arguments end too soon, after {text.rstrip()[-NEAR:]!r}: they are no whole JSON object. "
            "Send them whole, or do it in smaller parts if they were too long."
        )
    place = f"line {error.lineno}, column {error.colno}"
    near = f", after {text[max(0, end - NEAR) : end]!r}" if end else ""
    return (
        f"The arguments are no valid JSON: {error.msg.removesuffix(' at')} at {place}{near}. "
        f"Send one JSON object ({_expected(tool)})."
    )


def _is_plain(values: dict[str, Any]) -> bool:
    """Whether there is nothing in it that `_sound` would change or refuse, as in most calls."""
    return all(
        name.isascii() and (value.isascii() if type(value) is str else type(value) in PLAIN)
        for name, value in values.items()
    )


def _sound(value: Any, path: Sequence[str | int] = ()) -> Any:
    """The value without what JSON has no word for, and without halves of characters, which break files."""
    if len(path) > MAX_DEPTH:
        _refuse_depth()
    match value:
        case float() if not math.isfinite(value):
            raise ToolFault(f"{_path(path)}: expected a number or null, got {value}")
        case str() if not value.isascii():
            return _LONE.sub("\N{REPLACEMENT CHARACTER}", value)
        case list():
            return [_sound(item, (*path, number)) for number, item in enumerate(value)]
        case dict():
            return {_sound(name): _sound(item, (*path, name)) for name, item in value.items()}
        case _:
            return value


def _refuse_depth() -> NoReturn:
    raise ToolFault(f"The arguments are nested more than {MAX_DEPTH} deep: make them flatter.") from None


def _path(place: Sequence[str | int]) -> str:
    """Where something stands: `files[0].name`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place)
    return text.removeprefix(".") or "arguments"


def _expected(tool: Tool) -> str:
    """The arguments in short: `path, limit?`."""
    fields = tool.arguments.model_fields.items()
    names = ", ".join(name if field.is_required() else f"{name}?" for name, field in fields)
    if names:
        return f"it takes {names}"
    return "it takes none" if tool.arguments.model_config.get("extra") == "forbid" else "by name"
