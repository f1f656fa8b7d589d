"""What the model sees of sessions that talk now: kept, so that a turn reads only what is new."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

import msgspec
from msgspec.structs import replace

from bot.agent.store import Begun
from bot.messages import RunId, SessionKey
from memory.context import MAX_ROUNDS, Before, Call, Opening, SeenLine, asked
from memory.many import pieces

MOST = 8_000_000  # characters that are kept
OVERHEAD = 600  # characters that a line counts beside its text
# Run on the connection that writes: SQLite itself notes whose lines it has changed, whoever asked for it.
WATCH = """
CREATE TEMP TABLE stale_windows (session TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TEMP TRIGGER window_changed AFTER UPDATE ON main.messages BEGIN
    INSERT INTO stale_windows VALUES (OLD.session), (NEW.session) ON CONFLICT (session) DO NOTHING;
END;
CREATE TEMP TRIGGER window_deleted AFTER DELETE ON main.messages BEGIN
    INSERT INTO stale_windows VALUES (OLD.session) ON CONFLICT (session) DO NOTHING;
END;
CREATE TEMP TRIGGER window_summed_up AFTER INSERT ON main.summaries BEGIN
    INSERT INTO stale_windows VALUES (NEW.session) ON CONFLICT (session) DO NOTHING;
END;
CREATE TEMP TRIGGER window_summed_up_again AFTER UPDATE ON main.summaries BEGIN
    INSERT INTO stale_windows VALUES (OLD.session), (NEW.session) ON CONFLICT (session) DO NOTHING;
END;
CREATE TEMP TRIGGER window_opened AFTER DELETE ON main.summaries BEGIN
    INSERT INTO stale_windows VALUES (OLD.session) ON CONFLICT (session) DO NOTHING;
END;
CREATE TEMP TRIGGER window_call_ended AFTER UPDATE ON main.tool_calls
WHEN OLD.rounds > 0 OR NEW.rounds > 0 BEGIN
    INSERT INTO stale_windows
    SELECT session FROM messages WHERE run = NEW.run AND EXISTS
    (SELECT 1 FROM journal WHERE run = NEW.run AND state <> 'running') ON CONFLICT (session) DO NOTHING;
END;
CREATE TEMP TRIGGER window_call_deleted AFTER DELETE ON main.tool_calls WHEN OLD.rounds > 0 BEGIN
    INSERT INTO stale_windows SELECT session FROM messages WHERE run = OLD.run
    ON CONFLICT (session) DO NOTHING;
END;
"""
LOOK = (
    "SELECT json_array(({before}), (SELECT json_group_array(session) FROM stale_windows),"
    " (SELECT data_version FROM pragma_data_version))"
)


class Window(msgspec.Struct, frozen=True):
    """What the model saw of a session in its last turn.

    Attributes:
        history: The most lines.
        size: In characters.
    """

    seen: Before
    history: int
    size: int


_decode = msgspec.json.Decoder(tuple[list[Before], set[SessionKey], int], strict=False).decode


class Windows:
    """Reads what turns are given, for the thread that writes; the sessions that were silent longest go first.

    Args:
        most: Characters that are kept.
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._size = 0
        self._kept: dict[SessionKey, Window] = {}
        self._version: int | None = None  # that SQLite counts up when another connection has written

    def kept(self) -> list[SessionKey]:
        """Whose windows are kept, those first that will be forgotten first."""
        return list(self._kept)

    def clear(self) -> None:
        """Forget all: what was read may have been taken back."""
        self._kept.clear()
        self._size = 0

    def read(self, db: sqlite3.Connection, openings: Sequence[Opening]) -> list[Begun]:
        """The beginnings of turns; see `memory.context.read_context`."""
        begun: list[Begun] = []
        for _, group in groupby(openings, key=lambda opening: opening.history):
            for some in pieces(list(group)):
                begun += self._read(db, some)
        return begun

    def _read(self, db: sqlite3.Connection, openings: Sequence[Opening]) -> Iterator[Begun]:
        windows = [self._window(opening) for opening in openings]
        found, stale, version = self._look(db, openings, windows)
        if stale or version != self._version:
            self._forget(self._kept if version != self._version else stale)
            self._version = version
            db.execute("DELETE FROM stale_windows")
            windows = [self._window(opening) for opening in openings]
            found, *_ = self._look(db, openings, windows)
        for opening, window, before in zip(openings, windows, found, strict=True):
            if window is None or not before.since:
                window = Window(before, opening.history, _size_of(before.lines, before.calls))
            else:
                window = _joined(window, before)
            self._keep(opening.session, window)
            yield window.seen.opened(opening)

    def _window(self, opening: Opening) -> Window | None:
        window = self._kept.get(opening.session)
        return window if window is not None and window.history == opening.history else None

    def _look(
        self, db: sqlite3.Connection, openings: Sequence[Opening], windows: Sequence[Window | None]
    ) -> tuple[list[Before], set[SessionKey], int]:
        known = [0 if window is None else window.seen.before - 1 for window in windows]
        before, values = asked(openings, known)
        (answer,) = db.execute(LOOK.format(before=before), values).fetchone()
        return _decode(answer)

    def _keep(self, session: SessionKey, window: Window) -> None:
        self._forget([session])
        if not window.history:  # a command's, for which nothing was read
            return
        self._kept[session] = window
        self._size += window.size
        while self._size > self._most:
            self._forget([next(iter(self._kept))])

    def _forget(self, sessions: Iterable[SessionKey]) -> None:
        for session in list(sessions):
            if window := self._kept.pop(session, None):
                self._size -= window.size


def _joined(window: Window, newer: Before) -> Window:
    """What was seen before and what has come since: the same as if all of it were read."""
    lines = [*window.seen.lines, *newer.lines]
    dropped, lines = lines[: -window.history], lines[-window.history :]
    calls = _in_sight([*window.seen.calls, *newer.calls], lines)
    size = window.size - _size_of(dropped, window.seen.calls) + _size_of(newer.lines, calls)
    return Window(replace(newer, lines=lines, calls=calls), window.history, size)


def _size_of(lines: Iterable[SeenLine], calls: Iterable[Call]) -> int:
    size = sum(len(line.text) + OVERHEAD for line, _ in lines)
    return size + sum(len(call.arguments) + len(call.result) + OVERHEAD for call in calls)


def _in_sight(calls: Sequence[Call], lines: Sequence[SeenLine]) -> list[Call]:
    """The calls of the newest turns that have lines."""
    if not calls:
        return []
    runs: dict[RunId, None] = {}
    for line, _ in reversed(lines):
        runs[line.run] = None
        if len(runs) == MAX_ROUNDS:
            break
    return sorted((call for call in calls if call.run in runs), key=lambda call: call.run)
