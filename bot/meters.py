"""The meters themselves: what is counted, by which labels; loads prometheus-client.

Labels are channels, models and tools, never people or sessions: those would grow without end.
"""

import platform
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, ProcessCollector
from prometheus_client.exposition import generate_latest

from bot.commands.engine import ChannelState
from bot.hooks.points import MessageSent
from bot.messages import (
    AgentEnd,
    AgentStart,
    Chunk,
    Compaction,
    End,
    Failure,
    InboxUpdate,
    Killed,
    Missed,
    OutboundMessage,
    Retry,
    RunId,
    SessionKey,
    SystemEvent,
    TokenUsage,
    ToolResult,
    ToolStart,
)
from bot.metrics import Depth, RateWait

MAX_OPEN: Final = 10_000  # beginnings that wait for their ends
MAX_LABELS: Final = 200  # models, and tools; what comes after counts as `other`
SECONDS: Final = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)


class Beginnings:
    """When something began that has not ended; the oldest go."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._at: OrderedDict[str, float] = OrderedDict()

    def begin(self, name: str) -> None:
        """It begins now."""
        self._at[name] = self._clock()
        if len(self._at) > MAX_OPEN:
            self._at.popitem(last=False)

    def end(self, name: str) -> float | None:
        """Seconds since it began; `None` where that is not known."""
        began = self._at.pop(name, None)
        return None if began is None else self._clock() - began


class PrometheusMeters:
    """Fulfils `bot.metrics.Meters`, in a registry of its own."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        Info("switchboard", "The program.", registry=registry).info({"python": platform.python_version()})
        self._waiting = Beginnings(clock)
        self._silent = Beginnings(clock)
        self._undelivered = Beginnings(clock)
        self._tools = Beginnings(clock)
        self._known: dict[str, set[str]] = {"model": set(), "tool": set()}
        self._turns = self._counter("turns", "Turns that have ended.", "channel", "reason")
        self._messages = self._counter("messages", "Messages in and out.", "channel", "direction")
        self._tokens = self._counter("tokens", "Tokens of model calls.", "model", "kind")
        self._retries = self._counter("model_retries", "Model calls that were tried again.", "model")
        self._tool_calls = self._counter("tool_calls", "Calls of tools.", "tool", "status")
        self._errors = self._counter("errors", "Turns that failed.", "channel")
        self._killed = self._counter("killed", "Runs that people have stopped.", "channel")
        self._compactions = self._counter("compactions", "Histories that were shortened.", "channel")
        self._deliveries = self._counter("deliveries", "Answers that have arrived.", "channel")
        self._missed = self._counter("metrics_missed", "Events that were not counted.")
        self._stages = Histogram(
            "switchboard_stage_seconds",
            "waiting: accepted until begun; first_text: begun until something is shown; "
            "turn: begun until saved; delivery: saved until it has arrived.",
            ("channel", "stage"),
            buckets=SECONDS,
            registry=registry,
        )
        self._tool_seconds = Histogram(
            "switchboard_tool_seconds", "Calls of tools.", ("tool",), buckets=SECONDS, registry=registry
        )
        self._depth = self._gauge("queue_depth", "What waits.", "queue", "channel", "state")
        self._connected = self._gauge("channel_connected", "1 where connected.", "channel", "account")
        self._rate_waits = self._counter(
            "rate_waits", "Calls that have waited for a rate.", "channel", "account"
        )
        self._rate_seconds = self._counter("rate_wait_seconds", "For so long.", "channel", "account")
        self._waits: dict[tuple[str, str], RateWait] = {}
        self._sessions = self._gauge("sessions_busy", "Sessions that have something to do.")
        self._running = self._gauge("turns_running", "Turns that are being done.")

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"switchboard_{name}", text, labels, registry=self._registry)

    def _gauge(self, name: str, text: str, *labels: str) -> Gauge:
        return Gauge(f"switchboard_{name}", text, labels, registry=self._registry)

    # --- what is counted as it comes

    def note(self, item: SystemEvent | OutboundMessage | Missed) -> None:
        """See `Meters.note`."""
        match item:
            case Missed(count=count):
                self._missed.inc(count)
            case Chunk() | End():
                self._note_text(item)
            case InboxUpdate(direction=direction):
                self._messages.labels(item.address.channel, direction).inc()
                if direction == "in":
                    self._waiting.begin(item.id)
            case AgentStart(run=run) if run is not None:
                self._observe("waiting", item.session, self._waiting.end(run))
                self._silent.begin(run)
            case AgentEnd(run=run, reason=reason, seconds=seconds):
                if seconds > 0:  # what was answered by another turn had none of its own
                    self._turns.labels(channel_of(item.session), reason).inc()
                    self._observe("turn", item.session, seconds)
                self._silent.end(run or "")
                self._waiting.end(run or "")
            case ToolStart() | ToolResult():
                self._note_tool(item)
            case _:
                self._note_rest(item)

    def note_sent(self, sent: MessageSent) -> None:
        """See `Meters.note_sent`."""
        self._deliveries.labels(sent.address.channel).inc()
        seconds = self._undelivered.end(sent.run)
        if seconds is not None:
            self._stages.labels(sent.address.channel, "delivery").observe(seconds)

    def _note_text(self, item: OutboundMessage) -> None:
        self._observe_first(item.run, item.session)
        if isinstance(item, End) and item.text:
            self._undelivered.begin(item.run)

    def _observe_first(self, run: RunId, session: SessionKey) -> None:
        self._observe("first_text", session, self._silent.end(run))

    def _note_tool(self, item: ToolStart | ToolResult) -> None:
        key = f"{item.run} {item.call_id}"
        if isinstance(item, ToolStart):
            self._tools.begin(key)
            return
        name = self._bounded("tool", item.name)
        self._tool_calls.labels(name, item.status).inc()
        if (seconds := self._tools.end(key)) is not None:
            self._tool_seconds.labels(name).observe(seconds)

    def _note_rest(self, item: SystemEvent) -> None:
        match item:
            case TokenUsage(prompt=prompt, completion=completion, cached=cached):
                model = self._bounded("model", item.model)
                for kind, count in (("prompt", prompt), ("completion", completion), ("cached", cached)):
                    self._tokens.labels(model, kind).inc(count)
            case Retry(model=model):
                self._retries.labels(self._bounded("model", model)).inc()
            case Failure():
                self._errors.labels(channel_of(item.session)).inc()
            case Killed():
                self._killed.labels(channel_of(item.session)).inc()
            case Compaction(phase="end"):
                self._compactions.labels(channel_of(item.session)).inc()

    def _observe(self, stage: str, session: SessionKey, seconds: float | None) -> None:
        if seconds is not None:
            self._stages.labels(channel_of(session), stage).observe(seconds)

    def _bounded(self, label: str, value: str) -> str:
        known = self._known[label]
        if value not in known and len(known) >= MAX_LABELS:
            return "other"
        known.add(value)
        return value

    # --- what is looked at when somebody asks

    def show(
        self,
        depths: Sequence[Depth],
        channels: Sequence[ChannelState],
        waits: Sequence[RateWait],
        *,
        sessions: int,
        turns: int,
    ) -> bytes:
        """See `Meters.show`."""
        self._depth.clear()
        for depth in depths:
            self._depth.labels(depth.queue, depth.channel, depth.state).set(depth.size)
        for channel in channels:
            self._connected.labels(channel.channel, channel.account).set(channel.is_connected)
        for wait in waits:
            place = (wait.channel, wait.account)
            before = self._waits.get(place, RateWait(*place, 0, 0.0))
            self._waits[place] = wait
            self._rate_waits.labels(*place).inc(max(0, wait.waits - before.waits))
            self._rate_seconds.labels(*place).inc(max(0.0, wait.seconds - before.seconds))
        self._sessions.set(sessions)
        self._running.set(turns)
        return generate_latest(self._registry)


def channel_of(session: SessionKey) -> str:
    """The channel that a session's key begins with."""
    return session.partition(":")[0]
