"""Where a text may be cut: best between paragraphs, at worst between two characters."""

import re
import unicodedata
from collections.abc import Iterator

from channels.markup.fences import BEGUN, Span, code_spans

SENTENCE_END = re.compile(r"[.!?…](?:[\"')\]]*)\s+|[。！？]")
JOINERS = frozenset("\u200d\ufe0e\ufe0f")
MANY_FLAGS = 10_000  # letters of flags in a row, that are counted to find the pairs
TRIES = 50  # spaces that are looked at
LONGEST_CLUSTER = 64  # characters that belong together on the screen; more are no letter but mischief


def places(text: str, start: int, end: int, fence: str) -> Iterator[int]:
    """Where a piece may end, best first: paragraph, line, sentence, space, anywhere."""
    if end <= start:
        return
    half, third = start + (end - start) // 2, start + (end - start) // 3
    window = text[start:end]
    code = code_spans(window, fence, is_cut=text[end : end + 1] != "\n")
    opened = {start + span.begin for span in code}
    yield from _paragraph(text, start, half, end, code)
    for place in _line(text, half, end):
        yield _outside_fence_line(text, start, place, opened)
    if not (code and code[-1].is_open):
        ends = [start + found.end() for found in SENTENCE_END.finditer(window)]
        yield from (place for place in reversed(ends) if place > third and inside(text, start, place) is None)
    spaces = _spaces(text, start, end)
    yield from (place for place in spaces if inside(text, start, place) is None)
    if (before := inside(text, start, end)) is not None and before > third:
        yield before
    yield from (_outside_fence_line(text, start, place, opened) for place in spaces)
    place = end
    while place > start:
        yield _outside_fence_line(text, start, _whole_letter(text, start, place), opened)
        place -= 1 if place - start < 8 else (place - start) // 8


def _paragraph(text: str, start: int, floor: int, end: int, code: list[Span]) -> Iterator[int]:
    """The last blank line or beginning of code in a part of the text, outside of code."""
    place = end + 2  # the line breaks themselves are not shown
    while (found := text.rfind("\n\n", floor, place)) >= 0:
        around = next((span for span in code if span.begin < found + 2 - start < span.end), None)
        if around is None:
            yield found + 2
            return
        place = start + around.begin
        if place >= floor and place > start:
            yield place
            return
        if place <= floor:
            return


def _line(text: str, floor: int, end: int) -> Iterator[int]:
    found = text.rfind("\n", floor, end + 1)
    if found >= 0:
        yield found + 1


def _spaces(text: str, start: int, end: int) -> list[int]:
    found: list[int] = []
    for place in range(end, start, -1):
        if text[place - 1].isspace():
            found.append(place)
            if len(found) == TRIES:
                break
    return found


def _outside_fence_line(text: str, start: int, place: int, opened: set[int]) -> int:
    """The beginning of a line that opens code, or may become one; it is not parted from the code."""
    line_start = text.rfind("\n", start, place - 1) + 1
    line = text[max(line_start, start) : place]
    if line_start <= start or len(line) > 130:
        return place
    if line.endswith("\n"):
        return line_start if line_start in opened else place
    return line_start if BEGUN.fullmatch(line) else place


def inside(text: str, start: int, place: int) -> int | None:
    """Where the inline code, bold span or link begins that a place of a line is within, if any."""
    line_start = max(text.rfind("\n", start, place) + 1, start)
    line = text[line_start:place]
    begins = [line.rfind(mark) for mark in ("`", "**", "~~") if line.count(mark) % 2]
    if line.rfind("[") > line.rfind("]") or line.rfind("](") > line.rfind(")"):
        begins.append(line.rfind("["))
    return line_start + min(begins) if begins else None


def _whole_letter(text: str, start: int, place: int) -> int:
    """The nearest place before that parts no character from its marks."""
    for nearer in range(place, max(start, place - LONGEST_CLUSTER), -1):
        if nearer >= len(text) or not _is_joined(text, nearer):
            return nearer
    return place


def _is_joined(text: str, place: int) -> bool:
    before, after = text[place - 1], text[place]
    return (
        unicodedata.category(after).startswith("M")
        or after in JOINERS
        or before in "\u200d\\"
        or "\U0001f3fb" <= after <= "\U0001f3ff"
        or (_is_flag(after) and _flags_before(text, place) % 2 == 1)
        or (before == "\r" and after == "\n")
    )


def _is_flag(letter: str) -> bool:
    return "\U0001f1e6" <= letter <= "\U0001f1ff"


def _flags_before(text: str, place: int) -> int:
    """Letters of flags before a place; two of them are a flag."""
    floor = max(0, place - MANY_FLAGS)
    return next(
        (number for number in range(place - floor) if not _is_flag(text[place - 1 - number])), place - floor
    )
