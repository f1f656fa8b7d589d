"""What a Markdown note links to and how it is divided; what stands in code is neither link nor heading."""

import re
from collections.abc import Iterator

from bot.messages import Frozen

LINK = re.compile(r"\[\[([^\[\]\n|#]{1,200})(?:[#|][^\[\]\n]{0,200})?\]\]")
HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*)")
FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
CODE = re.compile(r"`[^`\n]*`")


class Heading(Frozen, frozen=True, kw_only=True):
    """A heading; `line` counts from 1, `depth` is 1 to 6."""

    line: int
    depth: int
    text: str


def links(text: str) -> tuple[str, ...]:
    """The titles that `[[title]]`, `[[title|shown]]` and `[[title#heading]]` name, each once."""
    found = (match[1].strip() for _, line in _prose(text) for match in LINK.finditer(CODE.sub("", line)))
    return tuple(dict.fromkeys(title for title in found if title))


def headings(text: str) -> tuple[Heading, ...]:
    """The lines that begin with `#` to `######`."""
    matches = ((number, HEADING.fullmatch(line)) for number, line in _prose(text))
    return tuple(
        Heading(line=number, depth=len(match[1]), text=_unclosed(match[2].strip()))
        for number, match in matches
        if match is not None
    )


def _prose(text: str) -> Iterator[tuple[int, str]]:
    """The lines that are not in a fenced block, with their numbers."""
    fence = ""
    for number, line in enumerate(text.split("\n"), 1):
        match = FENCE.fullmatch(line.rstrip())
        if match is not None and (_closes(fence, match) if fence else _opens(match)):
            fence = "" if fence else match[1]
        elif not fence:
            yield number, line.rstrip()


def _unclosed(heading: str) -> str:
    """A heading without the signs that may close it; those of a word stay, as in `C#`."""
    text = heading.rstrip("#")
    return heading if text and not text[-1].isspace() else text.rstrip()


def _opens(match: re.Match[str]) -> bool:
    return not (match[1].startswith("`") and "`" in match[2])


def _closes(fence: str, match: re.Match[str]) -> bool:
    return match[1].startswith(fence) and not match[2].strip()
