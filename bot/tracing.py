"""Traces: a span for each turn, with one for each model call and each tool call in it; loads OpenTelemetry.

Spans say who took how long and how many tokens, never what was said.

Source: OpenTelemetry semantic conventions 1.38, "Generative AI agent and framework spans".
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Mapping
from types import TracebackType
from typing import Final, Self

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.sdk.trace.sampling import TraceIdRatioBased
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, set_span_in_context
from opentelemetry.util.types import AttributeValue

from bot.bus import Bus, Subscription
from bot.hooks.points import BeforeModelCall
from bot.hooks.registry import Hooks
from bot.messages import (
    AgentEnd,
    AgentStart,
    Missed,
    Retry,
    RunId,
    SessionKey,
    SystemEvent,
    TokenUsage,
    ToolResult,
    ToolStart,
)

log = logging.getLogger(__name__)

MAX_OPEN: Final = 10_000  # turns that are followed at once
MAX_EVENTS: Final = 10_000
EXPORT_SECONDS: Final = 10.0
LAST_SECONDS: Final = 5.0  # that the last spans get to go out when the bot stops
HIGH: Final = 1_000  # before other handlers: what they do is part of the call


class Turn:
    """The open spans of one turn."""

    def __init__(self, span: Span) -> None:
        self.span = span
        self.call: Span | None = None
        self.tools: dict[str, Span] = {}

    def end(self) -> None:
        """End all of them, the innermost first."""
        for span in (*self.tools.values(), *([self.call] if self.call is not None else []), self.span):
            span.end()


class Tracing:
    """Traces turns from `__aenter__` to `__aexit__`.

    Args:
        exporter: Takes the spans, in a thread of its own.
        name: What the bot is called.
        provider: The system of the model provider, as the conventions name it: `openai`.
        ratio: The share of turns that are traced.
    """

    def __init__(
        self, bus: Bus, hooks: Hooks, exporter: SpanExporter, *, name: str, provider: str, ratio: float = 1.0
    ) -> None:
        self._bus = bus
        self._hooks = hooks
        self._name = name
        self._provider = provider
        self._turns: OrderedDict[RunId, Turn] = OrderedDict()
        self._spans = TracerProvider(
            sampler=TraceIdRatioBased(ratio),
            resource=Resource.create({"service.name": name}),
            shutdown_on_exit=False,
        )
        self._spans.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._spans.get_tracer("switchboard")
        self._subscription: Subscription[SystemEvent | Missed] | None = None
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._subscription = self._bus.events(limit=MAX_EVENTS)
        self._task = asyncio.create_task(self._read(self._subscription), name="tracing")
        self._hooks.on(BeforeModelCall, self._begin_call, priority=HIGH)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._subscription is not None and self._task is not None:
            self._subscription.close()
            await asyncio.wait({self._task})
        for turn in self._turns.values():
            turn.end()
        self._turns.clear()
        flushing = asyncio.create_task(asyncio.to_thread(self._spans.shutdown), name="last spans")
        if not (await asyncio.wait({flushing}, timeout=LAST_SECONDS))[0]:
            log.warning("last spans not sent", extra={"seconds": LAST_SECONDS})
            flushing.cancel()

    async def _read(self, subscription: Subscription[SystemEvent | Missed]) -> None:
        async for event in subscription:
            self._note(event)

    def _begin_call(self, event: BeforeModelCall) -> None:
        """A model call begins; the hook knows it sooner than the bus, which knows how it ends."""
        turn = self._turn(event.run, event.session)
        if turn.call is not None:
            turn.call.end()
        model = event.request.model or ""
        turn.call = self._span(
            f"chat {model}".strip(),
            turn,
            SpanKind.CLIENT,
            {
                "gen_ai.operation.name": "chat",
                "gen_ai.provider.name": self._provider,
                "gen_ai.request.model": model,
            },
        )

    def _note(self, event: SystemEvent | Missed) -> None:
        if isinstance(event, Missed) or event.run is None:
            return
        if isinstance(event, AgentStart):
            self._turn(event.run, event.session)
        elif (turn := self._turns.get(event.run)) is not None:
            self._note_in(turn, event, event.run)

    def _note_in(self, turn: Turn, event: SystemEvent, run: RunId) -> None:
        """Something has happened in a turn."""
        match event:
            case AgentEnd():
                del self._turns[run]
                self._end(turn, event)
            case ToolStart():
                self._begin_tool(turn, event)
            case ToolResult():
                _end_tool(turn, event)
            case TokenUsage():
                _end_call(turn, event)
            case Retry(model=model, wait=wait):
                turn.span.add_event("retry", {"switchboard.wait": wait, "gen_ai.request.model": model})

    def _turn(self, run: RunId, session: SessionKey) -> Turn:
        """The spans of a turn, begun now where they are not."""
        if run not in self._turns:
            attributes: Mapping[str, AttributeValue] = {
                "gen_ai.operation.name": "invoke_agent",
                "gen_ai.provider.name": self._provider,
                "gen_ai.agent.name": self._name,
                "gen_ai.conversation.id": session,
                "switchboard.run": run,
                "switchboard.channel": session.partition(":")[0],
            }
            span = self._tracer.start_span(f"invoke_agent {self._name}", attributes=attributes)
            self._turns[run] = Turn(span)
            if len(self._turns) > MAX_OPEN:
                self._turns.popitem(last=False)[1].end()
        return self._turns[run]

    def _span(self, name: str, turn: Turn, kind: SpanKind, attributes: Mapping[str, AttributeValue]) -> Span:
        return self._tracer.start_span(
            name, context=set_span_in_context(turn.span), kind=kind, attributes=attributes
        )

    def _begin_tool(self, turn: Turn, event: ToolStart) -> None:
        turn.tools[event.call_id] = self._span(
            f"execute_tool {event.name}",
            turn,
            SpanKind.INTERNAL,
            {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": event.name,
                "gen_ai.tool.call.id": event.call_id,
            },
        )

    def _end(self, turn: Turn, event: AgentEnd) -> None:
        turn.span.set_attribute("switchboard.reason", event.reason)
        if event.reason == "error":
            turn.span.set_attribute("error.type", "turn_failed")
            turn.span.set_status(Status(StatusCode.ERROR))
        turn.end()


def otlp_exporter(endpoint: str, headers: Mapping[str, str]) -> SpanExporter:
    """What sends spans to a collector."""
    return OTLPSpanExporter(endpoint=endpoint, headers=dict(headers), timeout=EXPORT_SECONDS)


def _end_tool(turn: Turn, event: ToolResult) -> None:
    span = turn.tools.pop(event.call_id, None)
    if span is None:
        return
    if event.status == "error":
        span.set_attribute("error.type", "tool_failed")
        span.set_status(Status(StatusCode.ERROR))
    span.end()


def _end_call(turn: Turn, event: TokenUsage) -> None:
    if turn.call is None:
        return
    turn.call.set_attributes(
        {
            "gen_ai.response.model": event.model,
            "gen_ai.usage.input_tokens": event.prompt,
            "gen_ai.usage.output_tokens": event.completion,
            "switchboard.usage.cached_tokens": event.cached,
        }
    )
    turn.call.end()
    turn.call = None
