"""Cuts Markdown into messages that a platform takes."""

import re
from collections.abc import Callable

from bot.messages import Frozen
from channels.markup.fences import behind_closing, closing, code_spans, dedented, open_fence, without_partial
from channels.markup.places import places

REACH = 2  # times the limit that are looked at; markup may take more than what is measured
SECANTS = 6  # guesses at how much fits, before the rest is halved
BLANK = re.compile(r"\s*\n")
SPACE = re.compile(r"\s+")
MAX_INDENT = 64  # more space than that, or than fits, is not shown at the beginning of a piece
INDENT = re.compile(r" +(?=\S)")


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

    What was cut once is cut there for every longer text, as long as more text never measures less. Blank
    lines at a cut are left out of the pieces; code that is still open is closed in each of them.

    Args:
        fence: The opening line of the code fence in which `start` lies.

    Raises:
        ValueError: The limit leaves no room for a character.
    """
    pieces: list[Piece] = []
    last = len(text.rstrip())
    while True:
        start, fence = _beginning(text, start, fence, limit)
        if last - start <= REACH * limit:
            whole = _whole(text, start, fence)
            if measure(whole.text) <= limit:
                return [*pieces, whole]
        piece = _cut(text, start, limit, measure, fence)
        pieces.append(piece)
        start, fence = piece.end, piece.fence


def _beginning(text: str, start: int, fence: str, limit: int) -> tuple[int, str]:
    """Where a piece has something to show: behind blank lines, and behind the end of code that was shown."""
    if fence and (behind := behind_closing(text, start, fence)) is not None:
        start, fence = behind, ""
    if not fence and (blank := BLANK.match(text, start)) is not None:
        start = blank.end()
    space = SPACE.match(text, start) if not fence else None
    if space is not None and space.end() - start >= min(limit, MAX_INDENT):
        start = space.end()
    return start, fence


def _cut(text: str, start: int, limit: int, measure: Callable[[str], int], fence: str) -> Piece:
    """The first piece of a text that does not fit as a whole."""
    reach = _reach(text, start, limit, measure, fence)
    for end in places(text, start, reach, fence):
        piece = _piece(text, start, end, fence)
        if piece.text and measure(piece.text) <= limit:  # a shorter one may measure more: its fence is closed
            return piece
    raise ValueError(f"a limit of {limit} leaves no room for a character")


def _reach(text: str, start: int, limit: int, measure: Callable[[str], int], fence: str) -> int:
    """Up to where a text fits, nearly; looked for at places that do not depend on the text's length."""
    low, high, guess = start, start + REACH * limit, start + limit
    steps = 0
    while low < high:
        steps += 1
        size = measure(_piece(text, start, guess, fence).text) if guess <= len(text) else limit + 1
        if size > limit:
            high = guess - 1
        else:
            low = guess
            if limit - size <= limit // 100:
                break
        guess = (low + high + 1) // 2
        if low > start and size <= limit and steps <= SECANTS:
            guess = min(high, low + max(1, (limit - size) * (low - start) // max(1, size)))
    return low


def _piece(text: str, start: int, end: int, fence: str) -> Piece:
    """A piece that others follow."""
    is_cut = end < len(text) and text[end] != "\n"
    source = text[start:end]
    still_open = open_fence(source, fence, is_cut=is_cut)
    shown = _shown(source, fence, still_open, is_first=start == 0)
    if still_open and (behind := behind_closing(text, end, still_open)) is not None:
        end, still_open = behind, ""
    return Piece(text=shown, end=end, fence=still_open)


def _whole(text: str, start: int, fence: str) -> Piece:
    """The last piece; the line that ends its code may have come in part."""
    source = text[start:]
    still_open = open_fence(source, fence, is_cut=True)
    if still_open:
        source = without_partial(source, still_open)
    shown = _shown(source, fence, still_open, is_first=start == 0)
    return Piece(text=shown, end=len(text), fence=open_fence(text[start:], fence))


def _shown(source: str, fence: str, still_open: str, *, is_first: bool) -> str:
    """What is sent of a piece of the source."""
    if fence:
        code_end = code_spans(source, fence)[0].end
        code, rest = source[:code_end], source[code_end:]
        if still_open == fence and code_end == len(source):
            return (
                fence.lstrip(" ")
                + dedented(code.removesuffix("\n"), fence)
                + "\n"
                + closing(fence).lstrip(" ")
            )
        head = fence.lstrip(" ") + dedented(code, fence)
        return _closed(head + rest, still_open)
    return _closed(source.strip("\r\n") if is_first else _outdented(source.strip("\r\n")), still_open)


def _closed(body: str, still_open: str) -> str:
    if not still_open:
        return body.rstrip()
    return body.removesuffix("\n") + "\n" + closing(still_open)


def _outdented(body: str) -> str:
    """A piece that begins deep in a list begins at the margin: else it would read as code."""
    first = INDENT.match(body)
    if first is None:
        return body
    lines = body.split("\n")
    for number, line in enumerate(lines):
        if line.strip() and not line.startswith(first[0]):
            break
        lines[number] = line.removeprefix(first[0])
    return "\n".join(lines)
