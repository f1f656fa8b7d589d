"""Markdown as Discord reads it: its own subset, which is never refused."""

import re
from functools import partial
from typing import Final

from channels.markup.addresses import around_links
from channels.markup.tree import parse
from channels.markup.writer import Marks, without_fences, write

DEEPEST_HEADING: Final = 3
# What Discord shows as it is remains so: an underscore or a bar between letters, one tilde.
# So do a backslash before a letter and a star between blanks.
ESCAPED: Final = re.compile(
    r"\\(?=[^\w\s]|\Z)|\*(?=\S|\Z)|(?<=\S)\*|`|(?<![^\W_])_|_(?![^\W_])|~(?=~)|(?<=~)~|\|(?=\|)|(?<=\|)\||\](?=\()"
)
BLOCK_MARK: Final = re.compile(r"\s*(?:#{1,3} |-# |>>> |> |[-*] )")
LANGUAGE: Final = re.compile(r"[\w+#.-]{1,20}")
BRACKET: Final = re.compile(r"(?<!\\)[\[\]]")
STYLES: Final = {"strong": "**", "em": "*", "s": "~~"}


def _escape(text: str, *, link_previews: bool) -> str:
    """Let plain words be plain; addresses stay whole, and in angle brackets where previews are off."""
    return around_links(text, _escape_words, str if link_previews else "<{}>".format)


def _escape_words(text: str) -> str:
    return ESCAPED.sub(r"\\\g<0>", text)


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
    return f"[{words}]({target.replace('(', '%28').replace(')', '%29')})"


def _code_span(text: str) -> str:
    text = text.replace("``", "`\u200b`")
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def _code(text: str, language: str) -> str:
    known = LANGUAGE.fullmatch(language)
    return f"```{known[0] if known else ''}\n{without_fences(text)}\n```"


def _heading(level: int, text: str) -> str:
    if not text.strip():
        return ""
    return f"{'#' * level} {text}" if level <= DEEPEST_HEADING else f"**{text}**"


def _guard(line: str) -> str:
    """Escape a line that Discord would take for a title, a quote or an item."""
    words = line.lstrip()
    return line if BLOCK_MARK.match(line) is None else f"{line[: len(line) - len(words)]}\\{words}"


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
