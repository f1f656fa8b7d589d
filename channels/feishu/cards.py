"""Answers as cards, in Feishu's card JSON 2.0."""

import json
from typing import Final

from bot.messages import Address, Button
from channels.base import Content
from channels.markup import feishu

# Source: open.feishu.cn, im-v1/message/create: the body of a request with a card has up to 30 KB.
MAX_BODY: Final = 30 * 1024
RESERVED: Final = 6 * 1024  # of it, for what is not text: the frame, ids, and the buttons
MAX_BUTTONS: Final = 10
ANSWER: Final = "answer"  # `element_id` of the element that grows
MAX_SUMMARY: Final = 60  # characters; what the list of chats shows
WAITING: Final = "…"  # an element that grows must not be empty
STYLES: Final = {"primary": "primary", "secondary": "default", "danger": "danger"}


def card_of(content: Content, address: Address) -> str:
    """The card that shows a message, growing or final."""
    if content.is_plain:
        elements = [_plain(content.text)]
    elif content.is_final:
        elements = feishu.render(content.text)
    else:
        elements = [{"tag": "markdown", "element_id": ANSWER, "content": growing_text(content.text)}]
    config: dict[str, object] = {"update_multi": True, "streaming_mode": not content.is_final}
    if content.is_final:
        config["summary"] = {"content": _summary(content.text)}
        elements = [*elements, *_buttons(content.buttons, address)]
    return _encode({"schema": "2.0", "config": config, "body": {"elements": elements}})


def card_message(card: str) -> str:
    """The content of a message that shows a card which was made before."""
    return _encode({"type": "card", "data": {"card_id": card}})


def growing_text(text: str) -> str:
    """A text that grows, as the one element that can: tables come as such at the end only."""
    return "\n".join(_as_lines(element) for element in feishu.render(text)) or WAITING


def _as_lines(element: dict[str, object]) -> str:
    """The Markdown of an element; of a table, its cells."""
    match element:
        case {"tag": "table", "columns": list(columns), "rows": list(rows)}:
            head = [str(column["display_name"]) for column in columns]
            cells = [[str(cell) for cell in row.values()] for row in rows]
            lines = "\n".join(" | ".join(line).replace("`", "ˋ") for line in [head, *cells])
            return f"```plain_text\n{lines}\n```"
        case _:
            return str(element.get("content", ""))


def measure(text: str) -> int:
    """How many bytes a Markdown text takes in the body of a request: as JSON inside a JSON string."""
    return len(_encode(_encode(feishu.render(text))).encode())


def _encode(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _plain(text: str) -> dict[str, object]:
    return {"tag": "div", "text": {"tag": "plain_text", "content": text}}


def _summary(text: str) -> str:
    line = " ".join(text.replace("`", "").replace("*", "").split())
    return line if len(line) <= MAX_SUMMARY else f"{line[: MAX_SUMMARY - 1]}…"


def _buttons(buttons: tuple[Button, ...], address: Address) -> list[dict[str, object]]:
    """Buttons side by side, as many as fit in a line."""
    if not buttons:
        return []
    columns = [
        {"tag": "column", "width": "auto", "elements": [_button(button, address)]} for button in buttons
    ]
    return [{"tag": "column_set", "flex_mode": "flow", "columns": columns}]


def _button(button: Button, address: Address) -> dict[str, object]:
    """One button; its value says where it is, for Feishu does not (`parse.PressValue`)."""
    behavior: dict[str, object]
    if button.url is not None:
        behavior = {"type": "open_url", "default_url": button.url}
    else:
        place = {"thread": address.thread} if address.thread is not None else {}
        value = {"value": button.value, "is_direct": address.is_direct, **place}
        behavior = {"type": "callback", "value": value}
    return {
        "tag": "button",
        "text": {"tag": "plain_text", "content": button.label},
        "type": STYLES[button.style],
        "behaviors": [behavior],
    }
