"""Finished blocks of a text that still grows, to be sent one after the other."""

import re

from channels.markup.splitting import Piece, open_fence, split_markdown

PARAGRAPH = re.compile(r"\n[ \t]*\n+")
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
    for found in PARAGRAPH.finditer(rest, min_chars):
        if found.end() > max_chars:
            break
        if not open_fence(rest[: found.end()], fence):
            return Piece(text=(fence + rest[: found.start()]).strip("\n"), end=start + found.end())
    if len(rest) > max_chars:
        return split_markdown(text, max_chars, start=start, fence=fence)[0]
    return _what_is_there(rest, start, fence) if is_idle else None


def _what_is_there(rest: str, start: int, fence: str) -> Piece | None:
    if open_fence(rest, fence):
        return None
    ends = [found.end() for found in WHOLE.finditer(rest)]
    if not ends or not rest[: ends[-1]].strip():
        return None
    return Piece(text=(fence + rest[: ends[-1]]).strip(), end=start + ends[-1])
