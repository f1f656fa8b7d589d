"""Markdown as Discord reads it: its own subset, which is never refused."""

import re
from functools import partial
from typing import Final

from channels.markup.tree import parse
from channels.markup.writer import Marks, quoted, without_fences, write

DEEPEST_HEADING: Final = 3
# What Discord shows as it is remains so: an underscore or a bar between letters, one tilde.
ESCAPED: Final = re.compile(r"\\|\*|`|(?<![^\W_])_|_(?![^\W_])|~(?=~)|(?<=~)~|\|(?=\|)|(?<=\|)\||\](?=\()")
BARE_LINK: Final = re.compile(r"(?<![A-Za-z0-9<])https?://[^\s<>\u3000-\u303f\uff00-\uff65]+")
TRAILING: Final = ".,:;!?'\"*_~`|\\"  # behind an address these end the sentence or the style
BRACKET: Final = re.compile(r"(?<!\\)[\[\]]")
QUOTE_MARK: Final = re.compile(r"^(?:> ?)+", re.MULTILINE)
STYLES: Final = {"strong": "**", "em": "*", "s": "~~"}


def _escape(text: str, *, link_previews: bool) -> str:
    """Let plain words be plain; addresses stay whole, and in angle brackets where previews are off."""
    parts, last = [], 0
    for found in BARE_LINK.finditer(text):
        url = _address(found[0])
        parts += [_escape_words(text[last : found.start()]), url if link_previews else f"<{url}>"]
        last = found.start() + len(url)
    return "".join([*parts, _escape_words(text[last:])])


def _escape_words(text: str) -> str:
    return ESCAPED.sub(r"\\\g<0>", text)


def _address(url: str) -> str:
    """An address without what ends the sentence; a bracket belongs to it that was opened in it."""
    while True:
        shorter = url.rstrip(TRAILING)
        for opening, closing in ("()", "[]"):
            if shorter.endswith(closing) and shorter.count(closing) > shorter.count(opening):
                shorter = shorter[:-1]
        if shorter == url:
            return url
        url = shorter


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


def _quote(text: str) -> str:
    """Begin every line with the mark; Discord knows no quotes within quotes."""
    return quoted(QUOTE_MARK.sub("", text))


def _marks(*, link_previews: bool) -> Marks:
    return Marks(
        escape=partial(_escape, link_previews=link_previews),
        style=lambda style, text: f"{STYLES[style]}{text}{STYLES[style]}",
        link=partial(_link, link_previews=link_previews),
        code_span=_code_span,
        code=_code,
        heading=_heading,
        quote=_quote,
        bullet="- ",
    )


PREVIEWS, NO_PREVIEWS = _marks(link_previews=True), _marks(link_previews=False)


def render(markdown: str, *, link_previews: bool = False) -> str:
    """The text for a message's `content`."""
    return write(parse(markdown), PREVIEWS if link_previews else NO_PREVIEWS)


def measure(markdown: str) -> int:
    """Characters of the rendered text."""
    return len(render(markdown))
