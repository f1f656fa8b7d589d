"""A whole loop over a real store, with a backend that a test plays."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Self, TypeAlias

from msgspec.structs import replace

from bot.agent.loop import AgentLoop
from bot.agent.loop_settings import LoopSettings
from bot.agent.prompt import PromptBuilder
from bot.agent.queueing import MAX_CAP, QueueRules
from bot.agent.seams import Seams
from bot.agent.turn import Turn
from bot.agent.workspace import Workspace
from bot.backends.base import AgentBackend, AgentEvent, Capability, DoneEvent, MessageEvent, TurnInput
from bot.bus import LocalBus, Receipt
from bot.messages import (
    Address,
    Chunk,
    End,
    InboundMessage,
    MessageId,
    Missed,
    OutboundMessage,
    Role,
    Sender,
    SessionKey,
    StoredMessage,
    SystemEvent,
    new_id,
    utc_now,
)
from bot.models.base import ModelProfile
from memory.store import Store
from security.audit import AuditLog

Play: TypeAlias = Callable[[TurnInput], AsyncIterator[AgentEvent]]

EACH_FOR_ITSELF = QueueRules(mode="followup", cap=MAX_CAP)


async def echo(turn: TurnInput) -> AsyncIterator[AgentEvent]:
    """Answers with the message, word by word."""
    for word in ("echo: " + turn.messages[-1].content).split(" "):
        yield MessageEvent(content=word + " ")
    yield DoneEvent()


class PlayedBackend:
    """An agent whose answers a test writes: `play` may wait on whatever the test holds."""

    capabilities = Capability.STREAMING
    profile = ModelProfile(window=8_000, max_output=1_000)

    def __init__(self, play: Play = echo) -> None:
        self.play = play
        self.turns: list[TurnInput] = []
        self.running = 0
        self.most_running = 0
        self.busy: set[SessionKey] = set()
        self.overlaps = 0

    async def run(self, turn: TurnInput) -> AsyncIterator[AgentEvent]:
        """See `AgentBackend.run`; notes turns of one session that overlap."""
        self.turns.append(turn)
        self.overlaps += turn.session in self.busy
        self.busy.add(turn.session)
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        try:
            async for event in self.play(turn):
                yield event
        finally:
            self.running -= 1
            self.busy.discard(turn.session)

    async def backend(self, session: SessionKey) -> AgentBackend:
        """See `Router.backend`."""
        return self

    def model(self, session: SessionKey) -> str | None:
        """See `Router.model`."""
        return None

    async def aclose(self) -> None:
        """Nothing to let go of."""


class Rig:
    """The loop from `start` to `stop`, and what it published."""

    def __init__(self, home: Path, backend: PlayedBackend, **changes: object) -> None:
        self.home = home
        self.backend = backend
        self.changes = changes
        self.bus = LocalBus()
        self.ends: list[End] = []
        self.chunks: list[Chunk] = []
        self.sent: list[OutboundMessage] = []
        self.events: list[SystemEvent | Missed] = []
        self._news = asyncio.Condition()

    async def __aenter__(self) -> Self:
        self._group = asyncio.TaskGroup()
        await self._group.__aenter__()
        self._outbound, self._system = self.bus.outbound(), self.bus.events()
        self._group.create_task(self._follow_answers())
        self._group.create_task(self._follow_events())
        self.store = await Store(self.home, synchronous="NORMAL").__aenter__()
        self.audit = AuditLog(self.home / "audit", self.store.audit_pointer)
        prompts = PromptBuilder(
            name="Rig", workspace=Workspace(self.home / "workspace"), top_k=12, max_tokens=4_000
        )
        run_timeout = self.changes.pop("run_timeout", 60.0)
        seams = self.changes.pop("seams", Seams())
        rules = self.changes.pop("rules", EACH_FOR_ITSELF)
        spending = self.changes.pop("spending", None)
        assert isinstance(run_timeout, float)
        assert isinstance(rules, QueueRules)
        assert isinstance(seams, Seams)
        if callable(renewal := self.changes.get("renewal")):
            self.changes["renewal"] = renewal(self)
        if callable(spending):
            seams = replace(seams, spending=spending(self.store))
        turn = Turn(
            journal=self.store.journal,
            ledger=self.store.ledger,
            bus=self.bus,
            router=self.backend,
            prompts=prompts,
            seams=seams,
            run_timeout=run_timeout,
            history=12,
        )
        given = {
            "name": "Rig",
            "admins": frozenset({"other:boss"}),
            "max_concurrent_turns": 64,
            "max_waiting": 200,
            "max_crashes": 3,
            "shutdown_grace": 5.0,
            "live_channels": frozenset({"web"}),
            "history": 12,
        }
        settings = LoopSettings(**(given | self.changes))  # type: ignore[arg-type]  # typed by the names above
        self.loop = AgentLoop(
            settings,
            bus=self.bus,
            journal=self.store.journal,
            turn=turn,
            audit=self.audit,
            rules=lambda message: rules,
        )
        await self.loop.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.loop.__aexit__(None, None, None)
        await self.audit.aclose()
        await self.store.__aexit__(None, None, None)
        self._outbound.close()
        self._system.close()
        await self._group.__aexit__(None, None, None)

    async def _follow_answers(self) -> None:
        async for message in self._outbound:
            self.sent.append(message)
            if isinstance(message, End):
                self.ends.append(message)
            else:
                self.chunks.append(message)
            await self._tell()

    async def _follow_events(self) -> None:
        async for event in self._system:
            self.events.append(event)
            await self._tell()

    async def _tell(self) -> None:
        async with self._news:
            self._news.notify_all()

    async def until(self, claim: Callable[[], bool]) -> None:
        """Wait until a claim about what was published is true."""
        async with asyncio.timeout(20), self._news:
            await self._news.wait_for(claim)

    async def ended(self, count: int) -> list[End]:
        """Wait for so many ends."""
        await self.until(lambda: len(self.ends) >= count)
        return self.ends

    async def say(self, text: str, chat: str = "main", **changes: object) -> Receipt:
        """Publish a message as a person of the page would."""
        return await self.bus.publish(inbound(text, chat, **changes))

    async def history(self, chat: str = "main") -> list[StoredMessage]:
        """The lines of a chat."""
        return await self.store.history.recent(SessionKey(f"web:default:{chat}"), limit=1000)

    async def texts(self, chat: str = "main") -> list[tuple[str, str]]:
        """The lines of a chat, as pairs of role and text."""
        return [(line.role, line.text) for line in await self.history(chat)]


def inbound(text: str, chat: str = "main", **changes: object) -> InboundMessage:
    """A message of the owner on the page."""
    address = Address(channel="web", chat=chat)
    id_ = new_id()
    given: dict[str, object] = {
        "id": MessageId(id_),
        "platform_id": id_,
        "address": address,
        "session": address.session(),
        "sender": Sender(id="ann", name="Ann", role=Role.OWNER),
        "text": text,
        "received_at": utc_now(),
    }
    return InboundMessage(**(given | changes))  # type: ignore[arg-type]  # typed by the names above


@asynccontextmanager
async def rig(home: Path, play: Play = echo, **changes: object) -> AsyncIterator[Rig]:
    """A running loop whose backend plays `play`."""
    async with Rig(home, PlayedBackend(play), **changes) as running:
        yield running


class Gate:
    """Holds answers back until a test opens it; tells when somebody waits at it."""

    def __init__(self) -> None:
        self._opened = asyncio.Event()
        self._reached = asyncio.Event()

    def open(self) -> None:
        """Let everybody pass, now and later."""
        self._opened.set()

    async def reached(self) -> None:
        """Wait until an answer stands at the gate."""
        async with asyncio.timeout(10):
            await self._reached.wait()

    async def wait(self) -> None:
        """Wait at the gate."""
        self._reached.set()
        await self._opened.wait()

    def play(self, before: str = "", after: str = "done") -> Play:
        """An answer that says `before`, waits at the gate, and says `after`."""

        async def answer(turn: TurnInput) -> AsyncIterator[AgentEvent]:
            if before:
                yield MessageEvent(content=before)
            await self.wait()
            yield MessageEvent(content=after)
            yield DoneEvent()

        return answer


Wait: TypeAlias = Callable[[], Awaitable[None]]
