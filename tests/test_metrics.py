"""Metrics: counted from the first look on, by channel, and costing nothing before."""

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from bot.bus import LocalBus
from bot.commands.engine import ChannelState
from bot.hooks.points import MessageSent
from bot.hooks.registry import Hooks
from bot.messages import (
    AgentEnd,
    AgentStart,
    Failure,
    InboxUpdate,
    Retry,
    RunId,
    SessionKey,
    TokenUsage,
    ToolResult,
    ToolStart,
    utc_now,
)
from bot.meters import MAX_LABELS, PrometheusMeters
from bot.metrics import Depth, Metrics, RateWait
from channels.base import Rate
from channels.delivery.pace import Pace
from tests.factories import chunk_of, end_of, inbound

ROOT = Path(__file__).parent.parent


class Loop:
    """A loop that does two turns."""

    busy_sessions = 3

    def running(self) -> Sequence[object]:
        """See `Lanes.running`."""
        return ["a", "b"]


class Counts:
    """A store in which something waits."""

    async def depths(self) -> list[Depth]:
        """See `Depths.depths`."""
        return [Depth("outbox", "slack", "pending", 7)]


@pytest.fixture
def bus() -> LocalBus:
    """Where events come from."""
    return LocalBus()


@pytest.fixture
def hooks() -> Hooks:
    """Where deliveries are told."""
    return Hooks()


@pytest.fixture
async def metrics(bus: LocalBus, hooks: Hooks) -> AsyncIterator[Metrics]:
    """Metrics of a bot with one platform."""
    made = Metrics(
        bus,
        hooks,
        depths=Counts(),
        lanes=Loop,
        channels=lambda: [ChannelState(channel="slack", is_connected=False, cause="away")],
        waits=lambda: [RateWait("slack", "default", 4, 2.5)],
    )
    yield made
    await made.aclose()
    await hooks.aclose()


async def read(metrics: Metrics) -> dict[tuple[str, ...], float]:
    """The figures, by name and the values of the labels, in the order of their names."""
    await asyncio.sleep(0)
    text = (await metrics.render()).decode()
    return {
        (
            sample.name.removeprefix("switchboard_"),
            *(value for _, value in sorted(sample.labels.items())),
        ): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def session() -> SessionKey:
    """A session of a platform."""
    return SessionKey("telegram:default:42")


async def test_before_somebody_looks_nothing_is_counted(
    metrics: Metrics, bus: LocalBus, hooks: Hooks
) -> None:
    bus.emit(AgentEnd(session=session(), run=RunId("1"), reason="done", seconds=1.0))
    before = (metrics.is_counting, hooks.wants(MessageSent))
    figures = await read(metrics)

    assert before == (False, False)
    assert metrics.is_counting
    assert not [name for name in figures if name[0] == "turns_total"]


async def test_a_turn_is_counted_with_its_stages_tokens_and_tools(
    metrics: Metrics, bus: LocalBus, hooks: Hooks
) -> None:
    await read(metrics)
    message, where = inbound("hello", session="telegram:default:42"), session()
    bus.emit(
        InboxUpdate(
            session=where,
            run=message.run,
            id=message.id,
            direction="in",
            address=message.address,
            speaker="Ann",
            text="hello",
            at=utc_now(),
        )
    )
    bus.emit(AgentStart(session=where, run=message.run, attempt=1))
    bus.emit(ToolStart(session=where, run=message.run, call_id="1", name="look", arguments="{}"))
    bus.emit(ToolResult(session=where, run=message.run, call_id="1", name="look", status="ok", preview="x"))
    bus.emit(TokenUsage(session=where, run=message.run, model="m", prompt=10, completion=5, cached=3))
    bus.emit(Retry(session=where, run=message.run, model="m", attempt=1, wait=1.0, cause="busy"))
    await asyncio.sleep(0)
    bus.send(chunk_of(message, "a"))
    await asyncio.sleep(0)
    bus.send(end_of(message, "ab"))
    bus.emit(AgentEnd(session=where, run=message.run, reason="done", seconds=0.3))
    await asyncio.sleep(0)
    await hooks.fire(MessageSent(session=where, run=message.run, address=message.address, text="ab"))

    figures = await read(metrics)

    expected = {
        ("turns_total", "telegram", "done"): 1,
        ("messages_total", "telegram", "in"): 1,
        ("tokens_total", "prompt", "m"): 10,
        ("tokens_total", "completion", "m"): 5,
        ("tokens_total", "cached", "m"): 3,
        ("model_retries_total", "m"): 1,
        ("tool_calls_total", "ok", "look"): 1,
        ("tool_seconds_count", "look"): 1,
        ("deliveries_total", "telegram"): 1,
        ("stage_seconds_sum", "telegram", "turn"): 0.3,
    }
    assert {name: figures[name] for name in expected} == expected
    for stage in ("waiting", "first_text", "turn", "delivery"):
        assert figures[("stage_seconds_count", "telegram", stage)] == 1


async def test_what_waits_and_what_is_connected_is_looked_at_when_asked(metrics: Metrics) -> None:
    await read(metrics)
    figures = await read(metrics)

    expected = {
        ("queue_depth", "slack", "outbox", "pending"): 7,
        ("channel_connected", "default", "slack"): 0,
        ("rate_waits_total", "default", "slack"): 4,
        ("rate_wait_seconds_total", "default", "slack"): 2.5,
        ("sessions_busy",): 3,
        ("turns_running",): 2,
    }
    assert {name: figures[name] for name in expected} == expected


async def test_errors_count_by_channel(metrics: Metrics, bus: LocalBus) -> None:
    await read(metrics)
    bus.emit(Failure(session=session(), run=RunId("1"), text="oh", reference="abc"))

    assert (await read(metrics))[("errors_total", "telegram")] == 1


async def test_names_that_never_end_do_not_fill_the_memory(metrics: Metrics, bus: LocalBus) -> None:
    await read(metrics)
    for number in range(MAX_LABELS + 50):
        bus.emit(TokenUsage(session=session(), run=RunId("1"), model=f"m{number}", prompt=1, completion=1))

    figures = await read(metrics)

    assert figures[("tokens_total", "prompt", "other")] == 50
    assert len({name[2] for name in figures if name[0] == "tokens_total"}) == MAX_LABELS + 1


def test_the_dashboard_shows_figures_that_there_are() -> None:
    meters = PrometheusMeters()
    text = meters.show([], [], [], sessions=0, turns=0).decode()
    known = set(re.findall(r"^# TYPE (\S+)", text, re.MULTILINE))
    board = (ROOT / "deploy" / "grafana.json").read_text("utf-8")

    shown = {re.sub("_bucket$", "", name) for name in re.findall(r"(?:switchboard|process)_[a-z_]+", board)}

    assert shown
    assert shown <= known


async def test_what_has_waited_for_a_rate_is_counted() -> None:
    now = 0.0

    async def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds

    pace = Pace(clock=lambda: now, sleep=sleep)
    rates = (Rate(calls=1, seconds=1.0, scope="account"),)
    for _ in range(3):
        permit = await pace.turn("post", rates, chat=pace.budget(), message=pace.budget(), is_growth=False)
        permit.end()

    assert pace.waits == 2
    assert pace.waited == pytest.approx(2.02, abs=0.1)
