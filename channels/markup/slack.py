"""Markdown as Slack writes it: mrkdwn, and real Markdown without anything that notifies people."""

import re
from typing import Final

from channels.markup.tree import parse
from channels.markup.writer import Marks, each_line, without_fences, write

PING: Final = re.compile(r"<(?=@[A-Z]|![a-ce-z])")  # not of a date, which notifies nobody
ALLOWED: Final = re.compile(r"&lt;([!@#][\w^|.-]+)&gt;")
STYLES: Final = {"strong": "*", "em": "_", "s": "~"}
JOINER: Final = "\u2060"  # between a bracket and what follows: to Slack no command any more, to people nothing


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _link(url: str, text: str) -> str:
    if not url.startswith(("http://", "https://", "mailto:")):
        return text
    target = _escape(url).replace("|", "%7C")
    words = text.replace("|", "¦").replace("\n", " ")
    return f"<{target}>" if text == _escape(url) else f"<{target}|{words}>"


def _code_span(text: str) -> str:
    return f"`{_escape(text.replace('`', 'ˋ'))}`"


def _code(text: str, _language: str) -> str:
    """A block of code; Slack knows no languages."""
    return f"```\n{_escape(without_fences(text))}\n```"


def _heading(_level: int, text: str) -> str:
    return text if "*" in text or not text else f"*{text}*"


MARKS = Marks(
    escape=_escape,
    style=lambda style, text: each_line(text, STYLES[style]),
    link=_link,
    code_span=_code_span,
    code=_code,
    heading=_heading,
    nests_quotes=False,
)


def render_mrkdwn(markdown: str, *, allow_pings: bool = False) -> str:
    """The text for a message's `text`.

    Args:
        allow_pings: Leave `<@U1>`, `<!here>` and the like as they are.
    """
    written = write(parse(markdown), MARKS)
    return ALLOWED.sub(r"<\1>", written) if allow_pings else written


def guard_pings(markdown: str) -> str:
    """Markdown for `markdown` blocks and streams in which nothing notifies anybody.

    What it gives for a longer text begins with what it gives for the beginning, but for two characters.
    """
    return PING.sub(f"<{JOINER}", markdown)


def measure(markdown: str) -> int:
    """Characters that a text takes at most, as mrkdwn or in a block."""
    return max(len(render_mrkdwn(markdown)), len(guard_pings(markdown)))
