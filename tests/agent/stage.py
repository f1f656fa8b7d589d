"""A whole loop over a real store, whose model takes each step when a test says so."""

import asyncio
import json
import re
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Final, Literal, Self, TypeAlias

from bot.agent.control import is_operator
from bot.agent.loop import AgentLoop
from bot.agent.loop_settings import LoopSettings
from bot.agent.prompt import PromptBuilder
from bot.agent.questions import QuestionDesk
from bot.agent.queueing import QueueRules
from bot.agent.seams import Seams
from bot.agent.turn import Turn
from bot.agent.workspace import Workspace
from bot.backends.base import AgentBackend, AgentEvent, Capability, TurnInput
from bot.backends.native import NativeBackend
from bot.bus import LocalBus, Receipt
from bot.errors import ModelError
from bot.messages import End, InboundMessage, OutboundMessage, RunId, SessionKey, SystemEvent
from bot.models.base import (
    CompleteToolCall,
    Finish,
    FunctionCall,
    ModelEvent,
    ModelProfile,
    ModelRequest,
    TextDelta,
    ToolCall,
)
from bot.settings.tools import ToolsSettings
from bot.tools.approval import Approvals
from bot.tools.ask import AskTools
from bot.tools.box import ToolBox
from bot.tools.declare import declare
from bot.tools.jobs import Jobs
from bot.tools.registry import ToolRegistry
from bot.tools.results import Results
from memory.store import Store
from security.audit import AuditLog

SLOTS: Final = 2
ADMINS: Final = frozenset({"other:boss"})
PATIENCE: Final = 3_600.0  # seconds that questions wait: never over in a test
TOKEN = re.compile(r"\bt\d+\b")
ANSWER = re.compile(r"/answer (?P<id>[0-9a-f]{6})")

ToolName: TypeAlias = Literal["act", "ask_question", "hold"]


@dataclass(frozen=True, slots=True)
class Say:
    """The model says something, and goes on."""

    text: str


@dataclass(frozen=True, slots=True)
class Use:
    """The model calls a tool; the token tells its calls apart, and is the call's id."""

    tool: ToolName
    token: str


Order: TypeAlias = Say | Use | Literal["finish", "fail", "break"]


@dataclass(slots=True, kw_only=True)
class Question:
    """What a turn has asked: for one of its calls.

    Attributes:
        answer: What it was answered, as it was said.
    """

    id: str
    token: str
    asked_for: InboundMessage
    is_approval: bool
    is_open: bool = True
    answer: str | None = None


@dataclass(slots=True)
class Record:
    """What was to be seen from outside; it goes on over restarts.

    Attributes:
        heard: Every message that was handed in, in order.
        turns: Which process began them, and which run.
        asked: What the model was sent, by its run, in order.
        ran: How often calls that need a permission took effect, by their tokens.
        interrupted: Calls before which somebody had said something to their turn.
    """

    heard: dict[RunId, InboundMessage] = field(default_factory=dict)
    sent: list[OutboundMessage | SystemEvent] = field(default_factory=list)
    ends: dict[RunId, list[End]] = field(default_factory=dict)
    turns: list[tuple[int, RunId]] = field(default_factory=list)
    asked: list[tuple[RunId, ModelRequest]] = field(default_factory=list)
    ran: Counter[str] = field(default_factory=Counter)
    interrupted: set[str] = field(default_factory=set)
    questions: list[Question] = field(default_factory=list)
    overlaps: int = 0
    processes: int = 0

    def end(self, run: RunId) -> End | None:
        """How a run has ended, if it has."""
        return self.ends[run][-1] if run in self.ends else None

    def open_questions(self) -> list[Question]:
        """Those that wait for an answer."""
        return [question for question in self.questions if question.is_open and not self._is_over(question)]

    def _is_over(self, question: Question) -> bool:
        return question.asked_for.run in self.ends


class TappedBus(LocalBus):
    """Writes down what is published, before a mailbox could merge or pass over it."""

    def __init__(self, hear: Callable[[OutboundMessage | SystemEvent], None]) -> None:
        super().__init__()
        self._hear = hear

    def send(self, message: OutboundMessage) -> None:
        """See `Bus.send`."""
        self._hear(message)
        super().send(message)

    def is_wanted(self, kind: type[SystemEvent], session: SessionKey) -> bool:
        """See `Bus.is_wanted`."""
        return True

    def emit(self, event: SystemEvent) -> None:
        """See `Bus.emit`."""
        self._hear(event)
        super().emit(event)


