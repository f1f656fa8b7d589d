"""Whatever people, model and operator do, in whatever order: every message ends once, and as it should."""

import asyncio
import os
import shutil
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Literal, TypeAlias, TypeVar, get_args

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import rule

from bot.agent.control import ADMINS_ONLY, CANCELLED, NOTHING_RUNS
from bot.agent.loop import DROPPED as DROPPED_OLD
from bot.agent.questions import LATE, NOT_YOURS
from bot.agent.queueing import DROPS, MAX_CAP, MODES, Drop, Mode, QueueRules
from bot.bus import Receipt
from bot.messages import RunId, SessionKey
from bot.tools.calls import SKIPPED
from tests.agent.promises import CAP, SESSIONS, LoopPromises, answer_to, may_answer
from tests.agent.stage import Order, Question, Say, ToolName, Use

EXAMPLES = int(
    os.environ.get("LOOP_EXAMPLES", "0")
)  # at random: LOOP_EXAMPLES=2000 make test ARGS="-k TestLoop"
STEPS = 40

Choice = TypeVar("Choice")
Act: TypeAlias = Literal[
    "say", "boss", "kill", "kill all", "allow", "deny", "finish", "use", "say on", "open"
]

SESSION = st.sampled_from((SESSIONS[0], *SESSIONS))
WHO = st.sampled_from(["Ann", "Ann", "Ann", "Boss"])
PICK = st.integers(0, 10_000)  # which of those that fit
TOOLS: tuple[ToolName, ...] = ("act", "act", "ask_question", "hold")
TOOL = st.sampled_from(TOOLS)
ACTS = st.lists(st.tuples(st.sampled_from(get_args(Act)), PICK), min_size=2, max_size=5)


