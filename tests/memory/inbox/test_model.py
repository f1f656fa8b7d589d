"""Whatever is said and done in whatever order, the list is what a few lines of plain Python say it is."""

import asyncio
import tempfile
from collections.abc import Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from msgspec.structs import replace

from bot.inbox.base import Conversation, Filter, Place, State
from bot.messages import InboundMessage, RunId, SessionKey
from memory.store import Store
from tests.factories import inbound
from tests.memory.inbox.talking import answer, ask

Result = TypeVar("Result")

CHATS = tuple(SessionKey(f"web:default:{name}") for name in ("a", "b", "c:7"))
CHAT = st.sampled_from(CHATS)
EVERY: tuple[State, ...] = ("open", "waiting", "handled", "muted")
NOBODY = RunId("none")


@dataclass(slots=True)
class Line:
    """A line that was said: by a person, by a schedule, or by the bot."""

    number: int
    by: str
    at: float
    is_silent: bool = False


@dataclass(slots=True)
class Talk:
    """A session of a chat: what is there of it, and how many lines there ever were."""

    lines: list[Line] = field(default_factory=list)
    count: int = 0


@dataclass(slots=True)
class Chat:
    """A chat as it should be; marks name the session that they were made in."""

    current: SessionKey
    talks: dict[SessionKey, Talk]
    mark: tuple[State, SessionKey, int] = ("open", SessionKey(""), 0)
    read: tuple[SessionKey, int] = (SessionKey(""), 0)
    taken: int | None = None
    labels: tuple[str, ...] = ()
    assignee: str | None = None
    notes: list[tuple[SessionKey, str]] = field(default_factory=list)
    running: list[InboundMessage] = field(default_factory=list)

    @property
    def talk(self) -> Talk:
        return self.talks[self.current]

    def is_listed(self, chat: SessionKey) -> bool:
        return self.current != chat or self.talk.count > 0

    def state(self) -> State:
        mark, session, upto = self.mark
        if mark in ("muted", "waiting"):
            return mark
        spoken = any(line.by == "person" and line.number > upto for line in self.talk.lines)
        if mark == "handled" and session == self.current and not spoken:
            return "handled"
        has_last_word = bool(self.talk.lines) and self.talk.lines[-1].by == "person"
        return "waiting" if self.taken is not None and has_last_word else "open"

    def unread(self) -> int:
        upto = self.read[1] if self.read[0] == self.current else 0
        return sum(line.number > upto for line in self.talk.lines)

    def waiting_since(self) -> float | None:
        times: list[float] = []
        for line in self.talk.lines:
            if line.by == "bot":
                times = []
            elif line.by == "person":
                was_taken = self.taken is not None and line.number > self.taken
                times += [line.at] if was_taken or not line.is_silent else []
        return min(times, default=None)


