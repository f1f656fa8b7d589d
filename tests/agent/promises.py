"""What holds of a running bot, whatever is done to it: for state machines, which do it."""

import asyncio
import tempfile
from collections import Counter
from collections.abc import Coroutine
from pathlib import Path
from typing import TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant

from bot.agent.brake import DROPPED as CANCELLED_WAITING
from bot.agent.loop import DROPPED as DROPPED_OLD
from bot.agent.questions import LATE
from bot.agent.queueing import DROPS, MODES, Drop, Mode, QueueRules
from bot.agent.steering import ADDED
from bot.bus import Receipt
from bot.messages import AgentEnd, End, Failure, InboundMessage, InboxUpdate, Killed, RunId, SessionKey
from bot.tools.approval import NOT_PERMITTED
from bot.tools.calls import SKIPPED
from tests.agent.stage import Question, Record, Stage
from tests.factories import inbound

SESSIONS = tuple(SessionKey(f"other:default:{name}") for name in "abc")
CAP = 2
AFTERWARDS = (AgentEnd, Failure, InboxUpdate, Killed)  # what is told of a run that has ended

Result = TypeVar("Result")


class LoopPromises(RuleBasedStateMachine):
    """A real bot on an event loop of its own, and what has to hold for it at any time.

    No rule may have a precondition: which turn gets a slot first is a matter of threads, and what hypothesis
    draws must not depend on it.
    """

    is_stuck = False  # something never came to its end: nothing more can be said

    def do(self, act: Coroutine[object, object, Result]) -> Result:
        try:
            return self.runner.run(act)
        except TimeoutError:
            self.is_stuck = True
            raise

    @initialize(modes=st.tuples(*[st.sampled_from(MODES)] * 3), drop=st.sampled_from(DROPS))
    def begin_empty(self, modes: tuple[Mode, ...], drop: Drop) -> None:
        self.directory = tempfile.TemporaryDirectory()
        self.runner = asyncio.Runner()
        self.record = Record()
        self.queues = {
            session: QueueRules(mode=mode, drop=drop, cap=CAP, debounce=0.0)
            for session, mode in zip(SESSIONS, modes, strict=True)
        }
        self.receipts: dict[RunId, Receipt] = {}
        self.counts: Counter[str] = Counter()
        self.seen = 0  # of what was published
        self.read = 0  # of what the model was sent
        self.over: set[RunId] = set()
        self.homes = 0
        self.home = Path(self.directory.name) / "0"
        self.home.mkdir()
        self.open()

    def open(self) -> None:
        self.stage = self.do(Stage(self.home, self.queues, self.record).__aenter__())
        self.do(self.stage.settle())

    def close(self) -> None:
        self.do(self.stage.__aexit__(None, None, None))
        assert self.do(other_tasks()) == set()

    def teardown(self) -> None:
        try:
            if not self.is_stuck:
                self.come_to_an_end()
        finally:
            self.close()
            self.runner.close()
            self.directory.cleanup()

    # --- what is said

    def message(self, session: SessionKey, who: str, text: str = "") -> InboundMessage:
        if not text:
            self.counts["said"] += 1
            text = f"remark {self.counts['said']}."
        return inbound(text, session=session, speaker=who)

    async def publish(self, message: InboundMessage) -> None:
        self.receipts[message.run] = await self.stage.publish(message)

    def say_and_settle(self, message: InboundMessage) -> None:
        self.do(self.publish(message))
        self.do(self.stage.settle())

    def waiting(self, session: SessionKey) -> tuple[RunId | None, int]:
        running, waiting = self.stage.loop.activity(session)
        return None if running is None else RunId(running.run), waiting

    def may_steer(self, message: InboundMessage, running: RunId) -> bool:
        return message.sender.id == "boss" or self.record.heard[running].sender == message.sender

    def reason(self, run: RunId) -> str | None:
        end = self.record.end(run)
        return None if end is None else end.reason

    def result(self, token: str) -> str | None:
        """What the model got to see of a call."""
        for _, request in reversed(self.record.asked):
            for part in request.messages:
                if part.tool_call_id == token:
                    return part.content
        return None

    # --- what always holds

    @invariant()
    def nothing_is_said_after_the_end_of_a_run(self) -> None:
        for said in self.record.sent[self.seen :]:
            assert isinstance(said, AFTERWARDS) or said.run not in self.over, said
            if isinstance(said, End):
                self.over.add(said.run)
        self.seen = len(self.record.sent)

    @invariant()
    def turns_of_a_session_never_overlap_and_keep_their_order(self) -> None:
        assert self.record.overlaps == 0
        places = {run: place for place, run in enumerate(self.record.heard)}
        for session in SESSIONS:
            begun = [
                places[run]
                for process, run in self.record.turns
                if process == self.record.processes and self.record.heard[run].session == session
            ]
            assert begun == sorted(set(begun))

    @invariant()
    def only_what_was_permitted_has_run_and_only_once(self) -> None:
        ends = self.record.ends
        allowed = {
            q.token: q.asked_for.run for q in self.record.questions if q.is_approval and q.answer == "1"
        }
        assert set(self.record.ran) <= set(allowed)
        assert all(count == 1 for count in self.record.ran.values())
        assert all(token in self.record.ran or run in ends for token, run in allowed.items())

    @invariant()
    def only_who_may_do_what_a_turn_may_is_heard_by_it(self) -> None:
        said = {message.text: message for message in self.record.heard.values()}
        for run, request in self.record.asked[self.read :]:
            for part in request.messages:
                note, _, text = part.content.partition("\n")
                if note == ADDED:
                    message = said[text.rpartition(": ")[2]]
                    assert message.session == self.record.heard[run].session
                    assert self.may_steer(message, run)

    @invariant()
    def every_result_goes_to_its_own_call(self) -> None:
        answers = {question.token: question for question in self.record.questions}
        for _, request in self.record.asked[self.read :]:
            for part in request.messages:
                if (token := part.tool_call_id) is None or part.content == SKIPPED:
                    continue
                question = answers.get(token)
                if question is None:
                    assert part.content == f"held {token}"
                elif not question.is_approval:
                    assert part.content == question.answer
                elif question.answer == "1":
                    assert part.content == f"ran {token}"
                else:
                    assert part.content == f"Not allowed: {NOT_PERMITTED}"

    @invariant()
    def remember_what_was_looked_at(self) -> None:
        self.read = len(self.record.asked)

    # --- the end of each example

    def come_to_an_end(self) -> None:
        """Let all that runs and waits end in peace; then every message has its end, and nothing is left."""
        for _ in range(100):
            if not self.stage.loop.busy_sessions:
                break
            self.do(self.let_all_go_on())
            self.do(self.stage.settle())
        self.nothing_is_said_after_the_end_of_a_run()
        self.turns_of_a_session_never_overlap_and_keep_their_order()
        self.every_result_goes_to_its_own_call()

        counts = {run: len(ends) for run, ends in self.record.ends.items()}
        assert {run: counts.get(run) for run in self.receipts} == dict.fromkeys(self.receipts, 1)
        assert set(counts.values()) <= {1}
        assert self.do(self.stage.store.journal.unfinished()) == []
        self.no_question_is_open()
        self.every_message_was_dealt_with()

    async def let_all_go_on(self) -> None:
        for gate in self.stage.held.values():
            gate.set()
        for run in self.stage.asking:
            self.stage.order(run, "finish")
        for question in self.record.open_questions():
            text = answer_to(question, is_yes=False)
            await self.publish(self.message(question.asked_for.session, may_answer(question), text))

    def no_question_is_open(self) -> None:
        for question in self.record.questions[-3:]:
            message = self.message(SESSIONS[0], "Boss", answer_to(question, is_yes=True))
            self.do(self.publish(message))
            end = self.record.end(message.run)
            assert end is not None
            assert end.text == LATE

    def every_message_was_dealt_with(self) -> None:
        """It was answered, or became part of another turn, or somebody was told why not; and is kept once."""
        shown = {run: [part.content for part in request.messages] for run, request in self.record.asked}
        lines = [line for session in SESSIONS for line in self.lines(session)]
        answers = {question.answer for question in self.record.questions}
        for run, receipt in self.receipts.items():
            message, end = self.record.heard[run], self.record.end(run)
            if not message.text.startswith("remark") or end is None:
                continue
            was_seen = any(message.text in text for texts in shown.values() for text in texts)
            match end.reason:
                case "silent":
                    assert was_seen or message.text in answers
                case "done":
                    assert any(message.text in text for text in shown[run])
                case "killed":
                    assert was_seen or end.text in (CANCELLED_WAITING, DROPPED_OLD) or not shown.get(run)
                case "error":
                    assert was_seen or end.text == LATE or receipt is Receipt.REFUSED
            count = sum(message.text in line for line in lines)
            assert count == (receipt is Receipt.ACCEPTED)

    def lines(self, session: SessionKey) -> list[str]:
        found = self.do(self.stage.store.history.recent(session, limit=10_000))
        return [line.text for line in found if line.role == "user"]


async def other_tasks() -> set[asyncio.Task[object]]:
    """What still runs on the loop."""
    await asyncio.sleep(0)
    return asyncio.all_tasks() - {asyncio.current_task()}


def answer_to(question: Question, *, is_yes: bool) -> str:
    """Pressing a button, or what is typed into the form behind it."""
    words = ("1" if is_yes else "3") if question.is_approval else ("yes" if is_yes else "no")
    return f"/answer {question.id} {words}"


def may_answer(question: Question) -> str:
    """Whose answer counts."""
    return "Boss" if question.is_approval else question.asked_for.sender.name
