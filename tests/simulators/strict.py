"""What the strictest servers of the chat completions API demand of a prompt, said in their way.

Source: OpenAI API reference, Chat Completions, "Create", `messages`.
"""

from base64 import b64decode
from binascii import Error
from collections.abc import Iterator
from typing import Any

KEYS = {
    "system": {"role", "content"},
    "user": {"role", "content"},
    "assistant": {"role", "content", "tool_calls"},
    "tool": {"role", "content", "tool_call_id"},
}
BEGINNINGS = {
    "image/png": b"\x89PNG\r\n\x1a\n",
    "image/jpeg": b"\xff\xd8\xff",
    "image/gif": b"GIF8",
    "image/webp": b"RIFF",
}


def find_fault(messages: object) -> str | None:
    """What is wrong with a prompt; `None` for one that is accepted."""
    if not isinstance(messages, list):
        return "messages is no list"
    return next(_faults(messages), None)


def _faults(messages: list[Any]) -> Iterator[str]:
    awaited: list[str] = []
    for number, message in enumerate(messages):
        where = f"messages[{number}]"
        role = message.get("role")
        if role not in KEYS:
            yield f"{where}.role is {role!r}"
            continue
        if unknown := set(message) - KEYS[role]:
            yield f"{where} has unknown keys: {sorted(unknown)}"
        if role == "tool":
            if message.get("tool_call_id") not in awaited:
                yield f"{where} answers no call of the message before the results"
            else:
                awaited.remove(message["tool_call_id"])
        elif awaited:
            yield f"{where} comes before the results of {awaited}"
        if role == "assistant" and "tool_calls" in message:
            awaited = [call["id"] for call in message["tool_calls"]]
            yield from _call_faults(where, message["tool_calls"])
        yield from _content_faults(f"{where}.content", role, message.get("content"))
    if awaited:
        yield f"there are no results of {awaited}"


def _call_faults(where: str, calls: list[Any]) -> Iterator[str]:
    if not calls:
        yield f"{where}.tool_calls is empty"
    for call in calls:
        if set(call) != {"id", "type", "function"} or set(call["function"]) != {"name", "arguments"}:
            yield f"{where}.tool_calls has a call of another shape: {call}"


def _content_faults(where: str, role: str, content: object) -> Iterator[str]:
    if isinstance(content, str):
        return
    if not isinstance(content, list) or role != "user":
        yield f"{where} is no string"
    elif not content:
        yield f"{where} is empty"
    else:
        for part in content:
            yield from _part_faults(where, part)


def _part_faults(where: str, part: dict[str, Any]) -> Iterator[str]:
    match part:
        case {"type": "text", "text": str(text), **rest} if not rest:
            if not text.strip():
                yield f"{where} has an empty text"
        case {"type": "image_url", "image_url": {"url": str(url), **inner}, **rest} if not rest and not inner:
            mime, _, data = url.removeprefix("data:").partition(";base64,")
            try:
                begins = b64decode(data, validate=True)
            except Error:
                yield f"{where} has an image that is no base64"
                return
            if mime not in BEGINNINGS or not begins.startswith(BEGINNINGS[mime]):
                yield f"{where} has an image that is no {mime}"
        case _:
            yield f"{where} has a part of another shape"
