"""Slack's markup in what people write, as plain text."""

import html
import re
from collections.abc import Mapping
from typing import Final

ENTITY: Final = re.compile(r"<([^<>\n]+)>")
MENTION: Final = re.compile(r"<@([UW][A-Z0-9]+)(?:\|[^<>]*)?>")


def mentions(text: str) -> tuple[str, ...]:
    """The ids of those whom a text names, in order, each once."""
    return tuple(dict.fromkeys(MENTION.findall(text)))


def plain_text(text: str, *, me: str, names: Mapping[str, str]) -> str:
    """Write out mentions, channels and links as a person reads them, and leave out our own mention.

    Args:
        names: What people are called, by id; who is missing stays an id.

    Source: docs.slack.dev, "Formatting message text", retrieving messages: what stands in angle brackets is
    an entity; `&`, `<` and `>` of the text itself come escaped.
    """
    shown = ENTITY.sub(lambda found: _shown(found[1], me, names), text)
    return html.unescape(shown).strip()


def _shown(entity: str, me: str, names: Mapping[str, str]) -> str:
    target, _, label = entity.partition("|")
    if target.startswith("@"):
        user = target[1:]
        return "" if user == me else "@" + (names.get(user) or label or user)
    if target.startswith("#"):
        return "#" + (label or target[1:])
    if target.startswith("!"):
        return label or "@" + target[1:].partition("^")[0]
    if not label or label in target:
        return target.removeprefix("mailto:").removeprefix("tel:")
    return f"{label} ({target})"
