"""How Slack checks and shows texts and blocks.

Rules, all from docs.slack.dev: at most 50 blocks; a section's text has 3,000 characters, a header 150, a
button's label 75, its value 2,000, its action id 255 and no other like it in its row, a row 25 elements;
all markdown blocks of a message have 12,000 characters together; what is larger than about 13,200 is
refused whole (slackapi/bolt-js#2509).
"""

import html
import re
from collections.abc import Iterable, Mapping
from typing import Any

MARKDOWN_LIMIT = 12_000
WHOLE_LIMIT = 13_200
PING = re.compile(r"<!(channel|here|everyone)(?:\|[^<>]*)?>|<@([UW][A-Z0-9]+)(?:\|[^<>]*)?>")
CODE = re.compile(r"(```.*?(?:```|\Z)|`[^`\n]+`)", re.DOTALL)
ENTITY = re.compile(r"<([^<>\n|]+)(?:\|([^<>\n]+))?>")

Block = dict[str, Any]  # Block Kit, as it comes off the wire


class Wrong(Exception):
    """The word by which Slack refuses a call."""


def check_blocks(blocks: object) -> list[Block]:
    """Let blocks pass that Slack takes."""
    if not isinstance(blocks, list) or len(blocks) > 50:
        raise Wrong("invalid_blocks")
    for block in blocks:
        CHECKS.get(block.get("type", ""), _unknown)(block)
    markdown = sum(len(block["text"]) for block in blocks if block["type"] == "markdown")
    if markdown > MARKDOWN_LIMIT or sum(len(raw_text(block)) for block in blocks) > WHOLE_LIMIT:
        raise Wrong("msg_blocks_too_long")
    return blocks


def raw_text(block: Block) -> str:
    """What a block says, markup and all."""
    text = block.get("text", "")
    return str(text.get("text", "")) if isinstance(text, dict) else str(text)


def _unknown(_: Block) -> None:
    raise Wrong("invalid_blocks")


def _check_section(block: Block) -> None:
    text = block.get("text") or {}
    size = len(text.get("text", ""))
    if text.get("type") not in ("plain_text", "mrkdwn") or not 1 <= size <= 3_000:
        raise Wrong("invalid_blocks")


def _check_markdown(block: Block) -> None:
    if not isinstance(block.get("text"), str) or not block["text"]:
        raise Wrong("invalid_blocks")


def _check_actions(block: Block) -> None:
    elements = block.get("elements") or []
    ids = [element.get("action_id") for element in elements]
    if not 1 <= len(elements) <= 25 or len(set(ids)) != len(ids):
        raise Wrong("invalid_blocks")
    for element in elements:
        label = (element.get("text") or {}).get("text", "")
        sizes_fit = 1 <= len(label) <= 75 and len(element.get("value", "")) <= 2_000
        if element.get("type") != "button" or not sizes_fit or len(element.get("action_id", "")) > 255:
            raise Wrong("invalid_blocks")
        if element.get("style", "primary") not in ("primary", "danger"):
            raise Wrong("invalid_blocks")


CHECKS = {"section": _check_section, "markdown": _check_markdown, "actions": _check_actions}


def shown(text: str, blocks: Iterable[Block]) -> str:
    """What a person reads: the blocks, or the text where there are none."""
    parts = [_shown_block(block) for block in blocks if block["type"] != "actions"]
    return "\n".join(parts) if parts else shown_mrkdwn(text)


def _shown_block(block: Block) -> str:
    if block["type"] == "markdown":
        return shown_markdown(block["text"])
    if block["text"]["type"] == "mrkdwn":
        return shown_mrkdwn(block["text"]["text"])
    return str(block["text"]["text"])


def shown_markdown(text: str) -> str:
    """Markdown as a person reads it."""
    return "".join(
        _code(part) if index % 2 else _markdown_words(part) for index, part in enumerate(CODE.split(text))
    ).strip()


def _markdown_words(text: str) -> str:
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"(?m)^#{1,6}\s+", "", text)
    text = re.sub(r"(?<!\\)(\*\*|__|~~)(?=\S)(.+?)(?<=[^\s\\])\1", r"\2", text)
    text = re.sub(r"(?<![\\\w*])([*_])(?=[^\s*_])(.+?)(?<=[^\s\\])\1(?![\w*])", r"\2", text)
    text = re.sub(r"\\([\\`*_{}\[\]()#+\-.!<>~|&@])", r"\1", text)
    return html.unescape(_entities(text))


def shown_mrkdwn(text: str) -> str:
    """Slack's own markup as a person reads it."""
    return "".join(
        _code(part) if index % 2 else _mrkdwn_words(part) for index, part in enumerate(CODE.split(text))
    ).strip()


def _mrkdwn_words(text: str) -> str:
    text = re.sub(r"(?<!\w)([*_~])(?=\S)(.+?)(?<=\S)\1(?!\w)", r"\2", text)
    return html.unescape(_entities(text))


def _entities(text: str) -> str:
    return ENTITY.sub(lambda found: found[2] or found[1].removeprefix("!"), text)


def _code(text: str) -> str:
    if not text.startswith("```"):
        return html.unescape(text[1:-1])
    inner = text.removeprefix("```").removesuffix("```")
    first, newline, rest = inner.partition("\n")
    is_named = bool(newline) and re.fullmatch(r"[\w+#.-]*", first) is not None
    return html.unescape(rest if is_named else inner).strip("\n")


def pinged(text: str, blocks: Iterable[Block]) -> list[str]:
    """Whom a message notifies."""
    sources = [raw_text(block) for block in blocks if not _is_plain(block)] or [text]
    words = "".join(CODE.sub("", source) for source in sources)
    return ["everyone" if found[1] else found[2] for found in PING.finditer(words)]


def _is_plain(block: Block) -> bool:
    text = block.get("text")
    return isinstance(text, Mapping) and text.get("type") == "plain_text"


def labels(blocks: Iterable[Block]) -> list[str]:
    """What the buttons say."""
    return [
        element["text"]["text"]
        for block in blocks
        if block["type"] == "actions"
        for element in block["elements"]
    ]
