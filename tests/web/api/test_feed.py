"""The numbered feed: readers go and come back, and nobody pays for one that is slow or away."""

import asyncio
from collections.abc import AsyncIterator
from itertools import count

import pytest

from bot.bus import LocalBus
from bot.messages import AgentEnd, AgentStart, Chunk, End, Missed, RunId, SessionKey, TakenUp
from bot.web.api.feed import WATCH_LIMIT, Feed, Follower
from tests.factories import chunk_of, end_of, inbound


@pytest.fixture
def bus() -> LocalBus:
    """What is read."""
    return LocalBus()


@pytest.fixture
async def feed(bus: LocalBus) -> AsyncIterator[Feed]:
    """A feed that keeps ten items."""
    feed = Feed(bus, kept=10, pause=0.0)
    yield feed
    await feed.aclose()


def start_of(number: int) -> AgentStart:
    """An event that can be told from others."""
    return AgentStart(session=SessionKey("web:default:main"), run=RunId(f"run {number}"), attempt=1)


async def emit(bus: LocalBus, *numbers: int) -> None:
    """Publish events, and let the feed take them."""
    for number in numbers:
        bus.emit(start_of(number))
    for _ in range(3):
        await asyncio.sleep(0)


async def take(follower: Follower, count: int) -> list[object]:
    """The next items."""
    async with asyncio.timeout(5):
        return [(await anext(follower)).item for _ in range(count)]


async def test_nothing_is_read_before_somebody_wants_to_see_it(bus: LocalBus, feed: Feed) -> None:
    before = feed.is_reading
    with feed.follow():
        during = feed.is_reading

    assert (before, during) == (False, True)


async def test_it_is_read_on_for_as_long_as_somebody_reads(bus: LocalBus) -> None:
    feed = Feed(bus, linger=0.0, pause=0.0)
    with feed.follow() as follower:
        for _ in range(5):
            await asyncio.sleep(0)
        await emit(bus, 1)
        (item,) = await take(follower, 1)
    await feed.aclose()

    assert item == start_of(1)


async def test_nothing_is_read_any_more_when_nobody_has_come_back_for_long(bus: LocalBus) -> None:
    feed = Feed(bus, linger=0.0, pause=0.0)
    with feed.follow():
        pass
    async with asyncio.timeout(5):
        while feed.is_reading:  # noqa: ASYNC110 - a timer of the feed's own
            await asyncio.sleep(0)

    assert not feed.is_reading
    await feed.aclose()


async def test_a_reader_that_comes_back_gets_what_it_missed(bus: LocalBus, feed: Feed) -> None:
    with feed.follow() as follower:
        await emit(bus, 1, 2)
        first = await anext(follower)
    await emit(bus, 3)

    with feed.follow(first.number) as again:
        assert await take(again, 2) == [start_of(2), start_of(3)]


async def test_a_reader_that_was_away_too_long_is_told_how_much_it_missed(bus: LocalBus, feed: Feed) -> None:
    with feed.follow() as follower:
        await emit(bus, 0)
        first = await anext(follower)
    await emit(bus, *range(1, 14))

    with feed.follow(first.number) as again:
        assert await take(again, 2) == [Missed(count=3), start_of(4)]


async def test_a_reader_of_an_earlier_process_is_told_that_it_missed_something(
    bus: LocalBus, feed: Feed
) -> None:
    with feed.follow(1_000) as follower:
        await emit(bus, 1)

        assert await take(follower, 2) == [Missed(count=0), start_of(1)]


async def test_numbers_grow_over_a_restart(bus: LocalBus) -> None:
    newest = []
    for clock in (count(1_000), count(1_010)):
        feed = Feed(bus, pause=0.0, clock=clock.__next__)
        with feed.follow():
            await emit(bus, 1, 2, 3)
            newest.append(feed.newest)
        await feed.aclose()

    assert newest[0] < newest[1]


async def test_a_reader_that_stands_still_keeps_nothing_alive(bus: LocalBus, feed: Feed) -> None:
    with feed.follow() as stuck, feed.follow() as quick:
        for number in range(100):
            await emit(bus, number)
            await take(quick, 1)

        assert feed.newest - feed.oldest < 10
        assert await take(stuck, 2) == [Missed(count=90), start_of(90)]


async def test_a_run_is_read_from_its_beginning_to_its_end(bus: LocalBus, feed: Feed) -> None:
    feed.open()
    message, other = inbound("hello"), inbound("other")
    bus.send(chunk_of(message, "a"))
    await emit(bus, 1)
    bus.send(chunk_of(other, "x"))

    with feed.watch(message.run) as watch:
        bus.send(chunk_of(message, "b", seq=2))
        await emit(bus, 2)
        bus.send(end_of(message, "ab"))
        bus.emit(AgentEnd(session=message.session, run=message.run, reason="done", seconds=1))
        async with asyncio.timeout(5):
            items = [entry.item async for entry in watch]

    texts = [(type(item), item.text) for item in items if isinstance(item, Chunk | End)]
    assert texts == [(Chunk, "a"), (Chunk, "b"), (End, "ab")]
    assert len(items) == 3


async def test_a_message_that_was_taken_up_is_read_to_the_end_of_the_other_run(
    bus: LocalBus, feed: Feed
) -> None:
    mine, other = inbound("mine"), inbound("other")
    feed.open()
    bus.emit(TakenUp(session=mine.session, run=mine.run, by=other.run))
    bus.send(end_of(other, "both"))
    bus.send(end_of(mine, "", reason="silent"))
    await emit(bus, 1)

    with feed.watch(mine.run) as watch:
        async with asyncio.timeout(5):
            items = [entry.item async for entry in watch]

    assert isinstance(items[-1], End)
    assert items[-1].text == "both"


async def test_a_reader_of_a_run_that_stands_still_keeps_little_of_it(bus: LocalBus, feed: Feed) -> None:
    message = inbound("hello")
    with feed.watch(message.run) as watch:
        for number in range(WATCH_LIMIT + 5):
            bus.send(chunk_of(message, "x", seq=number))
            await asyncio.sleep(0)
        bus.send(end_of(message, "all"))
        await emit(bus, 1)
        async with asyncio.timeout(5):
            items = [entry.item async for entry in watch]

    assert isinstance(items[0], Missed)
    assert len(items) == WATCH_LIMIT + 1
    assert isinstance(items[-1], End)


async def test_closing_the_feed_ends_all_readers(bus: LocalBus, feed: Feed) -> None:
    with feed.follow() as follower, feed.watch(RunId("one")) as watch:
        readers = [asyncio.create_task(anext(reader, None)) for reader in (follower, watch)]
        await asyncio.sleep(0)
        await feed.aclose()

        assert await asyncio.gather(*readers) == [None, None]


async def test_what_grows_meanwhile_is_merged_into_one_piece(bus: LocalBus) -> None:
    feed, message = Feed(bus, pause=0.02), inbound("hello")
    with feed.watch(message.run) as watch:
        for number in range(100):
            bus.send(chunk_of(message, "x", seq=number))
            await asyncio.sleep(0)
        bus.send(end_of(message, "x" * 100))
        async with asyncio.timeout(5):
            items = [entry.item async for entry in watch]
    await feed.aclose()

    assert len(items) < 10
    assert isinstance(items[-1], End)
