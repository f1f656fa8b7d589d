"""Feishu's cards as its server checks them, and as people read them."""

import html
import json
import re
import time
from dataclasses import dataclass, field
from typing import Any

MAX_BYTES = 30 * 1024
MAX_TABLES = 5
TAGS = {
    "markdown",
    "div",
    "table",
    "hr",
    "button",
    "column_set",
    "column",
    "img",
    "note",
    "collapsible_panel",
}

# The codes of the error tables of cardkit-v1 (card, card-element) and im-v1/message.
BAD_CARD, TOO_LARGE, EMPTY = 200220, 200860, 300307
NO_CARD, EXPIRED, NOT_STREAMING, NO_ELEMENT, OUT_OF_ORDER = 200740, 200750, 300309, 300313, 300317
BAD_CONTENT, BAD_PARAMETER = 230099, 10002

AT = re.compile(r"<at\s+(?:id|user_id)\s*=\s*[\"']?([\w-]+)[\"']?\s*>(?:</at>)?", re.IGNORECASE)
FENCE = re.compile(
    r"^ {0,3}(`{3,}|~{3,})[^\n]*\n(.*?)(?:^ {0,3}\1[`~]*[ \t]*$\n?|\Z)", re.MULTILINE | re.DOTALL
)
INLINE = (
    (re.compile(r"!?\[([^\]\n]*)\]\([^)\s]*\)"), r"\1"),
    (re.compile(r"^#{1,6} +", re.MULTILINE), ""),
    (re.compile(r"\*\*(\S(?:[^\n]*?\S)?)\*\*"), r"\1"),
    (re.compile(r"(?<![\w*\\])\*(\S(?:[^*\n]*?\S)?)\*(?![\w*])"), r"\1"),
    (re.compile(r"(?<![\w_\\])_(\S(?:[^_\n]*?\S)?)_(?![\w_])"), r"\1"),
    (re.compile(r"~~(\S(?:[^\n]*?\S)?)~~"), r"\1"),
)
CODE = re.compile(r"(`+)(.+?)\1", re.DOTALL)
ESCAPED = re.compile(r"\\([\\`*_{}\[\]()#+\-.!~|<>&$])")


class Refused(Exception):  # an answer, not a failure
    """Feishu says no, with a code."""

    def __init__(self, code: int, message: str = "") -> None:
        super().__init__(message or str(code))
        self.code = code


@dataclass(slots=True, kw_only=True)
class Card:
    """A card entity; it grows while it streams, for at most ten minutes."""

    id: str
    data: dict[str, Any]
    sequence: int = 0
    message: str | None = None
    streams_until: float = 0.0
    made_at: float = field(default_factory=time.monotonic)

    @property
    def is_streaming(self) -> bool:
        return (
            bool(self.data.get("config", {}).get("streaming_mode")) and time.monotonic() < self.streams_until
        )


def read_card(data: str, *, refusal: int = BAD_CARD) -> dict[str, Any]:
    """Check a card as the server does; gives it parsed.

    Raises:
        Refused: It is too large, not of the form, has too many tables, or two elements of one id.
    """
    if len(data.encode()) > MAX_BYTES:
        raise Refused(TOO_LARGE if refusal == BAD_CARD else refusal, "card content exceeds limit")
    try:
        card = json.loads(data)
    except ValueError as error:
        raise Refused(refusal, "card is no JSON") from error
    if not isinstance(card, dict) or card.get("schema") != "2.0":
        raise Refused(refusal, "schema must be 2.0")
    if card.get("config", {}).get("update_multi") is False:
        raise Refused(300302, "update_multi property is false")
    elements = card.get("body", {}).get("elements")
    if not elements:
        raise Refused(EMPTY if refusal == BAD_CARD else refusal, "the card is empty")
    every = list(walk(elements))
    for element in every:
        _check_element(element, refusal)
    ids = [element["element_id"] for element in every if "element_id" in element]
    if len(ids) != len(set(ids)):
        raise Refused(refusal, "element_id is not unique")
    if sum(element["tag"] == "table" for element in every) > MAX_TABLES:
        raise Refused(refusal, "ErrCode: 11310; ErrMsg: card table number over limit")
    return card


def _check_element(element: dict[str, Any], refusal: int) -> None:
    tag = element.get("tag")
    if tag not in TAGS:
        raise Refused(refusal, f"unknown tag {tag!r}")
    if tag == "markdown" and not isinstance(element.get("content"), str):
        raise Refused(refusal, "markdown without content")
    if tag == "table":
        names = {column["name"] for column in element["columns"]}
        if not names or any(set(row) - names for row in element["rows"]):
            raise Refused(refusal, "a row of a table has other columns")
    identifier = element.get("element_id", "a")
    if not re.fullmatch(r"[A-Za-z]\w{0,19}", identifier):
        raise Refused(refusal, f"element_id {identifier!r}")


def walk(elements: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """All elements of a card, those inside others too."""
    found = []
    for element in elements:
        found.append(element)
        found += walk(element.get("elements", []))
        found += walk(element.get("columns", []) if element.get("tag") == "column_set" else [])
    return found


def card_text(card: dict[str, Any]) -> str:
    """What a person reads in a card; buttons are told apart."""
    parts = [_element_text(element) for element in card["body"]["elements"]]
    return "\n".join(part for part in parts if part).strip()


def _element_text(element: dict[str, Any]) -> str:
    match element["tag"]:
        case "markdown":
            return markdown_text(element["content"])
        case "div":
            return str(element.get("text", {}).get("content", ""))
        case "table":
            names = [column["name"] for column in element["columns"]]
            head = [str(column.get("display_name", "")) for column in element["columns"]]
            rows = [[str(row.get(name, "")) for name in names] for row in element["rows"]]
            return "\n".join(" | ".join(row) for row in [head, *rows])
        case _:
            return ""


def card_buttons(card: dict[str, Any]) -> list[dict[str, Any]]:
    """The buttons of a card, in order."""
    return [element for element in walk(card["body"]["elements"]) if element["tag"] == "button"]


def card_pings(card: dict[str, Any]) -> list[str]:
    """Whom a card notifies."""
    texts = [one["content"] for one in walk(card["body"]["elements"]) if one["tag"] == "markdown"]
    return ["everyone" if who == "all" else who for text in texts for who in AT.findall(text)]


def markdown_text(text: str) -> str:
    """Feishu's Markdown as it is read: markup resolved, entities too."""
    kept: list[str] = []

    def keep(shown: str) -> str:
        kept.append(shown)
        return f"\ue000{len(kept) - 1}\ue001"

    text = FENCE.sub(lambda match: keep(match[2].rstrip("\n")) + "\n", text)
    text = CODE.sub(lambda match: keep(match[2]), text)
    text = ESCAPED.sub(lambda match: keep(match[1]), text)
    text = AT.sub(lambda match: keep(f"@{match[1]}"), text)
    for pattern, shown in INLINE:
        text = pattern.sub(shown, text)
    text = html.unescape(text)
    return re.sub("\ue000(\\d+)\ue001", lambda match: html.unescape(kept[int(match[1])]), text).strip()