class InboxMachine(RuleBasedStateMachine):
    """Drives a real store on a loop of its own, and a model beside it."""

    def do(self, act: Coroutine[object, object, Result]) -> Result:
        return self.runner.run(act)

    @initialize()
    def begin_empty(self) -> None:
        self.directory = tempfile.TemporaryDirectory()
        self.runner = asyncio.Runner()
        self.store = self.do(Store(Path(self.directory.name), synchronous="NORMAL").__aenter__())
        self.model = {chat: Chat(chat, {chat: Talk()}) for chat in CHATS}

    def teardown(self) -> None:
        self.do(self.store.__aexit__(None, None, None))
        self.runner.close()
        self.directory.cleanup()

    def listed(self) -> list[SessionKey]:
        return [chat for chat, model in self.model.items() if model.is_listed(chat)]

    def pick(self, number: int) -> tuple[SessionKey, Chat]:
        chats = self.listed()
        chat = chats[number % len(chats)]
        return chat, self.model[chat]

    def add(self, talk: Talk, by: str, at: float = 0.0) -> None:
        talk.count += 1
        talk.lines.append(Line(talk.count, by, at))

    @rule(chat=CHAT)
    def a_person_speaks(self, chat: SessionKey) -> None:
        message = self.do(ask(self.store, chat=chat))
        self.add(self.model[chat].talk, "person", message.received_at.timestamp())
        self.model[chat].running.append(message)

    @rule(chat=CHAT)
    def a_schedule_speaks(self, chat: SessionKey) -> None:
        message = inbound(session=chat, platform_id=f"schedule:x:{self.model[chat].talk.count}:{chat}")
        session = self.model[chat].current
        self.do(self.store.journal.hear(replace(message, session=session)))
        self.add(self.model[chat].talk, "schedule")

    @precondition(lambda self: any(model.running for model in self.model.values()))
    @rule(is_silent=st.booleans())
    def the_bot_ends_a_turn(self, is_silent: bool) -> None:
        model = next(model for model in self.model.values() if model.running)
        message = model.running.pop(0)
        self.do(
            answer(self.store, message, "" if is_silent else "hi", reason="silent" if is_silent else "done")
        )
        if message.session not in model.talks:
            return
        talk = model.talks[message.session]
        for line in talk.lines:
            line.is_silent |= is_silent and line.at == message.received_at.timestamp()
        if not is_silent:
            self.add(talk, "bot")

    @precondition(lambda self: self.listed())
    @rule(number=st.integers(0, 9), state=st.sampled_from(EVERY))
    def mark(self, number: int, state: State) -> None:
        chat, model = self.pick(number)
        self.do(self.store.inbox.mark(chat, state))
        model.mark = (state, model.current, model.talk.count)

    @precondition(lambda self: self.listed())
    @rule(number=st.integers(0, 9), upto=st.none() | st.integers(0, 4))
    def read(self, number: int, upto: int | None) -> None:
        chat, model = self.pick(number)
        self.do(self.store.inbox.mark_read(chat, upto))
        before = model.read[1] if model.read[0] == model.current else 0
        newest = model.talk.count if upto is None else min(upto, model.talk.count)
        model.read = (model.current, 0 if upto == 0 else max(before, newest))

    @precondition(lambda self: self.listed())
    @rule(number=st.integers(0, 9), is_taken=st.booleans())
    def take(self, number: int, is_taken: bool) -> None:
        chat, model = self.pick(number)
        self.do(self.store.inbox.take(chat, "Olga" if is_taken else None))
        model.taken = model.talk.count if is_taken else None

    @precondition(lambda self: self.listed())
    @rule(number=st.integers(0, 9), label=st.sampled_from(["x", "y"]), assignee=st.none() | st.just("Olga"))
    def write(self, number: int, label: str, assignee: str | None) -> None:
        chat, model = self.pick(number)
        self.do(self.store.inbox.label(chat, [label]))
        self.do(self.store.inbox.assign(chat, assignee))
        self.do(self.store.inbox.add_note(chat, label, by="Olga"))
        model.labels, model.assignee = (label,), assignee
        model.notes.append((model.current, label))

    @rule(chat=CHAT)
    def begin_a_session(self, chat: SessionKey) -> None:
        model = self.model[chat]
        model.current = self.do(self.store.sessions.begin(chat))
        model.talks[model.current] = Talk()

    @rule(chat=CHAT, number=st.integers(0, 9))
    def resume_a_session(self, chat: SessionKey, number: int) -> None:
        model = self.model[chat]
        model.current = list(model.talks)[number % len(model.talks)]
        self.do(self.store.sessions.resume(chat, model.current))

    @rule(chat=CHAT)
    def clear_the_session(self, chat: SessionKey) -> None:
        model = self.model[chat]
        self.do(self.store.sessions.clear(model.current, but=NOBODY))
        model.talk.lines.clear()
        model.notes = [note for note in model.notes if note[0] != model.current]

    @precondition(lambda self: not any(model.running for model in self.model.values()))
    @rule(chat=CHAT)
    def erase(self, chat: SessionKey) -> None:
        model = self.model[chat]
        self.do(self.store.sessions.erase(chat, but=NOBODY))
        current = self.do(self.store.sessions.current(chat))
        self.model[chat] = Chat(current, {chat: Talk(), current: Talk()}, taken=model.taken)

    @invariant()
    def the_list_is_the_models(self) -> None:
        found = self.do(self.store.inbox.find(Filter(states=EVERY)))
        assert {one.chat: seen(one) for one in found} == {
            chat: expected(self.model[chat]) for chat in self.listed()
        }
        order = [(one.updated_at, one.chat) for one in found]
        assert order == sorted(order, reverse=True)

    @invariant()
    def pages_and_filters_agree_with_the_list(self) -> None:
        every = self.do(self.store.inbox.find(Filter(states=EVERY)))
        pages: list[Conversation] = []
        while page := self.do(self.store.inbox.find(Filter(states=EVERY), after=after(pages), limit=2)):
            pages += page
        assert pages == every
        for wanted, rule_ in (
            (Filter(), lambda one: one.state != "muted"),
            (Filter(states=("handled",)), lambda one: one.state == "handled"),
            (Filter(is_unread=True), lambda one: one.unread and one.state != "muted"),
            (Filter(is_taken=True, states=EVERY), lambda one: one.taken_by),
            (Filter(labels=("x", "z"), states=EVERY), lambda one: "x" in one.labels),
            (Filter(assignee="Olga", states=EVERY), lambda one: one.assignee == "Olga"),
            (Filter(assignee="", states=EVERY), lambda one: one.assignee is None),
        ):
            assert self.do(self.store.inbox.find(wanted)) == [one for one in every if rule_(one)]

    @invariant()
    def the_counts_are_those_of_the_list(self) -> None:
        counts = self.do(self.store.inbox.counts())
        listed = [self.model[chat] for chat in self.listed()]
        for state in EVERY:
            assert counts.states[state] == sum(model.state() == state for model in listed)
        assert counts.unread == sum(bool(m.unread()) and m.state() != "muted" for m in listed)

    @invariant()
    def notes_are_there_as_long_as_what_they_are_about(self) -> None:
        for chat, model in self.model.items():
            notes = self.do(self.store.inbox.notes(chat))
            assert [note.text for note in notes] == [text for _, text in model.notes]


def after(pages: list[Conversation]) -> Place | None:
    return Place(updated_at=pages[-1].updated_at, chat=pages[-1].chat) if pages else None


def seen(one: Conversation) -> tuple[object, ...]:
    role = one.last and one.last.role
    marks = (one.session, one.state, one.unread, one.taken_by is not None, one.labels, one.assignee)
    return (*marks, role, one.waiting_since)


def expected(model: Chat) -> tuple[object, ...]:
    role = None
    if model.talk.lines:
        role = "assistant" if model.talk.lines[-1].by == "bot" else "user"
    marks = (
        model.current,
        model.state(),
        model.unread(),
        model.taken is not None,
        model.labels,
        model.assignee,
    )
    return (*marks, role, model.waiting_since())


TestInbox = InboxMachine.TestCase
TestInbox.settings = settings(
    max_examples=20,
    stateful_step_count=20,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
