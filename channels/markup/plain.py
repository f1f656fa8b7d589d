"""Markdown as plain text that reads well."""

from channels.markup.tree import parse
from channels.markup.writer import Marks, write


def _link(url: str, text: str) -> str:
    return text if url in (text, f"mailto:{text}") else f"{text} ({url})"


MARKS = Marks(
    escape=str,
    style=lambda _style, text: text,
    link=_link,
    code_span=str,
    code=lambda text, _language: text,
    heading=lambda _level, text: text,
    moves_code=True,
)


def render(markdown: str) -> str:
    """The text without its markup."""
    return write(parse(markdown), MARKS)


def measure(markdown: str) -> int:
    """Characters of the rendered text."""
    return len(render(markdown))
