"""Whatever happens in whatever order, the journal agrees with a few lines of plain Python."""

import asyncio
import tempfile
from collections import Counter
from collections.abc import Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from msgspec.structs import replace

from bot.agent.store import TurnRecord
from bot.errors import Fenced, StoreError
from bot.messages import InboundMessage, SessionKey, new_id
from memory.store import Store
from tests.factories import end_of, inbound

Result = TypeVar("Result")
State: TypeAlias = Literal["queued", "running", "parked", "done"]

SESSIONS = ("web:default:a", "web:default:b")
MAX_CRASHES = 2
RECORD = TurnRecord(started_at=1.0, ended_at=2.0)
PICK = st.integers(0, 10_000)  # which of the fitting messages


@dataclass(slots=True)
class Entry:
    """What should be true of one accepted message."""

    message: InboundMessage
    state: State = "queued"
    attempts: int = 0
    crashes: int = 0
    answers: int = 0


@dataclass(slots=True)
class Model:
    """The journal as it should be: entries in order of acceptance, lines a session."""

    entries: list[Entry] = field(default_factory=list)
    lines: dict[str, list[tuple[str, str]]] = field(default_factory=lambda: {name: [] for name in SESSIONS})

    def fitting(self, *states: State) -> list[Entry]:
        return [entry for entry in self.entries if entry.state in states]


