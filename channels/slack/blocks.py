"""What a message looks like, as Slack takes it."""

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

from bot.messages import Button
from channels.base import Content
from channels.markup.slack import guard_pings, render_mrkdwn
from channels.slack.forms import ACTION, value_of

Block: TypeAlias = dict[str, object]  # Block Kit, as the API takes it

# Source: docs.slack.dev. A `markdown` block takes 12,000 characters, a section 3,000, a button 75 of label
# and 2,000 of value, a row of them 25; the `text` of `chat.update` 4,000.
MAX_SIZE: Final = 11_500
SECTION: Final = 3_000
LABEL: Final = 75
MAX_BUTTONS: Final = 25
FALLBACK: Final = 3_900
FALLBACK_SOURCE: Final = 700  # of the Markdown: escaping makes five characters out of one
STYLES: Final = {"primary": "primary", "danger": "danger"}


def body(content: Content, *, allow_pings: bool) -> list[Block]:
    """The blocks of a whole message."""
    if content.is_plain:
        return [*_plain(content.text), *actions(content.buttons)]
    text = markdown(content, allow_pings=allow_pings)
    shown: list[Block] = [{"type": "markdown", "text": text}] if text.strip() else []
    return [*shown, *actions(content.buttons)]


def markdown(content: Content, *, allow_pings: bool) -> str:
    """The text for Markdown blocks and streams, which notify nobody unless they may."""
    return content.text if allow_pings else guard_pings(content.text)


def fallback(content: Content, *, allow_pings: bool) -> str:
    """The text of notifications and screen readers; what is longer than those need is left out."""
    if content.is_plain:
        return escape(content.text[:FALLBACK_SOURCE])[:FALLBACK]
    return render_mrkdwn(content.text[:FALLBACK_SOURCE], allow_pings=allow_pings)[:FALLBACK]


def actions(buttons: Sequence[Button]) -> list[Block]:
    """A row of buttons, where there are any."""
    if not buttons:
        return []
    elements = [_button(number, button) for number, button in enumerate(buttons[:MAX_BUTTONS])]
    return [{"type": "actions", "elements": elements}]


def escape(text: str) -> str:
    """Write a text so that Slack reads no entity into it."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _button(number: int, button: Button) -> Block:
    label = button.label if len(button.label) <= LABEL else button.label[: LABEL - 1] + "…"
    element: Block = {
        "type": "button",
        "action_id": f"{'press' if button.form is None else ACTION}{number}",
        "text": {"type": "plain_text", "text": label or "…", "emoji": True},
    }
    if button.url is not None:
        element["url"] = button.url
    elif button.value:
        element["value"] = button.value if button.form is None else value_of(button)
    if button.style in STYLES:
        element["style"] = STYLES[button.style]
    return element


def _plain(text: str) -> Iterator[Block]:
    """A text as it is. Sections, as `chat.update` takes no more than 4,000 characters outside of blocks."""
    for start in range(0, len(text), SECTION):
        piece = text[start : start + SECTION]
        if piece.strip():
            shown = {"type": "plain_text", "text": piece, "emoji": False}
            yield {"type": "section", "text": shown, "expand": True}
