"""Sub-agents: agents that an agent sets to work on a part of its task, in sessions of their own."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import aclosing, contextmanager
from typing import Final, Protocol

import msgspec
from msgspec.structs import replace

from bot.agent.history import estimate_tokens
from bot.agent.news import news_of
from bot.agent.spending import open_tab
from bot.agent.tab import Tab
from bot.agent.taint import Source, known_taint
from bot.backends.base import (
    AgentBackend,
    AgentEvent,
    DoneEvent,
    ErrorEvent,
    MessageEvent,
    TokenUsageEvent,
    Tools,
    TurnInput,
)
from bot.bus import Bus
from bot.errors import BudgetSpent
from bot.messages import Attachment, InboundMessage, MessageId, SessionKey, new_id
from bot.models.base import PromptMessage
from bot.tools.base import SUBAGENT, Tool, ToolContext, ToolFault, ToolOutput
from bot.tools.declare import declare

MAX_DEPTH: Final = 3
AT_ONCE: Final = 8  # sub-agents of one parent
SECONDS: Final = 300.0
MAX_TASK: Final = 20_000  # characters
NOTHING_TO_SAY = "(The sub-agent is done and has nothing to say.)"
INSTRUCTIONS = """\
You are a sub-agent of one that talks to people. Do the task you are given with the tools you have, without
asking back, and end with a complete result in plain text: it is all that the agent gets to see."""


class Router(Protocol):
    """Picks the backend that answers a session."""

    async def backend(self, session: SessionKey) -> AgentBackend: ...

    def model(self, session: SessionKey) -> str | None: ...


class Subagent(msgspec.Struct, frozen=True, kw_only=True):
    """A sub-agent at work.

    Attributes:
        parent: The session that has set it to work.
        session: Its own, which no list shows.
        began_at: On the clock of `time.monotonic`.
    """

    parent: SessionKey
    session: SessionKey
    task: str
    depth: int
    began_at: float = msgspec.field(default_factory=time.monotonic)


class Subagents:
    """Sets sub-agents to work, each inside the turn that asked for it, which pays: what ends it ends them.

    Args:
        tools_for: The tools of a sub-agent, for the message it works on and its depth.
    """

    def __init__(
        self,
        router: Router,
        *,
        tools_for: Callable[[InboundMessage, int], Tools],
        bus: Bus,
        seconds: float = SECONDS,
    ) -> None:
        self._router = router
        self._tools_for = tools_for
        self._bus = bus
        self._seconds = seconds
        self._working: list[Subagent] = []

    def of(self, session: SessionKey) -> Sequence[Subagent]:
        """The sub-agents that work for a session, those of its sub-agents included."""
        return [subagent for subagent in self._working if subagent.session.startswith(f"{session}{SUBAGENT}")]

    async def delegate_task(self, task: str, context: ToolContext) -> ToolOutput:
        """Give a part of your work to a sub-agent and wait for its result; it knows nothing of this talk.

        Several at once work side by side.

        Args:
            task: All the sub-agent needs to know, and what the result has to contain.
        """
        if not task.strip() or len(task) > MAX_TASK:
            raise ToolFault(f"A task has 1 to {MAX_TASK:,} characters.")
        if context.depth >= MAX_DEPTH:
            raise ToolFault("Sub-agents of sub-agents go no deeper: do this yourself.")
        if sum(subagent.parent == context.session for subagent in self._working) >= AT_ONCE:
            raise ToolFault(f"{AT_ONCE} sub-agents work for you already: wait for their results.")
        with self._at_work(task, context) as subagent:
            try:
                async with asyncio.timeout(self._seconds):
                    return await self._work(subagent, context)
            except TimeoutError:
                raise ToolFault(
                    f"The sub-agent was not done within {self._seconds:g} s: give it less."
                ) from None

    @contextmanager
    def _at_work(self, task: str, context: ToolContext) -> Iterator[Subagent]:
        subagent = Subagent(
            parent=context.session,
            session=SessionKey(f"{context.session}{SUBAGENT}{new_id()[-12:]}"),
            task=task,
            depth=context.depth + 1,
        )
        self._working.append(subagent)
        try:
            yield subagent
        finally:
            self._working.remove(subagent)

    async def _work(self, subagent: Subagent, context: ToolContext) -> ToolOutput:
        id_ = MessageId(new_id())
        message = replace(
            context.message,
            id=id_,
            platform_id=id_,
            session=subagent.session,
            text=subagent.task,
            attachments=(),
        )
        backend = await self._router.backend(context.session)
        prompt = (
            PromptMessage(role="system", content=INSTRUCTIONS),
            PromptMessage(role="user", content=subagent.task),
        )
        turn = TurnInput(
            session=subagent.session,
            run=message.run,
            messages=prompt,
            prompt_tokens=sum(estimate_tokens(part.content) for part in prompt),
            model=self._router.model(context.session),
            tools=self._tools_for(message, subagent.depth),
            deadline=time.monotonic() + self._seconds,
        )
        async with open_tab() as tab:
            try:
                return await self._listen(backend, replace(turn, oversight=tab), context, tab)
            except BudgetSpent as error:
                raise ToolFault(f"The sub-agent failed: {error}") from None

    async def _listen(
        self, backend: AgentBackend, turn: TurnInput, context: ToolContext, tab: Tab
    ) -> ToolOutput:
        """Let a sub-agent work in silence; gives what it said, or why it failed as a fault."""
        text, files = "", tuple[Attachment, ...]()
        events: AsyncIterator[AgentEvent] = backend.run(turn)
        async with aclosing(events) as said:  # type: ignore[type-var]  # backends are generators
            async for event in said:
                tab.note(event)
                match event:
                    case MessageEvent(content=content, replaces=replaces):
                        text = content if replaces else text + content
                    case TokenUsageEvent():
                        self._bus.emit(news_of(event, context.session, context.message.run))
                    case ErrorEvent(content=content):
                        raise ToolFault(f"The sub-agent failed: {content}")
                    case DoneEvent(attachments=attachments):
                        files = attachments
        return ToolOutput(text=text.strip() or NOTHING_TO_SAY, attachments=files, origins=_read_here())

    def tools(self) -> tuple[Tool, ...]:
        """What is registered."""
        return (declare(self.delegate_task, group="subagents", is_waiting=True, effects=()),)


def _read_here() -> tuple[tuple[Source, str], ...]:
    """What the turn has read by now that is foreign to it, its sub-agents included: they share its taint."""
    turn = known_taint()
    if turn is None:
        return ()
    return tuple((source, turn.origins[source]) for source in turn.origins if source in turn.foreign)
