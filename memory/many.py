"""Statements for many rows at once.

SQLite lets go of the interpreter at each step of each statement, and under load the writer's thread takes up
to a switch interval to get it back. So a statement for thirty rows costs little more than one for a single.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TypeVar

Item = TypeVar("Item")

MOST_ROWS = 32  # of one statement; SQLite takes 32,766 values


def pieces(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """The items in pieces of 32, 16, 8, 4, 2 and 1: six statements of a kind to prepare, not 32."""
    at = 0
    while at < len(items):
        size = min(MOST_ROWS, 1 << ((len(items) - at).bit_length() - 1))
        yield items[at : at + size]
        at += size


def write_rows(db: sqlite3.Connection, statement: str, rows: Sequence[Sequence[object]]) -> int:
    """Run a statement that has `{marks}` where the values of rows belong; gives how many rows it changed.

    It begins with INSERT or UPDATE: of others `sqlite3` counts nothing.
    """
    changed = 0
    for some in pieces(rows):
        text = statement.format(marks=marks(len(some), len(some[0])))
        changed += db.execute(text, [value for row in some for value in row]).rowcount
    return changed


@cache
def marks(rows: int, columns: int) -> str:
    """The places of so many rows in `VALUES`."""
    row = f"({', '.join('?' * columns)})"
    return ", ".join([row] * rows)
