"""Markdown as Discord reads it: its own subset, which is never refused."""

import re
from functools import partial

from channels.markup.tree import parse
from channels.markup.writer import Marks, quoted, without_fences, write

BARE_LINK = re.compile(r"(?<![<(\[])\bhttps?://[^\s<>)\]]+")
DEEPEST_HEADING = 3
ESCAPED = re.compile(r"([\\*_~`|])")
STYLES = {"strong": "**", "em": "*", "s": "~~"}
LINE_MARKS = re.compile(r"^(#{1,3} |> |- |\d+\. )", re.MULTILINE)


def _escape(text: str, *, link_previews: bool) -> str:
    """Let plain words be plain; addresses stay whole, and in angle brackets where previews are off."""
    parts, last = [], 0
    for found in BARE_LINK.finditer(text):
        parts.append(ESCAPED.sub(r"\\\1", text[last : found.start()]))
        parts.append(found[0] if link_previews else f"<{found[0]}>")
        last = found.end()
    parts.append(ESCAPED.sub(r"\\\1", text[last:]))
    return "".join(parts)


def _style(style: str, text: str) -> str:
    mark = STYLES[style]
    return f"{mark}{text}{mark}"


def _link(url: str, text: str, *, link_previews: bool) -> str:
    if not url.startswith(("http://", "https://")):
        return text
    if text.strip("<>") == url:
        return url if link_previews else f"<{url}>"
    return f"[{text}]({url})" if link_previews else f"[{text}](<{url}>)"


def _code_span(text: str) -> str:
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def _code(text: str, language: str) -> str:
    return f"```{language}\n{without_fences(text)}\n```"


def _heading(level: int, text: str) -> str:
    return f"{'#' * level} {text}" if level <= DEEPEST_HEADING else f"**{text}**"


def _marks(*, link_previews: bool) -> Marks:
    return Marks(
        escape=partial(_escape, link_previews=link_previews),
        style=_style,
        link=partial(_link, link_previews=link_previews),
        code_span=_code_span,
        code=_code,
        heading=_heading,
        quote=lambda text: quoted(LINE_MARKS.sub(_unquote, text)),
        bullet="- ",
    )


def _unquote(found: re.Match[str]) -> str:
    """Discord knows no quotes within quotes."""
    return "" if found[0] == "> " else found[0]


PREVIEWS, NO_PREVIEWS = _marks(link_previews=True), _marks(link_previews=False)


def render(markdown: str, *, link_previews: bool = False) -> str:
    """The text for a message's `content`."""
    return write(parse(markdown), PREVIEWS if link_previews else NO_PREVIEWS)


def measure(markdown: str) -> int:
    """Characters of the rendered text."""
    return len(render(markdown))
