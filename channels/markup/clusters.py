"""Characters that people see as one."""

import unicodedata
from typing import Final

MAX_CLUSTER: Final = 32  # characters that are held together as one; more are no letter but mischief
JOINER: Final = "\u200d"


def whole(text: str, start: int, place: int) -> int:
    """The nearest place before that parts no character from its marks."""
    for nearer in range(place, max(start, place - MAX_CLUSTER), -1):
        if not _is_joined(text, start, nearer):
            return nearer
    return place


def _is_joined(text: str, start: int, place: int) -> bool:
    """Whether what is on both sides of a place is one character to people."""
    if place >= len(text):
        return False
    before, after = text[place - 1], text[place]
    if JOINER in (before, after) or unicodedata.category(after).startswith("M"):
        return True
    if "\U0001f3fb" <= after <= "\U0001f3ff" or "\U000e0020" <= after <= "\U000e007f":  # skin, flags' tags
        return True
    if "\u1160" <= after <= "\u11ff":  # vowels and finals of Hangul
        return True
    if _is_flag_letter(before) and _is_flag_letter(after):
        run = place - start
        while run and _is_flag_letter(text[start + run - 1]):
            run -= 1
        return (place - start - run) % 2 == 1
    return before == "\r" and after == "\n"


def _is_flag_letter(letter: str) -> bool:
    return "\U0001f1e6" <= letter <= "\U0001f1ff"