class Player:
    """A model client that does what the stage orders for its run."""

    profile = ModelProfile(window=100_000, max_output=1_000)

    def __init__(self, stage: "Stage", turn: TurnInput) -> None:
        self._stage = stage
        self._turn = turn

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """See `ModelClient.stream`."""
        run = self._turn.run
        self._stage.record.asked.append((run, request))
        while True:
            match await self._stage.next_order(run):
                case Say(text=text):
                    yield TextDelta(text=text)
                case Use(tool=tool, token=token):
                    if self._turn.steering.is_waiting:
                        self._stage.record.interrupted.add(token)
                    function = FunctionCall(name=tool, arguments=_arguments(tool, token))
                    yield CompleteToolCall(call=ToolCall(id=token, function=function))
                    yield Finish(reason="tool_calls")
                    return
                case "finish":
                    yield Finish(reason="stop")
                    return
                case "fail":
                    raise ModelError("The model has failed.")
                case "break":
                    raise RuntimeError("a bug")

    async def aclose(self) -> None:
        """Nothing to let go of."""


class Stage:
    """One process: from `__aenter__` to `__aexit__` it serves the messages of a home.

    Args:
        rules: What happens to messages that wait, by session; may change at any time.
    """

    capabilities = Capability.STREAMING | Capability.TOOLS | Capability.STEERING
    profile = Player.profile

    def __init__(self, home: Path, rules: Mapping[SessionKey, QueueRules], record: Record) -> None:
        self.home = home
        self.record = record
        self._rules = rules
        self._stack = AsyncExitStack()
        self._asking: dict[RunId, asyncio.Future[Order]] = {}
        self._busy: set[SessionKey] = set()
        self._calls: dict[str, RunId] = {}  # by their tokens
        self.held: dict[str, asyncio.Event] = {}  # calls that wait at a gate
        self.is_heard = True
        record.processes += 1
        for question in record.questions:
            question.is_open = False

    async def __aenter__(self) -> Self:
        enter = self._stack.enter_async_context
        self.store = await enter(Store(self.home, synchronous="NORMAL"))
        self.bus = TappedBus(self._hear)
        desk, jobs = QuestionDesk(), Jobs(reap=0.1)
        self._stack.push_async_callback(jobs.aclose)
        audit = AuditLog(self.home / "audit", self.store.audit_pointer)
        self._stack.push_async_callback(audit.aclose)
        turn = Turn(
            journal=self.store.journal,
            ledger=self.store.ledger,
            bus=self.bus,
            router=self,
            prompts=PromptBuilder(
                name="Bot", workspace=Workspace(self.home / "workspace"), top_k=50, max_tokens=8_000
            ),
            seams=Seams(tools=self._tools(desk, jobs, audit)),
            run_timeout=PATIENCE,
            history=50,
        )
        settings = LoopSettings(
            name="Bot",
            admins=ADMINS,
            max_concurrent_turns=SLOTS,
            max_waiting=200,
            max_crashes=1_000,
            shutdown_grace=0.0,
            live_channels=frozenset(),
            history=50,
        )
        self.loop = AgentLoop(
            settings,
            bus=self.bus,
            journal=self.store.journal,
            turn=turn,
            audit=audit,
            rules=lambda message: self._rules[message.session],
            questions=desk,
        )
        await enter(self.loop)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    def _tools(self, desk: QuestionDesk, jobs: Jobs, audit: AuditLog) -> ToolBox:
        def may_approve(message: InboundMessage) -> bool:
            return is_operator(message, ADMINS)

        approvals = Approvals(
            {},
            questions=desk,
            permissions=self.store.state("bot", "approvals"),
            audit=audit,
            may_approve=may_approve,
            seconds=PATIENCE,
        )
        tools = [
            declare(self._act, name="act", risk="exec"),
            declare(self._hold, name="hold", timeout=PATIENCE),
            *AskTools(desk, seconds=PATIENCE).tools(),
        ]
        return ToolBox(
            ToolRegistry(tools, ToolsSettings(allow=("act",)), may_approve),
            results=Results(self.home / "artifacts", limit=2_000),
            jobs=jobs,
            is_admin=may_approve,
            gates=(approvals,),
        )

    async def _act(self, token: str) -> str:
        """Take effect; needs a permission."""
        self.record.ran[token] += 1
        return f"ran {token}"

    async def _hold(self, token: str) -> str:
        """Wait at a gate."""
        gate = self.held[token] = asyncio.Event()
        try:
            await gate.wait()
        finally:
            del self.held[token]
        return f"held {token}"

    # --- the backend, and the router that gives it

    async def run(self, turn: TurnInput) -> AsyncGenerator[AgentEvent, None]:
        """See `AgentBackend.run`."""
        self.record.turns.append((self.record.processes, turn.run))
        self.record.overlaps += turn.session in self._busy
        self._busy.add(turn.session)
        try:
            async with aclosing(NativeBackend(Player(self, turn), model="m").run(turn)) as events:
                async for event in events:
                    yield event
        finally:
            self._busy.discard(turn.session)

    async def backend(self, session: SessionKey) -> AgentBackend:
        """See `Router.backend`."""
        return self

    def model(self, session: SessionKey) -> str | None:
        """See `Router.model`."""
        return None

    async def aclose(self) -> None:
        """Nothing to let go of."""

    # --- what a test does

    async def publish(self, message: InboundMessage) -> Receipt:
        """Hand a message in; notes which question it has answered."""
        self.record.heard.setdefault(message.run, message)
        receipt = await self.bus.publish(message)
        end = self.record.end(message.run)
        if receipt is Receipt.ACCEPTED and end is not None and end.reason == "silent":
            self._note_answer(message)
        return receipt

    def _note_answer(self, message: InboundMessage) -> None:
        match = ANSWER.match(message.text)
        for question in reversed(self.record.questions):
            if question.id == match["id"] if match else self.is_answer(message, question):
                question.is_open = False
                question.answer = message.text[match.end() :].strip() if match else message.text
                return
        raise AssertionError("a message was taken for an answer, and nothing was asked")

    @staticmethod
    def is_answer(message: InboundMessage, question: Question) -> bool:
        """Whether what is said in a chat answers a question."""
        asked_for = question.asked_for
        is_theirs = (message.session, message.sender) == (asked_for.session, asked_for.sender)
        return question.is_open and not question.is_approval and is_theirs

    def order(self, run: RunId, order: Order) -> None:
        """Let the model of a run do something."""
        if isinstance(order, Use):
            self._calls[order.token] = run
        self._asking[run].set_result(order)

    @property
    def asking(self) -> list[RunId]:
        """The runs whose model waits for an order."""
        return [run for run, asked in self._asking.items() if not asked.done()]

    async def next_order(self, run: RunId) -> Order:
        """Wait until the test has the model of a run do something."""
        asked: asyncio.Future[Order] = asyncio.get_running_loop().create_future()
        self._asking[run] = asked
        try:
            return await asked
        finally:
            del self._asking[run]

    async def settle(self) -> None:
        """Wait until nothing goes on by itself: every turn that has a slot waits for the test."""
        marks, quiet = self.store.state("test", "marks"), 0
        async with asyncio.timeout(10):
            while quiet < 2:
                await marks.put("here", "")  # behind all that is being written
                for _ in range(3):
                    await asyncio.sleep(0)
                quiet = quiet + 1 if self._is_settled() else 0

    def _is_settled(self) -> bool:
        running = [RunId(turn.run) for turn in self.loop.running()]
        waiting = {
            *self.asking,
            *(self._calls[token] for token in self.held),
            *(question.asked_for.run for question in self.record.open_questions()),
        }
        return len(running) == min(SLOTS, self.loop.busy_sessions) and waiting.issuperset(running)

    def _hear(self, message: OutboundMessage | SystemEvent) -> None:
        if not self.is_heard:
            return
        self.record.sent.append(message)
        if isinstance(message, End):
            self.record.ends.setdefault(message.run, []).append(message)
            if message.buttons and (match := ANSWER.match(message.buttons[0].value)):
                self._note_question(match["id"], message)

    def _note_question(self, id_: str, said: End) -> None:
        token = TOKEN.findall(said.text)[-1]
        asked_for = self.record.heard[self._calls[token]]
        assert said.address == asked_for.address, "a question was asked elsewhere"
        is_approval = said.text.startswith("**May I run `act`**")
        question = Question(id=id_, token=token, asked_for=asked_for, is_approval=is_approval)
        self.record.questions.append(question)


def _arguments(tool: ToolName, token: str) -> str:
    return json.dumps({"question": f"What about {token}?"} if tool == "ask_question" else {"token": token})
