"""What everybody who watches a session is told of the work on an answer."""

from typing import TypeAlias, assert_never

from bot.backends.base import RetryEvent, ThinkingEvent, TokenUsageEvent, ToolResultEvent, ToolUseEvent
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

WorkEvent: TypeAlias = ThinkingEvent | ToolUseEvent | ToolResultEvent | TokenUsageEvent | RetryEvent


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
