"""What is kept of a session between its turns is always what a reader would find who reads all of it."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from bot.agent.compaction import Summary
from bot.agent.store import Begun
from bot.agent.taint import Carried
from bot.errors import StoreError
from bot.messages import MessageId, RunId, SessionKey, StoredMessage, utc_now
from memory.context import Opening, read_context
from memory.database import DATABASE, Database, connect, migrate
from memory.rows import NewLine, append_lines
from memory.windows import OVERHEAD, WATCH, Windows

SESSIONS = [SessionKey("web:default:a"), SessionKey("web:default:b")]
HISTORY = 6
PICK = st.integers(0, 1_000)


def line(run: str, role: str = "user", text: str = "hello", *, in_context: bool = True) -> StoredMessage:
    return StoredMessage(
        number=0,
        id=MessageId(f"{run}:{role}"),
        run=RunId(run),
        role="user" if role == "user" else "assistant",
        speaker="Ann",
        text=text,
        at=utc_now(),
        in_context=in_context,
    )


class Room:
    """A database as the writer has it, and what is kept of its sessions."""

    def __init__(self, path: Path, most: int = 8_000_000) -> None:
        self.path = path
        self.db = connect(path, "NORMAL")
        migrate(self.db)
        self.db.executescript(WATCH)
        self.windows = Windows(most)
        self.count = 0

    def say(
        self, session: SessionKey, *, role: str = "user", in_context: bool = True, taint: str = ""
    ) -> str:
        self.count += 1
        run = f"r{self.count:05}"
        carried = Carried(origins=(("stranger", taint),)) if taint else None
        said = line(run, role, f"text {self.count}", in_context=in_context)
        append_lines(self.db, [NewLine(session, said, carried)])
        return run

    def begin(self, session: SessionKey, run: str | None, history: int = HISTORY) -> Begun:
        """What a turn is given by the windows, and the same as read in full: they are equal."""
        opening = Opening(session=session, run=None if run is None else RunId(run), history=history)
        (given,) = self.windows.read(self.db, [opening])
        assert given == read_context(self.db, opening)
        return given


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    made = Room(tmp_path / DATABASE)
    with closing(made.db):
        yield made


class WindowsMachine(RuleBasedStateMachine):
    """Changes sessions in every way that the store does, in transactions that are kept or taken back."""

    @initialize(most=st.sampled_from((3 * OVERHEAD, 8_000_000)))
    def begin_empty(self, most: int) -> None:
        self.directory = TemporaryDirectory()
        self.room = Room(Path(self.directory.name) / DATABASE, most)
        self.db = self.room.db
        self.runs: list[tuple[SessionKey, str]] = []

    def teardown(self) -> None:
        self.db.close()
        self.directory.cleanup()

    def seen(self, number: int) -> str:
        """A run whose session has just been looked at, so that it is kept."""
        session, run = self.runs[number % len(self.runs)]
        self.room.begin(session, None)
        return run

    @rule(
        session=st.sampled_from(SESSIONS),
        role=st.sampled_from(("user", "assistant")),
        in_context=st.booleans(),
        taint=st.sampled_from(("", "x", "y")),
    )
    def say(self, session: SessionKey, role: str, in_context: bool, taint: str) -> None:
        run = self.room.say(session, role=role, in_context=in_context, taint=taint)
        if role == "user":
            self.runs.append((session, run))

    @rule(session=st.sampled_from(SESSIONS), history=st.sampled_from((HISTORY, HISTORY, 3, 0)))
    def turn(self, session: SessionKey, history: int) -> None:
        """A turn begins, answers and is over."""
        run = self.room.say(session)
        self.runs.append((session, run))
        self.room.begin(session, run, history)
        append_lines(self.db, [NewLine(session, line(run, "assistant", f"re: {run}"))])

    @rule(session=st.sampled_from(SESSIONS))
    def two_at_once(self, session: SessionKey) -> None:
        """Turns of all sessions begin by the same statement."""
        openings = [
            Opening(session=each, run=RunId(self.room.say(each)), history=HISTORY) for each in SESSIONS
        ]
        assert self.room.windows.read(self.db, openings) == [read_context(self.db, one) for one in openings]

    @precondition(lambda self: self.runs)
    @rule(number=PICK)
    def begin_again(self, number: int) -> None:
        """A turn begins that has begun before; more may have been said since."""
        self.room.begin(*self.runs[number % len(self.runs)])

    @precondition(lambda self: self.runs)
    @rule(number=PICK, text=st.sampled_from(("edited", "twice")))
    def edit(self, number: int, text: str) -> None:
        run = self.seen(number)
        self.db.execute("UPDATE messages SET text = ? WHERE run = ?", (text, run))

    @precondition(lambda self: self.runs)
    @rule(number=PICK)
    def forget(self, number: int) -> None:
        run = self.seen(number)
        self.db.execute("UPDATE messages SET in_context = 0 WHERE run = ?", (run,))

    @precondition(lambda self: self.runs)
    @rule(number=PICK)
    def delete(self, number: int) -> None:
        run = self.seen(number)
        self.db.execute("DELETE FROM messages WHERE run = ?", (run,))

    @rule(session=st.sampled_from(SESSIONS))
    def delete_session(self, session: SessionKey) -> None:
        self.db.execute("DELETE FROM messages WHERE session = ?", (session,))
        self.db.execute("DELETE FROM sessions WHERE session = ?", (session,))
        self.db.execute("DELETE FROM summaries WHERE session = ?", (session,))

    @rule(session=st.sampled_from(SESSIONS), upto=st.integers(0, 12))
    def summarise(self, session: SessionKey, upto: int) -> None:
        self.db.execute(
            "INSERT INTO summaries (session, upto, text, tokens, at) VALUES (?, ?, 'notes', 3, 0)"
            " ON CONFLICT (session) DO UPDATE SET upto = excluded.upto",
            (session, upto),
        )

    @rule(session=st.sampled_from(SESSIONS))
    def drop_summary(self, session: SessionKey) -> None:
        self.db.execute("DELETE FROM summaries WHERE session = ?", (session,))

    @precondition(lambda self: self.runs)
    @rule(number=PICK, rounds=st.integers(0, 3))
    def call(self, number: int, rounds: int) -> None:
        """A tool call ends of a turn that is over."""
        run = self.seen(number)
        self.db.execute(
            "INSERT OR REPLACE INTO journal (run, dedupe_key, session, state, message, accepted_at)"
            " VALUES (?, ?, ?, 'done', x'', 0)",
            (run, run, SESSIONS[0]),
        )
        self.db.execute(
            "INSERT OR IGNORE INTO tool_calls (run, call_id, attempt, name, arguments, state, started_at)"
            " VALUES (?, 'c', 1, 'look', '{}', 'running', 0)",
            (run,),
        )
        self.db.execute(
            "UPDATE tool_calls SET state = 'ok', result = ?, rounds = ? WHERE run = ?",
            (f"found {rounds}", rounds, run),
        )

    @rule(session=st.sampled_from(SESSIONS), changes=st.booleans())
    def take_back(self, session: SessionKey, changes: bool) -> None:
        """A turn begins in a transaction that is taken back."""
        self.db.execute("BEGIN IMMEDIATE")
        self.room.say(session, role="assistant")
        if changes:
            self.db.execute("UPDATE messages SET text = 'never' WHERE session = ?", (session,))
        self.room.begin(session, self.room.say(session))
        self.db.execute("ROLLBACK")
        self.room.windows.clear()  # as the worker does

    @precondition(lambda self: self.runs)
    @rule(number=PICK)
    def write_elsewhere(self, number: int) -> None:
        """Another process changes a line."""
        run = self.seen(number)
        with closing(sqlite3.connect(self.room.path, isolation_level=None)) as other:
            other.execute("UPDATE messages SET text = 'from elsewhere' WHERE run = ?", (run,))

    @rule(session=st.sampled_from(SESSIONS))
    def look(self, session: SessionKey) -> None:
        self.room.begin(session, None)


WindowsMachine.TestCase.settings = settings(max_examples=80, stateful_step_count=30, deadline=None)
TestWindows = WindowsMachine.TestCase


def test_a_turn_reads_only_what_was_said_since_the_last_one(room: Room) -> None:
    here = SESSIONS[0]
    for _ in range(300):
        room.say(here)
    room.begin(here, room.say(here), history=200)
    steps = 0

    def count() -> None:
        nonlocal steps
        steps += 1

    opening = Opening(session=here, run=RunId(room.say(here)), history=200)
    room.db.set_progress_handler(count, 10)
    read_context(room.db, opening)
    whole, steps = steps, 0
    room.windows.read(room.db, [opening])
    room.db.set_progress_handler(None, 0)

    assert steps < whole / 5


def test_what_is_kept_is_bounded_and_those_who_are_silent_longest_go_first(room: Room) -> None:
    room.windows = Windows(most=10 * OVERHEAD)
    for number in range(30):
        session = SessionKey(f"web:default:{number}")
        room.say(session)
        room.begin(session, room.say(session))

    assert [key.rpartition(":")[2] for key in room.windows.kept()] == [str(n) for n in range(21, 30)]


async def test_what_was_taken_back_is_not_kept(tmp_path: Path) -> None:
    async with Database(tmp_path / DATABASE, synchronous="NORMAL") as database:
        heard: list[str] = []
        database.on_undo(lambda: heard.append("undone"))

        def fail(db: sqlite3.Connection) -> None:
            raise StoreError("no")

        with pytest.raises(StoreError, match="no"):
            await database.write(fail)

        assert heard == ["undone"]


def test_a_summary_and_times_are_those_that_were_written(room: Room) -> None:
    here = SESSIONS[0]
    said = room.say(here)
    room.db.execute("INSERT INTO summaries VALUES (?, 0, 'notes', 2, 7.5)", (here,))

    begun = room.begin(here, room.say(here))

    assert begun.summary is not None
    assert (begun.summary.text, begun.summary.at.timestamp()) == ("notes", 7.5)
    assert isinstance(begun.summary, Summary)
    assert [one.run for one in begun.history] == [said]