class LoopMachine(LoopPromises):
    """All that people, the model and the operator can do; between two rules nothing goes on."""

    @rule(session=SESSION, who=WHO, count=st.integers(1, CAP + 3))
    def say(self, session: SessionKey, who: str, count: int) -> None:
        for _ in range(count):
            self.say_once(session, who)

    def say_once(self, session: SessionKey, who: str) -> None:
        message = self.message(session, who)
        running, waiting = self.waiting(session)
        asked = [q for q in self.record.open_questions() if self.stage.is_answer(message, q)]
        self.say_and_settle(message)

        rules, end = self.queues[session], self.record.end(message.run)
        is_full = waiting >= (CAP if rules.drop == "new" else MAX_CAP)
        if asked:
            assert asked[-1].answer == message.text
            assert end is not None
            assert end.reason == "silent"
        elif is_full:
            assert self.receipts[message.run] is Receipt.REFUSED
            assert end is not None
            assert end.reason == "error"
        else:
            assert self.receipts[message.run] is Receipt.ACCEPTED
        if running is not None:
            interrupts = rules.mode == "interrupt" and self.may_steer(message, running)
            is_killed = interrupts and not asked and not is_full
            assert self.reason(running) == ("killed" if is_killed else None)

    @rule(number=PICK)
    def deliver_again(self, number: int) -> None:
        runs = [run for run, receipt in self.receipts.items() if receipt is Receipt.ACCEPTED]
        if not runs:
            return
        message = self.record.heard[runs[number % len(runs)]]
        before = len(self.record.sent)
        receipt = self.do(self.stage.publish(message))
        self.do(self.stage.settle())

        assert receipt is Receipt.DUPLICATE
        assert len(self.record.sent) == before

    # --- what the model does

    def next_order(self, kind: str, tool: ToolName = "act") -> Order:
        self.counts["orders"] += 1
        number = self.counts["orders"]
        match kind:
            case "say":
                return Say(f"word {number} ")
            case "use":
                return Use(tool, f"t{number}")
            case "fail":
                return "fail"
            case "break":
                return "break"
            case _:
                return "finish"

    @rule(
        number=PICK, kind=st.sampled_from(["say", "use", "use", "use", "finish", "fail", "break"]), tool=TOOL
    )
    def take_a_step(self, number: int, kind: str, tool: ToolName) -> None:
        if not self.stage.loop.busy_sessions:
            self.say_once(pick(number, SESSIONS), "Ann")
        for run in self.stage.asking[number % 2 :]:  # both that have a slot, or one
            self.take_one_step(run, self.next_order(kind, tool))

    def take_one_step(self, run: RunId, order: Order) -> None:
        self.stage.order(run, order)
        self.do(self.stage.settle())

        match order:
            case Say():
                assert self.reason(run) is None
            case Use(tool=tool, token=token):
                asked = [question for question in self.record.questions if question.token == token]
                is_held = token in self.stage.held
                result = self.result(token)
                assert len(asked) + is_held + (result == SKIPPED) == 1, f"{tool} gave {result!r}"
                assert (result == SKIPPED) == (token in self.record.interrupted)
            case "finish":
                assert self.reason(run) in ("done", "error")  # without any words it is an error
            case "fail" | "break":
                assert self.reason(run) == "error"

    @rule(number=PICK)
    def let_a_tool_end(self, number: int) -> None:
        if not self.stage.held:
            self.take_a_step(0, "use", "hold")
        if not self.stage.held:
            return
        token = pick(number, list(self.stage.held))
        self.stage.held[token].set()
        self.do(self.stage.settle())

        assert self.result(token) == f"held {token}"

    # --- what people answer

    @rule(
        number=PICK, who=st.sampled_from(["whoever may"] * 3 + ["Ann", "Boss", "Eve"]), is_yes=st.booleans()
    )
    def press(self, number: int, who: str, is_yes: bool) -> None:
        """Answer all that is open, and something that may not be open any more."""
        if not self.record.open_questions():
            self.take_a_step(0, "use", pick(number, TOOLS))
        questions = self.record.questions
        for question in (*self.record.open_questions(), *questions[number % max(1, len(questions)) :][:1]):
            self.press_once(question, may_answer(question) if who == "whoever may" else who, is_yes=is_yes)

    def press_once(self, question: Question, who: str, *, is_yes: bool) -> None:
        is_open = question in self.record.open_questions()
        message = self.message(question.asked_for.session, who, answer_to(question, is_yes=is_yes))
        self.say_and_settle(message)

        end = self.record.end(message.run)
        assert end is not None
        if not is_open:
            assert end.text == LATE
        elif who != may_answer(question):
            assert end.text == NOT_YOURS
            assert question in self.record.open_questions()
        else:
            assert (end.reason, end.text) == ("silent", "")
            assert self.result(question.token) is not None
            assert self.record.ran[question.token] == (is_yes and question.is_approval)

    # --- the brake

    @rule(
        session=SESSION,
        who=st.sampled_from(["Ann", "Ann", "Boss"]),
        words=st.sampled_from(["", "", " all", " it"]),
    )
    def kill(self, session: SessionKey, who: str, words: str) -> None:
        """Stop a session from within, or (`it`) from another one, by its name, as only an admin may."""
        running, waiting = self.waiting(session)
        killed, is_elsewhere = self.killed(), words == " it"
        here = SESSIONS[SESSIONS.index(session) - 1] if is_elsewhere else session
        message = self.message(here, who, f"/kill {session}" if is_elsewhere else f"/kill{words}")
        self.say_and_settle(message)

        end = self.record.end(message.run)
        assert end is not None
        if is_elsewhere and who != "Boss":
            assert end.text == ADMINS_ONLY
            assert self.killed() == killed
            return
        dropped = waiting if words == " all" else min(waiting, 1) if running is None else 0
        assert end.text.startswith(CANCELLED if running is not None or dropped else NOTHING_RUNS)
        assert running is None or self.reason(running) == "killed"
        assert self.killed() == killed + (running is not None) + dropped

    def killed(self) -> int:
        ends = [ends[0] for ends in self.record.ends.values()]
        return sum(end.reason == "killed" and end.text != DROPPED_OLD for end in ends)

    # --- what the operator does

    @rule(
        what=st.sampled_from(["queue", "queue", "queue", "stop", "crash"]),
        session=SESSION,
        mode=st.sampled_from(MODES),
        drop=st.sampled_from(DROPS),
    )
    def operate(self, what: str, session: SessionKey, mode: Mode, drop: Drop) -> None:
        if what == "queue":
            self.queues[session] = QueueRules(mode=mode, drop=drop, cap=CAP, debounce=0.0)
        else:
            self.restart(is_crash=what == "crash")

    def restart(self, *, is_crash: bool) -> None:
        """Stop and start over the same home; a crash leaves it as it stood in that moment."""
        if is_crash:
            self.stage.is_heard = False  # whatever it says while it is closed was never said
            self.homes += 1
            self.home = Path(shutil.copytree(self.home, self.home.with_name(str(self.homes))))
        running = [RunId(turn.run) for turn in self.stage.loop.running()]
        self.close()
        self.open()

        assert {self.reason(run) for run in running} <= {None}

    # --- all at once

    @rule(acts=ACTS, session=SESSION)
    def do_at_once(self, acts: list[tuple[Act, int]], session: SessionKey) -> None:
        """Only what holds for every order of events can be said afterwards: see the invariants."""
        self.do(self.together([self.act(kind, number, session) for kind, number in acts]))
        self.do(self.stage.settle())

    async def together(self, acts: list[Coroutine[object, object, None]]) -> None:
        async with asyncio.TaskGroup() as group:
            for act in acts:
                group.create_task(act)

    async def act(self, kind: Act, number: int, session: SessionKey) -> None:
        match kind:
            case "say" | "boss":
                where = pick(number, (session, *SESSIONS))
                await self.publish(self.message(where, "Boss" if kind == "boss" else "Ann"))
            case "kill" | "kill all":
                await self.publish(self.message(session, "Ann", f"/{kind}"))
            case "allow" | "deny":
                if questions := self.record.open_questions():
                    question = pick(number, questions)
                    text = answer_to(question, is_yes=kind == "allow")
                    message = self.message(question.asked_for.session, may_answer(question), text)
                    await self.publish(message)
            case "open":
                for gate in self.stage.held.values():
                    gate.set()
            case _:
                if runs := self.stage.asking:
                    tool = pick(number, TOOLS)
                    self.stage.order(pick(number, runs), self.next_order(kind.removesuffix(" on"), tool))


def pick(number: int, choices: Sequence[Choice]) -> Choice:
    return choices[number % len(choices)]


TestLoop = LoopMachine.TestCase
TestLoop.settings = settings(
    max_examples=EXAMPLES or 50,
    stateful_step_count=STEPS,
    derandomize=EXAMPLES == 0,
    database=None,
    deadline=None,
    print_blob=True,
    report_multiple_bugs=False,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
TestLoop = pytest.mark.timeout(60 + EXAMPLES)(TestLoop)
