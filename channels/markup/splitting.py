"""Cuts Markdown into messages that a platform takes."""

import re
from collections.abc import Callable, Iterator
from typing import Final

from bot.messages import Frozen
from channels.markup.clusters import whole
from channels.markup.outline import Outline, Rank, open_fence, reopened

BLANK_LINES: Final = re.compile(r"\A(?:[ \t]*(?:\r\n?|\n))+")
SENTENCE_END: Final = re.compile(r"[.!?…][\"')\]*_]*\s+|[。！？][”’」』）]*")
BLOCK_MARK: Final = re.compile(r"(?:#{1,6}|[-+*>]|\d{1,9}[.)])(?:\s|\Z)|>|\||```|~~~")
REACH: Final = 2  # times the limit that are looked at; markup may take more than what is measured
SPACES: Final = 50  # that are tried at most


class Piece(Frozen, frozen=True, kw_only=True):
    """One message of a long text.

    Attributes:
        text: As it is to be sent: the piece of the source, a code fence that was cut closed and reopened, a
            table that was cut under its head again.
        end: Where the piece ends in the source; the next one begins there.
        fence: What the next piece has to open again: the first line of a code fence, or a table's head.
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
        measure: Never less for a text than for its beginning, as far as cuts are to stay where they are.
        fence: The `Piece.fence` of the piece before.

    Raises:
        ValueError: The limit leaves no room for a character.
    """
    if limit < 1:
        raise ValueError(f"a limit of {limit} leaves no room for a character")
    pieces: list[Piece] = []
    while len(text) - start > REACH * limit or measure(shown(text, start, len(text), fence)) > limit:
        pieces.append(_cut(text, start, limit, measure, fence))
        start, fence = pieces[-1].end, pieces[-1].fence
    last = shown(text, start, len(text), fence)
    return [*pieces, Piece(text=last, end=len(text), fence=open_fence(text[start:], fence))]


def shown(text: str, start: int, end: int, fence: str, closing: str = "") -> str:
    """A piece of a text as it is sent: opened again, closed, and without white space around it."""
    prefix, body = reopened(text[start:end], fence)
    body = BLANK_LINES.sub("", body).rstrip()
    if not prefix and start and text[start - 1] not in "\r\n":
        body = body.lstrip()
    if not body:
        return ""
    return f"{prefix}{body}\n{closing}" if closing else prefix + body


def _cut(text: str, start: int, limit: int, measure: Callable[[str], int], fence: str) -> Piece:
    """The first piece of a text that does not fit as a whole.

    Looks at nothing behind the first character that does not fit, so that it stays when more comes.
    """
    outline = Outline(text[start : start + REACH * limit], fence)
    low, high = start, start + REACH * limit
    while low < high:  # the longest beginning that fits
        middle = (low + high + 1) // 2
        is_whole = middle >= len(text)  # that does not fit, as the caller knows
        if not is_whole and measure(_piece(text, start, middle, outline, fence).text) <= limit:
            low = middle
        else:
            high = middle - 1
    for end in _places(text, start, low, fence):
        piece = _piece(text, start, end, outline, fence)
        if measure(piece.text) <= limit:  # a shorter one may measure more: its fence has to be closed
            return piece
    if fence:
        return _cut(text, start, limit, measure, "")
    raise ValueError(f"a limit of {limit} leaves no room for a character")


def _piece(text: str, start: int, end: int, outline: Outline, fence: str) -> Piece:
    region = outline.region_at(end - start)
    opening, closing = (region.opening, region.closing) if region is not None else ("", "")
    return Piece(text=shown(text, start, end, fence, closing), end=end, fence=opening)


def _places(text: str, start: int, end: int, fence: str) -> Iterator[int]:
    """Where a piece may end, best first: paragraph, item, line, sentence, space, anywhere."""
    if end <= start:
        return
    window = text[start:end]
    outline = Outline(window, fence)
    edges = outline.edges()
    for rank in (Rank.BLOCK, Rank.ITEM, Rank.LINE, Rank.INSIDE):
        places = [place for place, its_rank in edges if its_rank is rank and place >= len(window) / 2]
        yield from (start + place for place in places[-1:])
    words = text[start : end + 1]  # with the character that did not fit: it is there in longer texts, too
    good = [place for place in word_ends(words, outline) if place <= len(window)]
    yield from (start + place for place in reversed(good))
    yield from (start + place for place, rank in reversed(edges) if rank is not Rank.NEVER)
    spaces = [place for place in range(len(window), 0, -1) if window[place - 1].isspace()]
    yield from (start + place for place in spaces[:1])
    place = end
    while place > start:
        yield whole(text, start, place)
        place -= max(1, (place - start) // 8)


def word_ends(text: str, outline: Outline) -> list[int]:
    """Where words end that are not inside of anything, worst first; a sentence's end is best.

    Sentences count in the last two thirds of a text only, words among the last few.
    """
    sentences = {found.end() for found in SENTENCE_END.finditer(text) if found.end() > len(text) / 3}
    spaces = [place for place in range(len(text), 0, -1) if text[place - 1].isspace()][:SPACES]
    candidates = [*sorted(set(spaces) - sentences), *sorted(sentences)]
    return [place for place in candidates if not _is_inside(text, place, outline)]


def _is_inside(text: str, place: int, outline: Outline) -> bool:
    """Whether a place is in code, a table, a span or a link of its line, or would make a block of words."""
    if outline.is_within(place):
        return True
    begin = text.rfind("\n", 0, place - 1) + 1
    line = text[begin:place]
    if any(line.count(mark) % 2 for mark in ("`", "**", "~~")):
        return True
    if line.rfind("[") > line.rfind("]") or line.rfind("](") > line.rfind(")"):
        return True
    return not line.endswith("\n") and BLOCK_MARK.match(text, place) is not None
