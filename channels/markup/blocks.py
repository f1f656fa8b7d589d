"""Finished blocks of a text that still grows, to be sent one after the other."""

import re

from channels.markup.fences import code_spans, open_fence
from channels.markup.places import inside
from channels.markup.splitting import Piece, split_markdown

PARAGRAPH = re.compile(r"\n[ \t]*\n\s*")
WHOLE = re.compile(r"[.!?…。！？][\"')\]]*(?:\s|$)|\s")


def next_block(
    text: str, start: int, *, fence: str, min_chars: int, max_chars: int, is_idle: bool
) -> Piece | None:
    """The next block of a text from `start` on; `None` where nothing is finished.

    A block ends with a paragraph, outside of code; one that reaches `max_chars` ends where it reads best.

    Args:
        is_idle: Nothing more has come for a while: what is there is a block, up to its last whole word.
    """
    rest = text[start:]
    code = code_spans(rest, fence, is_cut=True)
    for found in PARAGRAPH.finditer(rest, min_chars):
        if found.start() > max_chars:
            break
        is_in_code = any(span.begin < found.start() < span.end for span in code)
        if not is_in_code and rest[: found.start()].strip():
            block = _ready(text, start, start + found.end(), fence)
            if len(block.text) <= max_chars:
                return block
    if len(rest) > max_chars:
        first, *others = split_markdown(text[: start + 2 * max_chars], max_chars, start=start, fence=fence)
        return first if others else None
    return _what_is_there(text, start, fence) if is_idle else None


def _ready(text: str, start: int, end: int, fence: str) -> Piece:
    """What stands before a place outside of code."""
    [block] = split_markdown(text[:end], end - start + 256, start=start, fence=fence)
    return block


def _what_is_there(text: str, start: int, fence: str) -> Piece | None:
    rest = text[start:]
    if open_fence(rest, fence):
        return None
    ends = [start + found.end() for found in WHOLE.finditer(rest)]
    end = next((place for place in reversed(ends) if inside(text, start, place) is None), start)
    return _ready(text, start, end, fence) if text[start:end].strip() else None
