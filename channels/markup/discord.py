"""Markdown as Discord reads it: its own subset, which is never refused."""

import re
from functools import partial
from typing import Final

from channels.markup.tree import parse
from channels.markup.writer import Marks, around_links, without_fences, write

DEEPEST_HEADING: Final = 3
# What Discord shows as it is remains so: an underscore or a bar between letters, one tilde.
ESCAPED: Final = re.compile(r"\\|\*|`|(?<![^\W_])_|_(?![^\W_])|~(?=~)|(?<=~)~|\|(?=\|)|(?<=\|)\||\](?=\()")
BRACKET: Final = re.compile(r"(?<!\\)[\[\]]")
LINE_START: Final = re.compile(r"( *)(?=#{1,3} |-# |>>> |> |- )")
STYLES: Final = {"strong": "**", "em": "*", "s": "~~"}


def _escape(text: str, *, link_previews: bool) -> str:
    """Let plain words be plain; addresses stay whole, and in angle brackets where previews are off."""
    return around_links(text, lambda words: ESCAPED.sub(r"\\\g<0>", words), str if link_previews else "<{}>".format)


def _link(url: str, text: str, *, link_previews: bool) -> str:
    """A link with words of its own; Discord shows no link whose words are an address themselves."""
    if not url.startswith(("http://", "https://")):
        return text
    target = url if link_previews else f"<{url}>"
    if text.strip("<>") == url:
        return target
    if "://" in text:
        return f"{text} ({target})"
    words = BRACKET.sub(r"\\\g<0>", text)
    return f"[{words}]({target})"


def _code_span(text: str) -> str:
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def _code(text: str, language: str) -> str:
    return f"```{language.replace('`', '')}\n{without_fences(text)}\n```"


def _heading(level: int, text: str) -> str:
    if not text.strip():
        return ""
    return f"{'#' * level} {text}" if level <= DEEPEST_HEADING else f"**{text}**"


def _guard(line: str) -> str:
    """A line of words that would be taken for a title, a quote or an item."""
    return LINE_START.sub(r"\1\\", line, count=1) if LINE_START.match(line) else line


def _marks(*, link_previews: bool) -> Marks:
    return Marks(
        escape=partial(_escape, link_previews=link_previews),
        style=lambda style, text: f"{STYLES[style]}{text}{STYLES[style]}",
        link=partial(_link, link_previews=link_previews),
        code_span=_code_span,
        code=_code,
        heading=_heading,
        guard=_guard,
        nests_quotes=False,
        bullet="- ",
    )


PREVIEWS, NO_PREVIEWS = _marks(link_previews=True), _marks(link_previews=False)


def render(markdown: str, *, link_previews: bool = False) -> str:
    """The text for a message's `content`."""
    return write(parse(markdown), PREVIEWS if link_previews else NO_PREVIEWS)


def measure(markdown: str) -> int:
    """Characters of the rendered text."""
    return len(render(markdown))
