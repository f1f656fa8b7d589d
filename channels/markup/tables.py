"""Tables for platforms that have none: columns aligned by spaces."""

import re
import unicodedata
from typing import Final

from channels.markup.tree import Table, words

LINE_BREAK: Final = re.compile(r"<br\s*/?>", re.IGNORECASE)  # what stands for one in a cell


def cells(table: Table) -> list[list[str]]:
    """The words of a table, every row as wide as the head."""
    width = max((len(row) for row in table.rows), default=0)
    rows = [[" ".join(LINE_BREAK.sub(" ", words(cell)).split()) for cell in row] for row in table.rows]
    return [row + [""] * (width - len(row)) for row in rows]


def aligned(table: Table) -> str:
    """A table to be shown in one width of letter."""
    rows = cells(table)
    if not rows:
        return ""
    widths = [max(_width(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [" | ".join(_pad(cell, width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    lines.insert(1, "-+-".join("-" * width for width in widths))
    return "\n".join(line.rstrip() for line in lines)


def _width(text: str) -> int:
    """Columns that a text takes on a screen; East Asian letters take two, marks on letters none."""
    if text.isascii():
        return len(text)
    return sum(_letter_width(letter) for letter in text)


def _letter_width(letter: str) -> int:
    if unicodedata.category(letter) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def _pad(text: str, width: int) -> str:
    return text + " " * (width - _width(text))
