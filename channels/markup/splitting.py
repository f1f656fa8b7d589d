"""Cuts Markdown into messages that a platform takes."""

import re
import unicodedata
from collections.abc import Callable, Iterator

from bot.messages import Frozen

FENCE_LINE = re.compile(r"^ {0,3}(?P<marks>`{3,}(?=[^`\n]*$)|~{3,})(?P<info>[^\n]*)$", re.MULTILINE)
SENTENCE_END = re.compile(r"[.!?…](?:[\"')\]]*)\s+|[。！？]")
JOINERS = frozenset("\u200d\ufe0e\ufe0f")
REACH = 2  # times the limit that are looked at; markup may take more than what is measured


class Piece(Frozen, frozen=True, kw_only=True):
    """One message of a long text.

    Attributes:
        text: As it is to be sent: the piece of the source, a code fence that was cut closed and reopened.
        end: Where the piece ends in the source; the next one begins there.
        fence: The opening line of the fence that is open there, with its line break; empty outside of code.
    """

    text: str
    end: int
    fence: str = ""


def split_markdown(
    text: str, limit: int, measure: Callable[[str], int] = len, *, start: int = 0, fence: str = ""
) -> list[Piece]:
    """Cut a text from `start` on into pieces whose `measure` is at most `limit`.

    What was cut once is cut there for every longer text. Blank lines at a cut are left out of the pieces.

    Args:
        fence: The opening line of the code fence in which `start` lies.

    Raises:
        ValueError: The limit leaves no room for a character.
    """
    pieces: list[Piece] = []
    while True:
        whole = _piece(text, start, len(text), fence, is_last=True)
        if len(text) - start <= REACH * limit and measure(whole.text) <= limit:
            return [*pieces, whole]
        piece = _cut(text, start, limit, measure, fence)
        pieces.append(piece)
        start, fence = piece.end, piece.fence


def _cut(text: str, start: int, limit: int, measure: Callable[[str], int], fence: str) -> Piece:
    """The first piece of a text that does not fit as a whole."""
    low, high = start, min(len(text), start + REACH * limit)
    while low < high:  # the longest beginning that fits
        middle = (low + high + 1) // 2
        if measure(_piece(text, start, middle, fence).text) <= limit:
            low = middle
        else:
            high = middle - 1
    for end in _places(text, start, low, fence):
        piece = _piece(text, start, end, fence)
        if measure(piece.text) <= limit:  # a shorter one may measure more: its fence has to be closed
            return piece
    raise ValueError(f"a limit of {limit} leaves no room for a character")


def _piece(text: str, start: int, end: int, fence: str, *, is_last: bool = False) -> Piece:
    source = text[start:end]
    still_open = open_fence(source, fence)
    body = source.strip("\n").rstrip() if not fence else source.removesuffix("\n")
    closing = ""
    if still_open and not is_last:
        closing = "\n" + _closing(still_open)
    return Piece(text=fence + body + closing, end=end, fence=still_open)


def open_fence(source: str, fence: str = "") -> str:
    """The opening line of the code fence that is open at the end of a text, itself begun inside `fence`."""
    for line in FENCE_LINE.finditer(source):
        if not fence:
            if line.end() < len(source):  # the line is complete
                fence = line[0] + "\n"
        elif _closes(line, fence):
            fence = ""
    return fence


def _closes(line: re.Match[str], fence: str) -> bool:
    opening = FENCE_LINE.match(fence)
    marks = opening["marks"] if opening else "```"
    return line["marks"].startswith(marks) and not line["info"].strip()


def _closing(fence: str) -> str:
    opening = FENCE_LINE.match(fence)
    return opening["marks"] if opening else "```"


def _places(text: str, start: int, end: int, fence: str) -> Iterator[int]:
    """Where a piece may end, best first: paragraph, line, sentence, space, anywhere."""
    if end <= start:
        return
    half = start + (end - start) // 2
    window = text[start:end]
    is_code = bool(open_fence(window, fence))
    if not is_code:
        yield from _last(text, "\n\n", half, end)
    for place in _last(text, "\n", half, end):
        yield _before_opening(text, start, place, fence)
    if not is_code:
        third = start + (end - start) // 3
        ends = [start + found.end() for found in SENTENCE_END.finditer(window)]
        yield from (place for place in reversed(ends) if place > third and not _is_inside(text, start, place))
    spaces = [place for place in range(end, start, -1) if text[place - 1].isspace()][:50]
    yield from (place for place in spaces if not _is_inside(text, start, place))
    yield from spaces
    place = end
    while place > start:
        yield _whole(text, start, place)
        place -= 1 if place - start < 8 else (place - start) // 8


def _last(text: str, mark: str, floor: int, end: int) -> Iterator[int]:
    found = text.rfind(mark, floor, end)
    if found >= 0:
        yield found + len(mark)


def _before_opening(text: str, start: int, place: int, fence: str) -> int:
    """A line break right behind the first line of a code fence is no good place: the one before it is."""
    line_start = text.rfind("\n", start, place - 1) + 1
    line = text[max(line_start, start) : place]
    is_opening = FENCE_LINE.match(line.rstrip("\n")) and open_fence(text[start:place], fence) != fence
    return line_start if is_opening and line_start > start else place


def _is_inside(text: str, start: int, place: int) -> bool:
    """Whether a place is within inline code, a bold span or a link of its line."""
    line = text[max(text.rfind("\n", start, place) + 1, start) : place]
    if line.count("`") % 2 or line.count("**") % 2 or line.count("~~") % 2:
        return True
    return line.rfind("[") > line.rfind("]") or line.rfind("](") > line.rfind(")")


def _whole(text: str, start: int, place: int) -> int:
    """The nearest place before that parts no character from its marks."""
    while start + 1 < place < len(text) and (
        unicodedata.combining(text[place])
        or text[place] in JOINERS
        or text[place - 1] == "\u200d"
        or text[place - 1 : place + 1] == "\r\n"
    ):
        place -= 1
    return place
