"""Markdown as Slack writes it: mrkdwn, and real Markdown without anything that notifies people."""

import re
from typing import Final

from channels.markup.tree import parse
from channels.markup.writer import Marks, without_fences, write

# What calls people: `<@U1>`, `<!here>`, `<!subteam^S1>`. HTML's comments and its doctype are not touched. Two
# characters tell, so that a text which grows is not guarded in another way later.
PING: Final = re.compile(r"<(?=@[A-Z]|![a-ce-z])")
ALLOWED: Final = re.compile(r"&lt;([!@#][\w^|.-]+)&gt;")
STYLES: Final = {"strong": "*", "em": "_", "s": "~"}
JOINER: Final = "\u2060"  # between a bracket and what follows: no command to Slack, nothing to people
BORDER: Final = "\u200b"  # between a mark and a letter; without it, Slack shows the mark
BEGIN, END = "\ue000", "\ue001"  # around what is marked, until it is known what stands next to it
TOUCHING: Final = re.compile(rf"(?<=\w){BEGIN}|{END}(?=\w)")
EDGE: Final = re.compile(f"[{BEGIN}{END}]")


def _escape(text: str) -> str:
    return EDGE.sub("", text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _style(style: str, text: str) -> str:
    return "\n".join(_marked(line, STYLES[style]) for line in text.split("\n"))


def _marked(line: str, mark: str) -> str:
    """A line in a style, which ends with the line; white space stays outside."""
    words = line.strip()
    if not words:
        return line
    before, _, after = line.partition(words)
    return f"{before}{BEGIN}{mark}{words}{mark}{END}{after}"


def _link(url: str, text: str) -> str:
    if not url.startswith(("http://", "https://", "mailto:")):
        return text
    target = _escape(url).replace("|", "%7C")
    words = text.replace("|", "¦").replace("\n", " ")
    return f"<{target}>" if text == _escape(url) else f"<{target}|{words}>"


def _code_span(text: str) -> str:
    return f"{BEGIN}`{_escape(text.replace('`', 'ˋ'))}`{END}" if text.strip() else text


def _code(text: str, _language: str) -> str:
    """A block of code; Slack knows no languages."""
    return f"```\n{_escape(without_fences(text))}\n```"


MARKS: Final = Marks(
    escape=_escape,
    style=_style,
    link=_link,
    code_span=_code_span,
    code=_code,
    heading=lambda _level, text: _style("strong", text),
    nests_quotes=False,
)


def render_mrkdwn(markdown: str, *, allow_pings: bool = False) -> str:
    """The text for a message's `text`.

    Args:
        allow_pings: Leave `<@U1>`, `<!here>` and the like as they are.
    """
    written = EDGE.sub("", TOUCHING.sub(BORDER, write(parse(markdown), MARKS)))
    return ALLOWED.sub(r"<\1>", written) if allow_pings else written


def guard_pings(markdown: str) -> str:
    """Markdown for `markdown` blocks and streams in which nothing notifies anybody.

    What it gives for a longer text begins with what it gives for the beginning, but for two characters.
    """
    return PING.sub(f"<{JOINER}", markdown)


def measure(markdown: str) -> int:
    """Characters that a text takes at most, as mrkdwn or in a block."""
    return max(len(render_mrkdwn(markdown)), len(guard_pings(markdown)))
