"""Finished blocks of a text that still grows, to be sent one after the other."""

import re
from typing import Final

from channels.markup.outline import Outline, Rank
from channels.markup.splitting import Piece, shown, split_markdown, word_ends

PARAGRAPH: Final = re.compile(r"\n[ \t]*\n(?:[ \t]*\n)*")
HEADING: Final = re.compile(r"(?:^|\n) {0,3}#{1,6} [^\n]*\Z")
SENTENCE_ENDS: Final = tuple(".!?…。！？")
REACH: Final = 2  # times the longest block that are looked at


def next_block(
    text: str, start: int, *, fence: str, min_chars: int, max_chars: int, is_idle: bool
) -> Piece | None:
    """The next block of a text from `start` on; `None` where nothing is finished.

    A block ends with a paragraph, outside of code; one that reaches `max_chars` ends where it reads best.

    Args:
        fence: The `Piece.fence` of the block before.
        is_idle: Nothing more has come for a while: what is there is a block, up to its last whole word.
    """
    seen = text[: start + REACH * max_chars + 1]
    rest = seen[start:]
    if len(rest) < min_chars and not is_idle:
        return None
    outline = Outline(rest, fence)
    if (end := _paragraph_end(rest, outline, min_chars, max_chars)) is not None:
        piece = Piece(text=shown(text, start, start + end, fence), end=start + end)
        if len(piece.text) <= max_chars:
            return piece
    if len(rest) > max_chars and len(pieces := split_markdown(seen, max_chars, start=start, fence=fence)) > 1:
        return pieces[0]
    there = _what_is_there(seen, start, fence, outline) if is_idle else None
    return there if there is not None and len(there.text) <= max_chars else None


def _paragraph_end(rest: str, outline: Outline, min_chars: int, max_chars: int) -> int | None:
    """Where the first paragraph ends that makes a block, which no heading does."""
    for found in PARAGRAPH.finditer(rest):
        is_long = len(rest[: found.start()].strip()) >= max(min_chars, 1)
        if found.start() > max_chars:
            break
        if is_long and not outline.is_within(found.end()) and not HEADING.search(rest, 0, found.start()):
            return found.end()
    return None


def _what_is_there(seen: str, start: int, fence: str, outline: Outline) -> Piece | None:
    """All up to the last whole word; code and tables that are not whole are waited for."""
    rest = seen[start:]
    text = f"{rest} " if rest.endswith(SENTENCE_ENDS) else rest
    edges = [place for place, rank in outline.edges() if rank is Rank.BLOCK]
    end = min(max(word_ends(text, outline) or edges, default=0), len(rest))
    words = shown(seen, start, start + end, fence)
    return Piece(text=words, end=start + end) if words else None
