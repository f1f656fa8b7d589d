"""Markdown as Slack writes it: mrkdwn, and real Markdown without anything that notifies people."""

import re

from channels.markup.tree import parse
from channels.markup.writer import Marks, quoted, without_fences, write

PING = re.compile(r"<(?=[!@#])")
STYLES = {"strong": "*", "em": "_", "s": "~"}
JOINER = "\u2060"  # between a bracket and what follows: to Slack it is no command any more, to people nothing


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _style(style: str, text: str) -> str:
    mark = STYLES[style]
    inner = text.strip()
    before, after = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
    return f"{before}{mark}{inner}{mark}{after}"


def _link(url: str, text: str) -> str:
    if not url.startswith(("http://", "https://", "mailto:")):
        return text
    target = _escape(url).replace("|", "%7C")
    return f"<{target}>" if text == _escape(url) else f"<{target}|{text.replace('|', '¦')}>"


def _code_span(text: str) -> str:
    return f"`{_escape(text.replace('`', 'ˋ'))}`"


def _code(text: str, language: str) -> str:
    return f"```\n{_escape(without_fences(text))}\n```"


MARKS = Marks(
    escape=_escape,
    style=_style,
    link=_link,
    code_span=_code_span,
    code=_code,
    heading=lambda level, text: f"*{text}*" if "*" not in text else text,
    quote=lambda text: quoted(text, "> "),
)


def render_mrkdwn(markdown: str, *, allow_pings: bool = False) -> str:
    """The text for a message's `text`.

    Args:
        allow_pings: Leave `<@U1>`, `<!here>` and the like as they are.
    """
    written = write(parse(markdown), MARKS)
    return re.sub(r"&lt;([!@#][\w^|.-]+)&gt;", r"<\1>", written) if allow_pings else written


def guard_pings(markdown: str) -> str:
    """Markdown for `markdown` blocks and streams in which nothing notifies anybody."""
    return PING.sub(f"<{JOINER}", markdown)


def measure(markdown: str) -> int:
    """Characters that a text takes at most, as mrkdwn or in a block."""
    return max(len(render_mrkdwn(markdown)), len(guard_pings(markdown)))
