"""Whole answers through the real delivery: streamed in threads, updated elsewhere, whatever call is lost."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from bot.agent.store import TurnRecord
from bot.bus import LocalBus
from bot.messages import InboundMessage
from bot.settings import ChannelSettings
from channels.delivery.delivery import Delivery
from channels.slack.adapter import SlackAdapter
from memory.store import Store
from tests.channels.slack.conftest import Bench
from tests.factories import chunk_of, end_of
from tests.simulators.platform import Fault

WORDS = [f"word{number} " for number in range(40)]
TEXT = "".join(WORDS).strip()


@asynccontextmanager
async def delivering(adapter: SlackAdapter, store: Store, bus: LocalBus) -> AsyncIterator[None]:
    async with Delivery(adapter, ChannelSettings(), bus=bus, outbox=store.outbox, call_seconds=5.0):
        yield


async def asked(bench: Bench, store: Store, thread: str | None) -> InboundMessage:
    await bench.slack.user_says("ann", "go", thread=thread)
    message = await bench.ear.heard("go")
    await store.journal.accept(message, history=0)
    return message


async def finish(store: Store, bus: LocalBus, message: InboundMessage) -> None:
    end = end_of(message, TEXT)
    await store.journal.finish(end, TurnRecord(started_at=1.0, ended_at=2.0), speaker="Bot", has_outbox=True)
    bus.send(end)


@pytest.mark.parametrize("thread", ["t", None])
@pytest.mark.parametrize(
    "fault", [None, "chat.startStream", "chat.postMessage", "chat.stopStream", "chat.update"]
)
async def test_an_answer_stands_there_once(
    bench: Bench, store: Store, thread: str | None, fault: str | None
) -> None:
    bus, adapter = LocalBus(), await bench.running()
    message = await asked(bench, store, thread)
    if fault is not None:
        bench.slack.fail(Fault(kind="lose", method=fault))
    async with delivering(adapter, store, bus):
        for seq, word in enumerate(WORDS):
            bus.send(chunk_of(message, word, seq=seq))
        await bench.slack.until(lambda: bool(bench.slack.calls))
        await finish(store, bus, message)
        await bench.slack.said("ann", TEXT)

    assert bench.slack.texts("ann") == [TEXT]
    assert all(not post.is_streaming for post in bench.slack.world.posts.values())
