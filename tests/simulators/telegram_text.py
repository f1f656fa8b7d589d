"""What Telegram says to texts and their entities, and what it finds in those that people write.

Rules: a text has 1-4096 UTF-16 units and a caption 0-1024, counted as entities are (Bot API, sendMessage,
sendPhoto); white space around a text is cut off; an entity lies within the text, between whole characters,
and inside of another one or beside it (tdlib, `MessageEntity.cpp`); nothing stands inside of code.
"""

import re
from typing import Any

from telegram.constants import MessageEntityType, MessageLimit

Entity = dict[str, Any]  # as it goes over the wire

TYPES = {entity.value for entity in MessageEntityType}
CODE = {"code", "pre"}
FOUND = re.compile(r"(?P<bot_command>(?<!\S)/\w{1,64}(?:@\w+)?)|(?P<mention>(?<![\w@])@\w{3,32})")


class Refused(Exception):
    """Telegram said no; the text is its description, behind `Bad Request: `."""

    def __init__(self, text: str, *, status: int = 400, **parameters: object) -> None:
        super().__init__(text)
        self.status = status
        self.parameters = parameters


def utf16(text: str) -> int:
    """How long a text is for Telegram."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def check_text(text: str, entities: list[Entity]) -> tuple[str, list[Entity]]:
    """Take the text of a message; gives it trimmed, with entities that fit."""
    checked = _check_entities(text, entities)
    if not text.strip():
        raise Refused("message text is empty")
    cut = len(text) - len(text.lstrip())
    trimmed = text.strip()
    if utf16(trimmed) > MessageLimit.MAX_TEXT_LENGTH:
        raise Refused("message is too long")
    return trimmed, _moved(checked, utf16(text[:cut]), utf16(trimmed))


def check_draft(text: str, entities: list[Entity]) -> str:
    """Take the text of a draft, which may be empty."""
    _check_entities(text, entities)
    if utf16(text.strip()) > MessageLimit.MAX_TEXT_LENGTH:
        raise Refused("message is too long")
    return text.strip()


def check_caption(text: str) -> str:
    """Take the caption of a file."""
    if utf16(text) > MessageLimit.CAPTION_LENGTH:
        raise Refused("message caption is too long")
    return text


def find_entities(text: str) -> list[Entity]:
    """What Telegram itself finds in a text: names and commands."""
    return [
        {"type": match.lastgroup, "offset": utf16(text[: match.start()]), "length": utf16(match[0])}
        for match in FOUND.finditer(text)
    ]


def pinged(text: str) -> list[str]:
    """Whom the text of a bot calls by name."""
    return [match[0].removeprefix("@") for match in FOUND.finditer(text) if match.lastgroup == "mention"]


def _check_entities(text: str, entities: list[Entity]) -> list[Entity]:
    size, borders = utf16(text), _borders(text)
    open_ones: list[tuple[int, str]] = []
    ordered = sorted(entities, key=lambda one: (one["offset"], -one["length"]))
    for entity in ordered:
        begin, end = entity["offset"], entity["offset"] + entity["length"]
        if entity["type"] not in TYPES:
            raise Refused("can't parse MessageEntity: Unsupported type specified")
        if begin < 0 or entity["length"] < 0:
            raise Refused(f"receive an entity with incorrect offset {begin}")
        while open_ones and open_ones[-1][0] <= begin:
            open_ones.pop()
        if end > size or (open_ones and end > open_ones[-1][0]):
            behind = f"ends after the end of the text at UTF-16 offset {end}"
            raise Refused(f"entity beginning at UTF-16 offset {begin} {behind}")
        if begin not in borders or end not in borders:
            raise Refused(f"entity begins in a middle of a UTF-16 symbol at offset {begin}")
        if entity["type"] == "text_link" and "." not in entity.get("url", ""):
            raise Refused(f"entity URL '{entity.get('url', '')}' is invalid: Wrong HTTP URL")
        open_ones.append((end, entity["type"]))
    return [one for one in ordered if one["length"] and not _is_in_code(one, ordered)]


def _borders(text: str) -> set[int]:
    """Where characters begin and end."""
    borders, at = {0}, 0
    for letter in text:
        at += 2 if letter > "\uffff" else 1
        borders.add(at)
    return borders


def _is_in_code(entity: Entity, entities: list[Entity]) -> bool:
    return any(
        other is not entity
        and other["type"] in CODE
        and other["offset"] <= entity["offset"]
        and other["offset"] + other["length"] >= entity["offset"] + entity["length"]
        for other in entities
    )


def _moved(entities: list[Entity], cut: int, size: int) -> list[Entity]:
    moved = []
    for entity in entities:
        begin = max(0, entity["offset"] - cut)
        end = min(size, entity["offset"] + entity["length"] - cut)
        if begin < end:
            moved.append({**entity, "offset": begin, "length": end - begin})
    return moved
