"""How commands put names, numbers and times."""

import re
import time

_MARKUP = re.compile(r"([\\`*_~|<>\[\]()#])")
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def plain(text: str, limit: int = 60) -> str:
    """A text of a person on one line, shortened, with no markup left in it."""
    line = " ".join(text.split())
    return _MARKUP.sub(r"\\\1", line if len(line) <= limit else line[: limit - 1] + "…")


def code(text: str) -> str:
    """A name or an id, shown as code."""
    return f"`{text.replace('`', chr(39))}`"


def duration(seconds: float, *, units: int = 2) -> str:
    """A time span in its largest units: `2 h 5 min`."""
    left, parts = int(max(0.0, seconds)), []
    for size, unit in _UNITS:
        if left >= size:
            parts.append(f"{left // size} {unit}")
            left %= size
    return " ".join(parts[:units]) or "0 s"


def ago(at: float) -> str:
    """How long ago a time is, in seconds since 1970."""
    seconds = time.time() - at
    return "just now" if seconds < 60 else f"{duration(seconds, units=1)} ago"


def count(number: int, noun: str) -> str:
    """A number with its noun: `1 message`, `1,200 messages`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
