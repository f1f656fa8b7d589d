"""The real delivery over the real SDK stays within Telegram's rates, and shows the answer, once."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from msgspec.structs import replace

from bot.agent.store import TurnRecord
from bot.bus import LocalBus
from bot.messages import InboundMessage
from bot.settings import TelegramSettings
from channels.delivery.delivery import Delivery
from channels.telegram.adapter import TelegramAdapter
from memory.store import Store
from tests.channels.telegram.conftest import Bench, Ear, Memory
from tests.factories import chunk_of, end_of
from tests.simulators.platform import Fault
from tests.simulators.telegram import TelegramSimulator

LONG = "\n\n".join(
    f"Part {number}: **bold**, `code` and \N{GRINNING FACE}. " + "word " * 150 for number in range(8)
)


@pytest.fixture
async def strict() -> AsyncIterator[Bench]:
    """A Telegram that refuses what goes over its rates."""
    async with TelegramSimulator(has_rates=True) as telegram:
        bench = Bench(telegram, Ear(), Memory())
        yield bench
        await bench.stop()


def delivering(adapter: TelegramAdapter, bus: LocalBus, store: Store) -> Delivery:
    return Delivery(adapter, TelegramSettings(), bus=bus, outbox=store.outbox)


async def end(bus: LocalBus, store: Store, message: InboundMessage, text: str) -> None:
    """Save the end of a turn, and let it be known."""
    saved = replace(end_of(message, text), reply_to=message.platform_id)
    await store.journal.finish(
        saved, TurnRecord(started_at=1.0, ended_at=2.0), speaker="Bot", has_outbox=True
    )
    bus.send(saved)


@pytest.mark.parametrize("direct", [True, False])
async def test_a_long_answer_comes_whole_and_within_the_rates(
    strict: Bench, store: Store, direct: bool
) -> None:
    telegram, bus, adapter = strict.telegram, LocalBus(), await strict.running()
    await telegram.user_says("chat", "tell me", direct=direct, mentions_bot=not direct)
    await strict.ear.until(lambda: bool(strict.ear.taken))
    (message,) = strict.ear.taken.values()
    await store.journal.accept(message, history=0)
    async with delivering(adapter, bus, store):
        for seq, at in enumerate(range(0, len(LONG), 40)):
            chunk = chunk_of(message, LONG[at : at + 40], seq=seq)
            bus.send(replace(chunk, reply_to=message.platform_id))
            await asyncio.sleep(0)
        await end(bus, store, message, LONG)
        await telegram.until(lambda: "Part 7" in "".join(telegram.texts("chat")))

    shown = telegram.chat("chat")
    assert not any(one.is_preview for one in shown)
    assert "".join("".join(one.text.split()) for one in shown) == "".join(
        LONG.replace("**", "").replace("`", "").split()
    )
    assert [call for call in telegram.calls if call.status != 200] == []
    assert [one.reply_to is not None for one in shown] == [not direct] + [False] * (len(shown) - 1)


async def test_an_answer_outlives_a_platform_that_wants_us_to_wait_and_one_that_breaks(
    strict: Bench, store: Store
) -> None:
    telegram, bus, adapter = strict.telegram, LocalBus(), await strict.running()
    await telegram.user_says("ann", "go on?")
    message = await strict.ear.heard("go on?")
    await store.journal.accept(message, history=0)
    telegram.fail(Fault(kind="limit", seconds=0.5, method="sendMessage"))
    telegram.fail(Fault(kind="cut", method="sendMessage"))
    async with delivering(adapter, bus, store):
        await end(bus, store, message, "Yes, **go on**.")
        await telegram.said("ann", "Yes, go on.")

    assert telegram.texts("ann") == ["Yes, go on."]
