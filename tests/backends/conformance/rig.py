"""A backend, the model server behind it, and what a turn brings along, each played by a script."""

import asyncio
import importlib
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from typing import Any, Protocol

from msgspec.structs import replace

from bot.backends.base import (
    AgentBackend,
    AgentEvent,
    MessageEvent,
    NoOversight,
    NoShortening,
    NoSteering,
    Oversight,
    Shortening,
    Steering,
    ToolResultEvent,
    Tools,
    TurnInput,
)
from bot.messages import RunId, SessionKey
from bot.models.backoff import Backoff
from bot.models.base import FunctionCall, ModelClient, ModelProfile, PromptMessage, ToolCall, ToolSchema
from bot.models.openai import OpenAIClient, Timeouts
from bot.models.retry import Resilient
from tests.simulators.model import ModelServer, Reply

KINDS = {
    "native": "bot.backends.native:NativeBackend",
    "openai_agents": "bot.backends.openai_agents.backend:OpenAIAgentsBackend",
}
AT_ONCE = Backoff(base=0.001, cap=0.001)
TIMEOUTS = Timeouts(connect=5, first_token=5, silence=5, call=10)
HELLO = (PromptMessage(role="user", content="hi"),)


class MakesBackend(Protocol):
    """The constructor that all backends over a model client share."""

    def __call__(
        self, client: ModelClient, *, model: str, max_steps: int = ..., clock: Callable[[], float] = ...
    ) -> AgentBackend: ...


def backend_class(kind: str) -> MakesBackend:
    """The class of a backend; only its own code is loaded."""
    module, _, name = KINDS[kind].partition(":")
    made: MakesBackend = getattr(importlib.import_module(module), name)
    return made


def turn_of(
    messages: tuple[PromptMessage, ...] = HELLO,
    *,
    tools: Tools,
    tokens: int = 5,
    steering: Steering | None = None,
    oversight: Oversight | None = None,
    shortening: Shortening | None = None,
    max_output: int | None = None,
) -> TurnInput:
    """A turn that lacks nothing."""
    return TurnInput(
        session=SessionKey("s"),
        run=RunId("r"),
        messages=messages,
        prompt_tokens=tokens,
        tools=tools,
        steering=steering or NoSteering(),
        oversight=oversight or NoOversight(),
        shortening=shortening or NoShortening(),
        max_output=max_output,
    )


class Stage:
    """Backends of one kind over one model server."""

    def __init__(self, kind: str, server: ModelServer, closing: AsyncExitStack) -> None:
        self.kind = kind
        self.server = server
        self._closing = closing

    def backend(
        self,
        *,
        window: int = 10_000,
        retries: int = 8,
        fallbacks: tuple[str, ...] = (),
        max_steps: int = 50,
        clock: Callable[[], float] = time.monotonic,
    ) -> AgentBackend:
        """A backend; it is closed with the stage."""
        profile = ModelProfile(window=window, max_output=500, sees=True)
        client = Resilient(
            OpenAIClient(self.server.url, profile=profile, timeouts=TIMEOUTS),
            fallback_models=fallbacks,
            max_retries=retries,
            backoff=AT_ONCE,
        )
        backend = backend_class(self.kind)(client, model="sim-1", max_steps=max_steps, clock=clock)
        self._closing.push_async_callback(backend.aclose)
        return backend

    async def run(
        self, *replies: Reply, backend: AgentBackend | None = None, **turn: Any
    ) -> list[AgentEvent]:
        """Answer a turn, the model playing these replies, one a request.

        Args:
            turn: As `turn_of` takes it.
        """
        self.server.script(*replies)
        given = turn_of(**({"tools": PlayedTools()} | turn))
        async with asyncio.timeout(20):
            return [event async for event in (backend or self.backend()).run(given)]

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """What the model server was sent, oldest first."""
        return [request.body for request in self.server.requests]


def shown(events: Sequence[AgentEvent]) -> str:
    """What stands on the screen at the end."""
    text = ""
    for event in events:
        if isinstance(event, MessageEvent):
            text = event.content if event.replaces else text + event.content
    return text


def contents(events: Sequence[AgentEvent]) -> list[str]:
    """What the model got to see of its calls."""
    return [event.content for event in events if isinstance(event, ToolResultEvent)]


def joined(events: Sequence[AgentEvent]) -> list[AgentEvent]:
    """The events, with text in one piece that came in several: where it is cut is up to the network."""
    whole: list[AgentEvent] = []
    for event in events:
        last = whole[-1] if whole else None
        if isinstance(event, MessageEvent) and isinstance(last, MessageEvent) and not event.replaces:
            whole[-1] = replace(last, content=last.content + event.content)
        else:
            whole.append(event)
    return whole


class PlayedTools:
    """Tools whose results a test gives, by name; a call without one tells its own name."""

    def __init__(self, **results: ToolResultEvent) -> None:
        names = sorted({"a", "b", *results} - {"unknown"})
        self.schemas = tuple(ToolSchema(name=name, description="", parameters=b"{}") for name in names)
        self._results = results
        self.calls: list[ToolCall] = []

    async def call_all(
        self, calls: Sequence[ToolCall], *, should_skip: Callable[[], bool]
    ) -> list[ToolResultEvent]:
        return [
            replace(result("skipped"), call=call) if should_skip() else await self.call(call)
            for call in calls
        ]

    async def call(self, call: ToolCall) -> ToolResultEvent:
        self.calls.append(call)
        name = call.function.name
        return replace(self._results.get(name, result(f"did {name}")), call=call)


def result(content: str = "", **what: Any) -> ToolResultEvent:
    """What a tool gives, whatever the call."""
    nobody = ToolCall(id="", function=FunctionCall(name="", arguments=""))
    return ToolResultEvent(call=nobody, content=content, **what)


class MeetingTools(PlayedTools):
    """Tools that each wait until so many run at once."""

    def __init__(self, parties: int) -> None:
        super().__init__()
        self._barrier = asyncio.Barrier(parties)

    async def call(self, call: ToolCall) -> ToolResultEvent:
        await self._barrier.wait()
        return await super().call(call)

    async def call_all(
        self, calls: Sequence[ToolCall], *, should_skip: Callable[[], bool]
    ) -> list[ToolResultEvent]:
        return list(await asyncio.gather(*map(self.call, calls)))


class HangingTools(PlayedTools):
    """Tools that never end, and note that they were begun and stopped."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = asyncio.Event()
        self.stopped = asyncio.Event()

    async def call(self, call: ToolCall) -> ToolResultEvent:
        self.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.stopped.set()
        raise AssertionError("a wait without end has ended")


class Remarks:
    """What somebody says while a turn runs."""

    def __init__(self, *remarks: str) -> None:
        self.remarks = list(remarks)

    @property
    def is_waiting(self) -> bool:
        return bool(self.remarks)

    async def take(self) -> tuple[PromptMessage, ...]:
        taken, self.remarks = self.remarks, []
        return tuple(PromptMessage(role="user", content=remark) for remark in taken)
