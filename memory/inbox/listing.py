"""Finds conversations, the newest first, by indices that have them in that order: a page costs a page."""

import heapq
import sqlite3
from collections.abc import Sequence
from itertools import islice, product
from typing import Final, TypeAlias, get_args

import msgspec

from bot.inbox.base import Counts, Filter, Place, State

MOST_WAYS: Final = 60  # statements for one page
FEW: Final = (
    2_000  # conversations that are sorted because of a text in their names; of more, the newest are tried
)
TRIGRAM: Final = 3  # characters of the shortest text that the index of names knows
SHOWN: Final[tuple[State, ...]] = tuple(state for state in get_args(State) if state != "muted")

Found: TypeAlias = tuple[
    float, str, int
]  # when something was said there last, the chat, the number of its row


class Way(msgspec.Struct, frozen=True):
    """A statement that finds conversations in the order of an index; of several, the results are merged.

    Attributes:
        source: The table, and which index.
        condition: How the index is entered.
        by: The table whose columns have the order.
    """

    source: str
    condition: str
    values: tuple[object, ...] = ()
    by: str = "c"

    def statement(self, rest: str) -> str:
        """As SQL.

        Args:
            rest: What has to be true of a conversation beside that.
        """
        order = f"{self.by}.updated_at DESC, {self.by}.chat DESC"
        return (
            f"SELECT {self.by}.updated_at, {self.by}.chat, c.id FROM {self.source} WHERE {self.condition}"
            f" AND ({self.by}.updated_at, {self.by}.chat) < (?, ?) AND {rest} ORDER BY {order} LIMIT ?"
        )


def find(db: sqlite3.Connection, wanted: Filter, *, after: Place | None, limit: int) -> list[int]:
    """The rows of the conversations that are wanted, the newest first."""
    place = (after.updated_at, after.chat) if after is not None else (float("inf"), "")
    named = _named(db, wanted.text.casefold())
    rest, values = conditions(wanted, is_named=named is not None)
    found = [
        db.execute(way.statement(rest), (*way.values, *place, *values, limit)).fetchall()
        for way in ([named] if named is not None else ways(wanted))
    ]
    merged: Sequence[Found] = list(dict.fromkeys(heapq.merge(*found, reverse=True)))
    return [id_ for _, _, id_ in islice(merged, limit)]


def count(db: sqlite3.Connection) -> Counts:
    """How many conversations there are; of those with something unread, the muted ones are left out."""
    states = dict(
        db.execute("SELECT state, count(*) FROM conversations WHERE state IS NOT NULL GROUP BY state")
    )
    (unread,) = db.execute(
        "SELECT count(*) FROM conversations WHERE is_unread = 1 AND state IN ('open', 'waiting', 'handled')"
    ).fetchone()
    (taken,) = db.execute("SELECT count(*) FROM conversations WHERE taken_by IS NOT NULL").fetchone()
    return Counts(
        states={state: states.get(state, 0) for state in get_args(State)}, unread=unread, taken=taken
    )


def ways(wanted: Filter) -> list[Way]:
    """By which index a page is found: by that of what few conversations have, if it is asked for."""
    states, channels = wanted.states or SHOWN, wanted.channels
    if 0 < len(wanted.labels) <= MOST_WAYS:
        source = (
            "conversation_labels l INDEXED BY labels_newest CROSS JOIN conversations c ON c.chat = l.chat"
        )
        return [Way(source, "l.label = ?", (label,), by="l") for label in dict.fromkeys(wanted.labels)]
    if wanted.is_taken:
        return [Way("conversations c INDEXED BY conversations_taken", "c.taken_by IS NOT NULL")]
    if wanted.assignee is not None:
        return [
            Way("conversations c INDEXED BY conversations_assigned", "c.assignee = ?", (wanted.assignee,))
        ]
    if wanted.is_unread:
        source = "conversations c INDEXED BY conversations_unread"
        return [Way(source, "c.is_unread = 1 AND c.state = ?", (state,)) for state in dict.fromkeys(states)]
    if 0 < len(channels) * len(states) <= MOST_WAYS:
        source = "conversations c INDEXED BY conversations_of_channel"
        pairs = dict.fromkeys(product(states, channels))
        return [Way(source, "c.state = ? AND c.channel = ?", pair) for pair in pairs]
    kinds = (0, 1) if wanted.is_direct is None else (int(wanted.is_direct),)
    source = "conversations c INDEXED BY conversations_newest"
    return [
        Way(source, "c.state = ? AND c.is_direct = ?", pair) for pair in dict.fromkeys(product(states, kinds))
    ]


def conditions(wanted: Filter, *, is_named: bool = False) -> tuple[str, list[object]]:
    """All that a filter asks for, as SQL and its values.

    Args:
        is_named: The text is seen to.
    """
    parts = ["c.state IN (SELECT value FROM json_each(?))"]
    values: list[object] = [_json(wanted.states or SHOWN)]
    if wanted.channels:
        parts.append("c.channel IN (SELECT value FROM json_each(?))")
        values.append(_json(wanted.channels))
    if wanted.labels:
        parts.append(
            "EXISTS (SELECT 1 FROM conversation_labels WHERE chat = c.chat"
            " AND label IN (SELECT value FROM json_each(?)))"
        )
        values.append(_json(wanted.labels))
    if wanted.assignee is not None:
        parts.append("c.assignee = ?")
        values.append(wanted.assignee)
    if wanted.is_unread:
        parts.append("c.is_unread = 1")
    if wanted.is_taken:
        parts.append("c.taken_by IS NOT NULL")
    if wanted.is_direct is not None:
        parts.append("c.is_direct = ?")
        values.append(int(wanted.is_direct))
    if wanted.text and not is_named:
        parts.append("instr((SELECT names FROM conversation_names n WHERE n.rowid = c.id), ?) > 0")
        values.append(wanted.text.casefold())
    return " AND ".join(parts), values


def _named(db: sqlite3.Connection, text: str) -> Way | None:
    """The way by a text in names, where that leads to few; where to many, a page of them is soon found."""
    if len(text) < TRIGRAM:
        return None
    quoted = '"' + text.replace('"', '""') + '"'
    rows = db.execute(
        "SELECT rowid FROM conversation_names WHERE conversation_names MATCH ? LIMIT ?", (quoted, FEW + 1)
    ).fetchall()
    if len(rows) > FEW:
        return None
    chosen = _json([id_ for (id_,) in rows])
    return Way("conversations c", "c.id IN (SELECT value FROM json_each(?))", (chosen,))


def _json(values: Sequence[object]) -> str:
    return msgspec.json.encode(values).decode()
