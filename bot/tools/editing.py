"""Replaces a piece of a text exactly, and helps a model that misquotes it."""

from itertools import islice

from bot.tools.base import ToolFault
from bot.tools.nearest import nearest

LOOKED_AT = 20_000  # lines compared with a quotation that was not found
SHOWN = 200  # characters of a line
NAMED = 5  # places of a text that is there several times


def replace_text(text: str, old: str, new: str, *, is_every: bool) -> tuple[str, int]:
    """Put `new` where `old` is; a text whose lines all end in CRLF keeps them, however the pieces are given.

    Returns:
        The text, and how many pieces were replaced.

    Raises:
        ToolFault: `old` is not there, or there several times and not all are meant.
    """
    has_returns = "\r\n" in text and text.count("\r\n") == text.count("\n")
    if has_returns:
        text, old, new = _unix(text), _unix(old), _unix(new)
    if not old:
        raise ToolFault("old is empty: quote the text to replace; `write` makes a file")
    if old == new:
        raise ToolFault("old and new are the same: nothing to change")
    count = text.count(old)
    if not count:
        raise ToolFault(_not_found(text, old))
    if count > 1 and not is_every:
        raise ToolFault(_ambiguous(text, old, count))
    replaced = text.replace(old, new)
    return (replaced.replace("\n", "\r\n") if has_returns else replaced), count


def _unix(text: str) -> str:
    return text.replace("\r\n", "\n")


def _ambiguous(text: str, old: str, count: int) -> str:
    lines, begin = [], 0
    for _ in range(min(count, NAMED)):
        begin = text.index(old, begin)
        lines.append(str(text.count("\n", 0, begin) + 1))
        begin += len(old)
    more = ", …" if count > NAMED else ""
    where = f"lines {', '.join(lines)}{more}"
    return f"old is there {count:,} times ({where}): quote more around the one meant, or set replace_all"


def _not_found(text: str, old: str) -> str:
    if _unix(old) in _unix(text):
        return "the lines of the file end in different ways there: replace them one at a time, or `write` it"
    longest = max(_unix(old).split("\n"), key=lambda line: len(line.strip()))
    lines = list(islice(text.split("\n"), LOOKED_AT))
    alike = sorted(nearest(longest, lines, 3))
    if not alike:
        return "old is not in the file, and nothing like it: `read` the file again and quote it exactly"
    shown = "\n".join(f"{number + 1:>6}\t{lines[number].rstrip()[:SHOWN]}" for number in alike)
    return f"old is not in the file: quote it exactly, with its spaces. The nearest lines are:\n{shown}"
