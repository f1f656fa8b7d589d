"""Answers that say that there is nothing to say."""

import re
from typing import Final

ALL_WELL: Final = "HEARTBEAT_OK"
MAX_BESIDE: Final = 300  # characters beside `ALL_WELL` that nobody needs to read
SILENCE = ("no_reply", "[no_response]")

_OPENING = re.compile(rf"[\s*_`\"'(]*{ALL_WELL}(?![A-Za-z0-9])")
_CLOSING = re.compile(rf"(?<![A-Za-z0-9]){ALL_WELL}[\s*_`\"').!]*\Z")


def is_silence(text: str) -> bool:
    """Whether a whole answer says that there is nothing to say."""
    return text.strip().lower() in SILENCE


def may_become_silence(text: str) -> bool:
    """Whether the beginning of an answer may still turn out to be silence."""
    begun = text.strip().lower()
    return any(word.startswith(begun) for word in SILENCE)


def is_all_well(answer: str) -> bool:
    """Whether the answer to a heartbeat says that there is nothing to tell: then nobody is to see it."""
    text = answer.strip()
    match = _OPENING.match(text) or _CLOSING.search(text)
    return match is not None and len(text) - len(match[0]) <= MAX_BESIDE