class JournalMachine(RuleBasedStateMachine):
    """Drives a real store on a loop of its own, and a model beside it."""

    def __init__(self) -> None:
        super().__init__()
        self.model = Model()
        self.cancelled: list[str] = []

    def do(self, act: Coroutine[object, object, Result]) -> Result:
        return self.runner.run(act)

    @initialize()
    def begin_empty(self) -> None:
        self.directory = tempfile.TemporaryDirectory()
        self.runner = asyncio.Runner()
        self.open()

    def open(self) -> None:
        self.store = self.do(Store(Path(self.directory.name), synchronous="NORMAL").__aenter__())

    def teardown(self) -> None:
        self.do(self.store.__aexit__(None, None, None))
        self.runner.close()
        self.directory.cleanup()

    def pick(self, number: int, *states: State) -> Entry:
        fitting = self.model.fitting(*states)
        return fitting[number % len(fitting)]

    def has(self, *states: State) -> bool:
        return bool(self.model.fitting(*states))

    def note_begin(self, entry: Entry) -> None:
        message = entry.message
        if entry.attempts == 0:
            self.model.lines[message.session].append((message.run, "user"))
        entry.state = "running"
        entry.attempts += 1

    @rule(session=st.sampled_from(SESSIONS), at_once=st.booleans())
    def accept(self, session: str, at_once: bool) -> None:
        message = inbound(session=session)
        accepted = self.do(self.store.journal.accept(message, history=50 if at_once else None))
        assert accepted.is_new
        assert (accepted.begun is not None) == at_once
        self.model.entries.append(entry := Entry(message))
        if at_once:
            self.note_begin(entry)

    @precondition(lambda self: self.model.entries)
    @rule(number=PICK, is_resent=st.booleans())
    def accept_again(self, number: int, is_resent: bool) -> None:
        message = self.pick(number, "queued", "running", "parked", "done").message
        again = replace(message, id=new_id(), text="changed") if is_resent else message
        assert not self.do(self.store.journal.accept(again, history=50)).is_new

    @precondition(lambda self: self.has("queued"))
    @rule(number=PICK)
    def begin(self, number: int) -> None:
        entry = self.pick(number, "queued")
        turn = self.do(self.store.journal.begin(entry.message, attempts=entry.attempts, history=50))
        self.note_begin(entry)
        assert turn.attempt == entry.attempts
        lines = self.model.lines[entry.message.session]
        place = lines.index((entry.message.run, "user"))
        assert [(line.run, line.role) for line in turn.history] == lines[:place]

    @precondition(lambda self: self.model.entries)
    @rule(number=PICK, off=st.sampled_from([-1, 1]))
    def begin_out_of_turn(self, number: int, off: int) -> None:
        entry = self.pick(number, "queued", "running", "parked", "done")
        with pytest.raises(Fenced):
            self.do(self.store.journal.begin(entry.message, attempts=entry.attempts + off, history=50))

    @precondition(lambda self: self.has("running"))
    @rule(number=PICK)
    def finish(self, number: int) -> None:
        entry = self.pick(number, "running")
        self.do(self.finishing(entry, entry.attempts))
        entry.state = "done"
        entry.answers += 1
        self.model.lines[entry.message.session].append((entry.message.run, "assistant"))

    async def finishing(self, entry: Entry, attempt: int) -> None:
        end = end_of(entry.message, attempt=attempt)
        await self.store.journal.finish(end, RECORD, speaker="Bot", has_outbox=True)

    @precondition(lambda self: self.model.entries)
    @rule(number=PICK, back=st.integers(0, 2))
    def finish_late(self, number: int, back: int) -> None:
        entry = self.pick(number, "queued", "running", "parked", "done")
        attempt = entry.attempts - (back or entry.state == "running")
        with pytest.raises(Fenced):
            self.do(self.finishing(entry, attempt))
        with pytest.raises(Fenced):
            self.do(self.store.journal.requeue(entry.message.run, attempt))

    @precondition(lambda self: self.has("running"))
    @rule(number=PICK)
    def give_back(self, number: int) -> None:
        entry = self.pick(number, "running")
        self.do(self.store.journal.requeue(entry.message.run, entry.attempts))
        entry.state = "queued"

    @rule()
    def crash(self) -> None:
        self.do(self.store.__aexit__(None, None, None))
        self.open()
        for entry in self.model.fitting("running"):
            entry.state = "queued"
            entry.crashes += 1
        recovery = self.do(self.store.journal.recover(MAX_CRASHES))
        queued = self.model.fitting("queued")
        for found, is_harmful in ((recovery.pending, False), (recovery.parked, True)):
            assert [(pending.message, pending.attempts) for pending in found] == [
                (entry.message, entry.attempts)
                for entry in queued
                if (entry.crashes >= MAX_CRASHES) is is_harmful
            ]

    @precondition(lambda self: any(entry.crashes >= MAX_CRASHES for entry in self.model.fitting("queued")))
    @rule()
    def park(self) -> None:
        for entry in self.model.fitting("queued"):
            if entry.crashes >= MAX_CRASHES:
                end = end_of(entry.message, "put aside", attempt=entry.attempts, reason="error")
                self.do(self.store.journal.park(end, speaker="Bot"))
                entry.state = "parked"
                self.model.lines[entry.message.session].append((entry.message.run, "assistant"))

    @precondition(lambda self: self.has("parked"))
    @rule(number=PICK)
    def retry(self, number: int) -> None:
        entry = self.pick(number, "parked")
        pending = self.do(self.store.journal.retry(entry.message.run))
        assert (pending.message, pending.attempts) == (entry.message, entry.attempts)
        entry.state, entry.crashes = "queued", 0

    @precondition(lambda self: self.has("queued", "running", "done"))
    @rule(number=PICK)
    def retry_what_is_not_parked(self, number: int) -> None:
        entry = self.pick(number, "queued", "running", "done")
        with pytest.raises(StoreError):
            self.do(self.store.journal.retry(entry.message.run))

    @precondition(lambda self: any(entry.attempts == 0 for entry in self.model.fitting("queued")))
    @rule()
    def cancel(self) -> None:
        entry = next(entry for entry in self.model.fitting("queued") if entry.attempts == 0)
        end = end_of(entry.message, "cancelled", attempt=1, reason="killed")
        self.do(self.store.journal.cancel(entry.message, end, speaker="Bot"))
        entry.state = "done"
        entry.answers += 1
        # for people only: the model's history, which `begin` compares, does not have them
        self.cancelled.append(entry.message.run)

    @invariant()
    def every_message_is_in_the_state_it_should_be_in(self) -> None:
        found = self.do(self.store.journal.unfinished())
        assert [(entry.run, entry.state, entry.attempts, entry.crashes) for entry in found] == [
            (entry.message.run, entry.state, entry.attempts, entry.crashes)
            for entry in self.model.entries
            if entry.state != "done"
        ]

    @invariant()
    def no_message_is_answered_twice(self) -> None:
        waiting = Counter(end.run for end in self.do(self.store.outbox.pending("web")))
        assert not waiting or max(waiting.values()) == 1
        assert all(entry.answers <= 1 for entry in self.model.entries)

    @invariant()
    def every_line_stands_once_and_in_order(self) -> None:
        for session, expected in self.model.lines.items():
            found = self.do(self.store.history.recent(SessionKey(session), limit=1000))
            shown = [(line.run, line.role) for line in found if line.run not in self.cancelled]
            assert [line.number for line in found] == list(range(1, len(found) + 1))
            assert shown == expected
            said = Counter(line.run for line in found if line.role == "user")
            assert set(said.values()) <= {1}


TestJournal = JournalMachine.TestCase
TestJournal.settings = settings(
    max_examples=40,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
