"""The bus of one process: nobody who publishes waits, and whoever reads late sees the same screen."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field
from typing import TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.bus import LocalBus, Receipt
from bot.bus.local import MAX_RUNS, MERGE_AT, OutboundMailbox
from bot.errors import StoreError
from bot.messages import (
    AgentEnd,
    AgentStart,
    Chunk,
    End,
    InboundMessage,
    Missed,
    OutboundMessage,
    RunId,
    SessionKey,
    SystemEvent,
)
from tests.factories import chunk_of, end_of, inbound

Item = TypeVar("Item")

RUNS = tuple(inbound(f"question {number}") for number in range(3))
READ = None


@dataclass(slots=True)
class Screen:
    """What a person sees of the runs: the plainest reading of what chunks and ends say."""

    texts: dict[RunId, str] = field(default_factory=dict)
    attempts: dict[RunId, int] = field(default_factory=dict)
    ended: dict[RunId, int] = field(default_factory=dict)

    def show(self, message: OutboundMessage) -> None:
        attempt = self.attempts.get(message.run, 0)
        if message.attempt < attempt:
            return
        if isinstance(message, End):
            self.ended[message.run] = self.ended.get(message.run, 0) + 1
            self.texts[message.run] = message.text
        elif message.replaces or message.attempt > attempt:
            self.texts[message.run] = message.text
        else:
            self.texts[message.run] = self.texts.get(message.run, "") + message.text
        self.attempts[message.run] = message.attempt


@st.composite
def conversations(draw: st.DrawFn) -> list[OutboundMessage | None]:
    """Interleaved runs as a loop publishes them: attempts that grow, texts that are replaced, writers that
    lost their run, and at most one end, which is the last of its run; `READ` in between.
    """
    attempts = [1, 1, 1]
    is_over = [False, False, False]
    script: list[OutboundMessage | None] = []
    for seq in range(draw(st.integers(0, 40))):
        which = draw(st.integers(0, 2))
        kind = draw(st.sampled_from(["grow", "grow", "grow", "replace", "again", "stale", "end", "read"]))
        text = draw(st.text(alphabet="ab\n", max_size=3))
        if kind == "read":
            script.append(READ)
        elif is_over[which]:
            continue
        elif kind == "end":
            is_over[which] = True
            script.append(end_of(RUNS[which], text, attempt=attempts[which]))
        else:
            attempts[which] += kind == "again"
            attempt = attempts[which] - (kind == "stale" and attempts[which] > 1)
            replaces = kind == "replace"
            script.append(chunk_of(RUNS[which], text, seq=seq, attempt=attempt, replaces=replaces))
    return script


async def read_all(items: AsyncIterator[Item]) -> list[Item]:
    """Read until the subscription ends."""
    async with asyncio.timeout(5):
        return [item async for item in items]


def take_all(mailbox: OutboundMailbox) -> Iterable[OutboundMessage]:
    while (message := mailbox.take()) is not None:
        yield message


def started(number: int = 1) -> AgentStart:
    return AgentStart(session=RUNS[0].session, attempt=number)


@given(script=conversations())
def test_merging_never_changes_what_the_screen_shows(script: list[OutboundMessage | None]) -> None:
    mailbox, late, prompt = OutboundMailbox(), Screen(), Screen()
    for step in script:
        if step is not READ:
            mailbox.put(step)
            prompt.show(step)
        elif (message := mailbox.take()) is not None:
            late.show(message)
    for message in take_all(mailbox):
        late.show(message)

    assert late.texts == prompt.texts
    assert late.ended == prompt.ended


@given(script=conversations())
def test_an_end_comes_last_and_exactly_once(script: list[OutboundMessage | None]) -> None:
    mailbox = OutboundMailbox()
    read: list[OutboundMessage] = []
    for step in script:
        if step is not READ:
            mailbox.put(step)
        elif (message := mailbox.take()) is not None:
            read.append(message)
    read += take_all(mailbox)

    for run in {step.run for step in script if isinstance(step, End)}:
        kinds = [type(message) for message in read if message.run == run]
        assert kinds.count(End) == 1
        assert kinds[-1] is End


@given(script=conversations(), count=st.integers(1, 3))
def test_what_comes_after_a_waiting_end_changes_nothing(
    script: list[OutboundMessage | None], count: int
) -> None:
    mailbox, end = OutboundMailbox(), end_of(RUNS[0], "whole", attempt=9)
    for step in script:
        if step is not READ:
            mailbox.put(step)
    mailbox.put(end)
    for number in range(count):
        mailbox.put(chunk_of(RUNS[0], "late", seq=number, attempt=9 - number))
        mailbox.put(end_of(RUNS[0], "again", attempt=9 - number))

    assert [message for message in take_all(mailbox) if message.run == RUNS[0].run] == [end]


@given(pieces=st.lists(st.text(max_size=2), min_size=1, max_size=3 * MERGE_AT))
def test_a_reader_that_slept_gets_all_pieces_as_one(pieces: list[str]) -> None:
    mailbox = OutboundMailbox()
    for seq, piece in enumerate(pieces):
        mailbox.put(chunk_of(RUNS[0], piece, seq=seq))

    (merged,) = take_all(mailbox)
    assert isinstance(merged, Chunk)
    assert merged.text == "".join(pieces)
    assert merged.seq == len(pieces) - 1
    assert not merged.replaces


@given(order=st.permutations(range(3)), tail=st.lists(st.integers(0, 2), max_size=20))
def test_runs_are_read_in_the_order_in_which_they_first_spoke(order: list[int], tail: list[int]) -> None:
    mailbox = OutboundMailbox()
    for which in [*order, *tail]:
        mailbox.put(chunk_of(RUNS[which], "x"))

    assert [message.run for message in take_all(mailbox)] == [RUNS[which].run for which in order]


async def test_a_retried_message_speaks_after_the_end_that_set_it_aside() -> None:
    mailbox = OutboundMailbox()
    mailbox.put(end_of(RUNS[0], "set aside", attempt=3, reason="error"))
    again = chunk_of(RUNS[0], "new", attempt=4, replaces=True)
    mailbox.put(again)

    assert list(take_all(mailbox)) == [again]


async def test_a_reader_that_never_reads_keeps_a_bounded_number_of_runs() -> None:
    bus = LocalBus()
    messages = [inbound(str(number)) for number in range(MAX_RUNS + 5)]
    with bus.outbound() as lazy:
        for message in messages:
            bus.send(chunk_of(message, "x"))

    runs = [message.run for message in await read_all(lazy)]
    assert runs == [message.run for message in messages[5:]]


@given(
    limit=st.integers(1, 20),
    bursts=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 10)), max_size=10),
)
def test_a_slow_reader_of_events_is_told_exactly_how_many_it_missed(
    limit: int, bursts: list[tuple[int, int]]
) -> None:
    bus = LocalBus()
    mailbox = bus.events(limit=limit)
    sent = 0
    read: list[SystemEvent | Missed] = []
    for emitted, taken in bursts:
        for _ in range(emitted):
            sent += 1
            bus.emit(started(sent))
        read += [item for _ in range(taken) if (item := mailbox.take()) is not None]
    while (item := mailbox.take()) is not None:
        read.append(item)

    expected = 1
    for item in read:
        if isinstance(item, Missed):
            expected += item.count
        else:
            assert isinstance(item, AgentStart)
            assert item.attempt == expected
            expected += 1
    assert expected == sent + 1


async def test_events_beyond_the_limit_are_counted_not_kept() -> None:
    bus = LocalBus()
    with bus.events(limit=2) as lazy:
        for number in range(1, 6):
            bus.emit(started(number))

    assert await read_all(lazy) == [Missed(count=3), started(4), started(5)]


async def test_events_that_a_reader_does_not_want_are_neither_kept_nor_missed() -> None:
    bus = LocalBus()
    with bus.events(limit=2, wants=lambda kind, session: kind is AgentEnd) as picky:
        for number in range(1, 6):
            bus.emit(started(number))
        bus.emit(over := AgentEnd(session=RUNS[0].session, reason="done", seconds=1))

    assert await read_all(picky) == [over]


def test_an_event_is_wanted_where_a_reader_has_a_use_for_it() -> None:
    bus = LocalBus()
    here, there = SessionKey("web:dm:here"), SessionKey("web:dm:there")

    def is_wanted(kind: type[SystemEvent] = AgentEnd, session: SessionKey = here) -> bool:
        return bus.is_wanted(kind, session)

    before = is_wanted()
    with bus.events(wants=lambda kind, session: kind is AgentEnd and session == here):
        picky = [is_wanted(), is_wanted(AgentStart), is_wanted(session=there)]
        with bus.events():
            greedy = [is_wanted(), is_wanted(AgentStart), is_wanted(session=there)]

    assert (before, picky, greedy) == (False, [True, False, False], [True, True, True])
    assert not is_wanted()


async def test_closing_wakes_the_reader() -> None:
    mailbox = LocalBus().outbound()
    reader = asyncio.create_task(read_all(mailbox))
    await asyncio.sleep(0)

    mailbox.close()

    assert await reader == []


async def test_a_closed_reader_reads_what_is_queued_and_gets_nothing_more() -> None:
    bus = LocalBus()
    mailbox, events = bus.outbound(), bus.events()
    bus.send(end_of(RUNS[0], "before"))
    bus.emit(started(1))
    mailbox.close()
    events.close()

    bus.send(end_of(RUNS[1], "after"))
    bus.emit(started(2))

    assert await read_all(mailbox) == [end_of(RUNS[0], "before")]
    assert await read_all(events) == [started(1)]


async def test_closing_twice_is_closing_once() -> None:
    bus = LocalBus()
    with bus.outbound() as mailbox:
        mailbox.close()

    assert await read_all(mailbox) == []


async def test_a_reader_that_gives_up_waiting_misses_nothing() -> None:
    bus = LocalBus()
    with bus.outbound() as mailbox:
        waiting = asyncio.ensure_future(anext(mailbox))
        await asyncio.sleep(0)
        bus.send(end_of(RUNS[0]))
        waiting.cancel()
        await asyncio.wait({waiting})

    assert await read_all(mailbox) == [end_of(RUNS[0])]


async def test_a_reader_of_one_channel_gets_that_channel_only() -> None:
    bus = LocalBus()
    elsewhere = inbound(session="other:default:main")
    with bus.outbound(channel="other") as other, bus.outbound() as everything:
        bus.send(end_of(RUNS[0], "web"))
        bus.send(end_of(elsewhere, "other"))

    assert await read_all(other) == [end_of(elsewhere, "other")]
    assert await read_all(everything) == [end_of(RUNS[0], "web"), end_of(elsewhere, "other")]


async def test_every_reader_gets_everything() -> None:
    bus = LocalBus()
    with bus.outbound() as one, bus.outbound() as two:
        bus.send(end_of(RUNS[0]))

    assert await read_all(one) == await read_all(two) == [end_of(RUNS[0])]


async def test_publishing_before_anybody_accepts_is_refused() -> None:
    with pytest.raises(StoreError, match="still starting"):
        await LocalBus().publish(inbound())


async def test_publishing_gives_what_the_one_who_accepts_says() -> None:
    bus = LocalBus()
    taken: list[InboundMessage] = []

    async def accept(message: InboundMessage) -> Receipt:
        taken.append(message)
        return Receipt.DUPLICATE

    bus.serve(accept)

    assert await bus.publish(RUNS[0]) is Receipt.DUPLICATE
    assert taken == [RUNS[0]]
