"""What everybody who watches a session is told of the work on an answer."""

from typing import Protocol, TypeAlias, assert_never

from msgspec.structs import replace

from bot.backends.base import (
    AgentEvent,
    RetryEvent,
    ThinkingEvent,
    TokenUsageEvent,
    ToolResultEvent,
    ToolUseEvent,
)
from bot.bus import Bus
from bot.messages import (
    Retry,
    RunId,
    SessionKey,
    SystemEvent,
    Thinking,
    TokenUsage,
    ToolResult,
    ToolStart,
)

PREVIEW = 200  # characters of a tool's result
AROUND = 3  # times as many are looked at, for what is cut at its end to be recognised

WorkEvent: TypeAlias = ThinkingEvent | ToolUseEvent | ToolResultEvent | TokenUsageEvent | RetryEvent
KINDS: dict[type[WorkEvent], type[SystemEvent]] = {
    ThinkingEvent: Thinking,
    ToolUseEvent: ToolStart,
    ToolResultEvent: ToolResult,
    TokenUsageEvent: TokenUsage,
    RetryEvent: Retry,
}


class RedactionStream(Protocol):
    """The same in a text that comes in pieces."""

    def feed(self, text: str) -> str: ...

    def flush(self) -> str: ...


class Redactor(Protocol):
    """Hides what must not be shown."""

    def open(self) -> RedactionStream: ...

    async def redact_soon(self, text: str) -> str: ...


class News:
    """Tells of the work of one turn, with nothing in it that must not be shown."""

    def __init__(self, bus: Bus, session: SessionKey, run: RunId, redactor: Redactor | None) -> None:
        self._bus = bus
        self._session = session
        self._run = run
        self._redactor = redactor
        self._thoughts: RedactionStream | None = None

    async def tell(self, event: AgentEvent) -> None:
        """Publish an event of the backend, where it is one of its work and somebody wants to know of it."""
        if isinstance(event, ThinkingEvent) and self._redactor is not None:
            # Also where nobody watches: whoever comes in the middle must not see the other half of a secret.
            self._thoughts = self._thoughts or self._redactor.open()
            self._think(self._thoughts.feed(event.content))
            return
        if self._thoughts is not None:
            self._think(self._thoughts.flush())
            self._thoughts = None
        if not isinstance(event, WorkEvent) or not self._bus.is_wanted(KINDS[type(event)], self._session):
            return
        if self._redactor is not None:
            event = await _hidden(event, self._redactor)
        self._bus.emit(news_of(event, self._session, self._run))

    def _think(self, text: str) -> None:
        if text:
            self._bus.emit(Thinking(session=self._session, run=self._run, text=text))


async def _hidden(event: WorkEvent, redactor: Redactor) -> WorkEvent:
    match event:
        case ToolUseEvent(call=call):
            arguments = await redactor.redact_soon(call.function.arguments)
            if arguments == call.function.arguments:
                return event
            return replace(event, call=replace(call, function=replace(call.function, arguments=arguments)))
        case ToolResultEvent(content=content):
            shown = content[: AROUND * PREVIEW]
            hidden = await redactor.redact_soon(shown)
            return event if hidden == shown else replace(event, content=hidden)
        case RetryEvent(cause=cause):
            return replace(event, cause=await redactor.redact_soon(cause))
        case _:
            return event


def news_of(event: WorkEvent, session: SessionKey, run: RunId) -> SystemEvent:
    """An event of a backend as one of the bus."""
    match event:
        case ThinkingEvent():
            return Thinking(session=session, run=run, text=event.content)
        case ToolUseEvent(call=call):
            name, arguments = call.function.name, call.function.arguments
            return ToolStart(session=session, run=run, call_id=call.id, name=name, arguments=arguments)
        case ToolResultEvent(call=call):
            return ToolResult(
                session=session,
                run=run,
                call_id=call.id,
                name=call.function.name,
                status=event.status,
                preview=event.content[:PREVIEW],
            )
        case TokenUsageEvent():
            return TokenUsage(
                session=session,
                run=run,
                model=event.model,
                prompt=event.prompt,
                completion=event.completion,
                cached=event.cached,
            )
        case RetryEvent():
            return Retry(
                session=session,
                run=run,
                model=event.model,
                attempt=event.attempt,
                wait=event.wait,
                cause=event.cause,
            )
        case _:
            assert_never(event)
