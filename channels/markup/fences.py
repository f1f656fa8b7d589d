"""Finds the fenced code of a Markdown text, also where the text begins or ends within it."""

import re
from typing import NamedTuple

# Deeper indentation than CommonMark's three is taken, too: that is code in an item of a list. Longer lines
# and marks than these are no fences to us, so that a fence that has to be repeated stays short.
FENCE_LINE = re.compile(
    r"^(?P<lead>[ \t]{0,20}(?:(?:[-*+]|\d{1,3}[.)]) {1,4}){0,4})(?P<marks>`{3,20}|~{3,20})"
    r"(?P<info>[^`\n]{0,80})$",
    re.MULTILINE,
)
BEGUN = re.compile(
    r"[ \t]{0,20}(?:(?:[-*+]|\d{1,3}[.)]) {1,4}){0,4}(?:`{1,2}|~{1,2}|(?:`{3,20}|~{3,20})[^`\n]{0,80})"
)
PARTIAL = re.compile(r"(?:^|\n)[ \t]*(?P<marks>`+|~+)[ \t]*\Z")
MAX_LANGUAGE = 32


class Span(NamedTuple):
    """Code from its opening line, or from the beginning, to behind its closing line."""

    begin: int
    end: int
    fence: str  # the opening line
    is_open: bool


def code_spans(source: str, fence: str = "", *, is_cut: bool = False) -> list[Span]:
    """The code in a text that begins within `fence`.

    Args:
        is_cut: The last line goes on behind the text, so that it is no fence yet.
    """
    spans, begin = [], 0
    for line in FENCE_LINE.finditer(source):
        is_last = line.end() == len(source)
        if fence and closes(line, fence) and not (is_last and is_cut):
            spans.append(Span(begin, line.end(), fence, is_open=False))
            fence = ""
        elif not fence and not is_last:
            begin, fence = line.start(), _opening(line)
    if fence:
        spans.append(Span(begin, len(source), fence, is_open=True))
    return spans


def open_fence(source: str, fence: str = "", *, is_cut: bool = False) -> str:
    """The opening line of the code that is open at the end of a text, itself begun inside `fence`."""
    spans = code_spans(source, fence, is_cut=is_cut)
    return spans[-1].fence if spans and spans[-1].is_open else ""


def _opening(line: re.Match[str]) -> str:
    language = line["info"].split()[:1]
    return " " * len(line["lead"]) + line["marks"] + "".join(language)[:MAX_LANGUAGE] + "\n"


def closes(line: re.Match[str], fence: str) -> bool:
    """Whether a line ends the code that a fence began."""
    is_bare = not line["info"].strip() and not line["lead"].strip()
    return is_bare and line["marks"].startswith(_marks(fence))


def closing(fence: str) -> str:
    """The line that ends the code, indented as it began."""
    return fence[: len(fence) - len(fence.lstrip(" "))] + _marks(fence)


def _marks(fence: str) -> str:
    found = FENCE_LINE.match(fence)
    return found["marks"] if found else "```"


def behind_closing(text: str, place: int, fence: str) -> int | None:
    """Where a closing line ends that is the next line; `None` if it is not, or not yet complete."""
    if text.startswith("\n", place) and (place == 0 or text[place - 1] != "\n"):
        place += 1
    end = text.find("\n", place, place + 128)
    if end < 0 or (place and text[place - 1] != "\n"):
        return None
    line = FENCE_LINE.match(text[place:end])
    return end + 1 if line and closes(line, fence) else None


def without_partial(code: str, fence: str) -> str:
    """Code without the beginning of its closing line, which may still be coming."""
    found = PARTIAL.search(code[-128:])
    if found is None or found["marks"][0] != _marks(fence)[0]:
        return code
    return code[: len(code) - len(found[0])]


def dedented(code: str, fence: str) -> str:
    """Code without the indentation of its fence, for there is no list around it any more."""
    width = len(fence) - len(fence.lstrip(" "))
    return re.sub(rf"^[ \t]{{1,{width}}}", "", code, flags=re.MULTILINE) if width else code
