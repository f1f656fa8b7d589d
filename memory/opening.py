"""How messages get into the journal and their turns begin, many by the same statements."""

import sqlite3
import time
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from bot.agent.store import Accepted, Begun
from bot.errors import Fenced
from bot.messages import Frozen, InboundMessage, RunId, SessionKey
from memory import overheard
from memory.context import Opening
from memory.many import marks, pieces, write_rows
from memory.rows import append_lines, user_line
from memory.windows import Windows

LOOK = (
    "SELECT json_array("
    "(SELECT json_group_array(dedupe_key) FROM journal WHERE dedupe_key IN (VALUES {marks})),"
    " (SELECT json_group_object(alias, session) FROM aliases WHERE alias IN (VALUES {marks})))"
)
ACCEPT = (
    "INSERT INTO journal (run, dedupe_key, session, state, attempts, message, accepted_at, started_at)"
    " VALUES {marks}"
)
TAKE = (
    "UPDATE journal SET state = 'running', attempts = journal.attempts + 1, started_at = now"
    " FROM (WITH taken (run, attempts, now) AS (VALUES {marks}) SELECT * FROM taken) AS taken"
    " WHERE journal.run = taken.run AND journal.attempts = taken.attempts AND state = 'queued'"
)
WRITTEN = "SELECT run FROM messages WHERE role = 'user' AND run IN (VALUES {marks})"


class Arrival(Frozen, frozen=True, kw_only=True):
    """A message that comes in; see `bot.agent.store.Journal.accept`.

    Attributes:
        body: The message as the journal keeps it.
        now: Seconds since 1970.
    """

    message: InboundMessage
    body: bytes
    now: float
    is_control: bool = False
    history: int | None = None


class Start(Frozen, frozen=True, kw_only=True):
    """A turn that is to begin; see `bot.agent.store.Journal.begin`."""

    message: InboundMessage
    attempts: int
    history: int
    in_context: bool = True


_decode = msgspec.json.Decoder(tuple[set[str], dict[SessionKey, SessionKey]]).decode


class Opener:
    """Gives messages to the journal and turns their beginnings; its methods are works of `Gathered`."""

    def __init__(self, windows: Windows) -> None:
        self._windows = windows

    def accept(self, db: sqlite3.Connection, arrivals: Sequence[Arrival]) -> list[Accepted]:
        """Write messages down, each once, in the sessions that their aliases lead to; begin what can."""
        return [accepted for some in pieces(arrivals) for accepted in self._accept(db, some)]

    def _accept(self, db: sqlite3.Connection, arrivals: Sequence[Arrival]) -> list[Accepted]:
        known, aliases = _look_up(db, [arrival.message for arrival in arrivals])
        accepted: list[Accepted] = []
        rows: list[tuple[object, ...]] = []
        starts: list[Start] = []
        places: list[int] = []
        for place, arrival in enumerate(arrivals):
            message, key = arrival.message, arrival.message.dedupe_key
            session = aliases.get(message.session, message.session)
            accepted.append(Accepted(is_new=key not in known, session=session))
            if key in known:
                continue
            known.add(key)
            state = "done" if arrival.is_control else "queued"
            if begins := arrival.history is not None and session == message.session:
                state = "running"
                places.append(place)
                starts.append(Start(message=message, attempts=0, history=arrival.history or 0))
            started_at = arrival.now if begins else None
            rows.append(
                (message.run, key, session, state, int(begins), arrival.body, arrival.now, started_at)
            )
        write_rows(db, ACCEPT, rows)
        for place, begun in zip(places, self._open(db, starts), strict=True):
            accepted[place] = replace(accepted[place], begun=begun)
        return accepted

    def begin(self, db: sqlite3.Connection, starts: Sequence[Start]) -> list[Begun]:
        """Take turns that wait, and give what they begin with.

        Raises:
            Fenced: One of them does not wait for this attempt.
        """
        now = time.time()
        taken = [(start.message.run, start.attempts, now) for start in starts]
        if write_rows(db, TAKE, taken) != len(starts):
            first = starts[0]
            raise Fenced(f"run {first.message.run} is not waiting for attempt {first.attempts + 1}")
        return self._open(db, starts)

    def _open(self, db: sqlite3.Connection, starts: Sequence[Start]) -> list[Begun]:
        """What turns begin with that are this process's now; a message is written at its first attempt."""
        again = [start.message.run for start in starts if start.attempts]
        written = _written(db, again) if again else frozenset()
        append_lines(
            db,
            [
                user_line(start.message, in_context=start.in_context)
                for start in starts
                if start.message.run not in written
            ],
        )
        begun = self._windows.read(db, [_opening(db, start) for start in starts])
        return [
            each if start.in_context else Begun(attempt=each.attempt, turns=each.turns, history=())
            for start, each in zip(starts, begun, strict=True)
        ]


def _look_up(
    db: sqlite3.Connection, messages: Sequence[InboundMessage]
) -> tuple[set[str], dict[SessionKey, SessionKey]]:
    """Which messages are in the journal, by their keys, and where the sessions lead to that have aliases."""
    values = [*(message.dedupe_key for message in messages), *(message.session for message in messages)]
    (found,) = db.execute(LOOK.format(marks=marks(len(messages), 1)), values).fetchone()
    return _decode(found)


def _written(db: sqlite3.Connection, runs: Sequence[RunId]) -> frozenset[RunId]:
    """Whose messages are in the history already."""
    rows = [
        row for some in pieces(runs) for row in db.execute(WRITTEN.format(marks=marks(len(some), 1)), some)
    ]
    return frozenset(run for (run,) in rows)


def _opening(db: sqlite3.Connection, start: Start) -> Opening:
    message = start.message
    is_alone = message.is_direct or not start.in_context
    return Opening(
        session=message.session,
        run=message.run,
        history=start.history if start.in_context else 0,
        attempt=start.attempts + 1,
        overheard=() if is_alone else overheard.give(db, message),
    )
