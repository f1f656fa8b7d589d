"""Markdown as plain text that reads well."""

from channels.markup.tree import parse
from channels.markup.writer import Marks, quoted, write


def _link(url: str, text: str) -> str:
    return text if text == url or not url else f"{text} ({url})"


MARKS = Marks(
    escape=lambda text: text,
    style=lambda style, text: text,
    link=_link,
    code_span=lambda text: text,
    code=lambda text, language: text,
    heading=lambda level, text: text,
    quote=quoted,
)


def render(markdown: str) -> str:
    """The text without its markup."""
    return write(parse(markdown), MARKS)


def measure(markdown: str) -> int:
    """Characters of the rendered text."""
    return len(render(markdown))
