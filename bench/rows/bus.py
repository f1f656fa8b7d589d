"""The bus in the process: an outbound message made, published, and taken by a subscriber."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from statistics import median
from typing import TypeAlias

from bench.place import Effort, Place
from bench.results import Result, middle, row
from bot.bus import LocalBus
from bot.messages import Address, Chunk, RunId, SessionKey

MESSAGES: dict[Effort, int] = {"full": 200_000, "quick": 50_000, "tiny": 640}
SINGLE: dict[Effort, int] = {"full": 20_000, "quick": 5_000, "tiny": 10}
ROUNDS: dict[Effort, int] = {"full": 9, "quick": 3, "tiny": 1}
BURST = 64  # messages between two looks of the subscriber, each of another run: none is merged
ADDRESS = Address(channel="web", chat="main")
SESSION = SessionKey("web:default:main")
RUNS = tuple(RunId(f"run{number}") for number in range(BURST))

Put: TypeAlias = Callable[[int], None]


async def measure(place: Place) -> list[Result]:
    """Rounds of the bus and of `asyncio.Queue` take turns; the queue carries a tuple."""
    rates: list[float] = []
    limit_rates: list[float] = []
    times: list[list[float]] = []
    limit_times: list[list[float]] = []
    for _ in range(ROUNDS[place.effort] + 1):
        bus, queue = LocalBus(), asyncio.Queue[tuple[int, str]]()
        with bus.outbound(channel="web") as mailbox:
            send, put = _sender(bus), _putter(queue)
            rates.append(await _rate(send, mailbox, MESSAGES[place.effort]))
            limit_rates.append(await _rate(put, _each(queue), MESSAGES[place.effort]))
            times.append(await _times(send, mailbox, SINGLE[place.effort]))
            limit_times.append(await _times(put, _each(queue), SINGLE[place.effort]))
    least = middle(limit_times[1:], 50)  # the first round was the warm-up
    return [
        row("bus, messages", median(rates[1:]), "1/s", at_least=400_000, limit=median(limit_rates[1:])),
        row("bus, publish to subscriber, p50", middle(times[1:], 50), "µs", at_most=3, limit=least),
    ]


def _sender(bus: LocalBus) -> Put:
    def send(number: int) -> None:
        run = RUNS[number % BURST]
        bus.send(Chunk(run=run, session=SESSION, address=ADDRESS, attempt=1, seq=number + 1, text="word "))

    return send


def _putter(queue: asyncio.Queue[tuple[int, str]]) -> Put:
    def put(number: int) -> None:
        queue.put_nowait((number, "word "))

    return put


async def _each(queue: asyncio.Queue[tuple[int, str]]) -> AsyncIterator[object]:
    while True:
        yield await queue.get()


async def _take(items: AsyncIterator[object], count: int) -> None:
    taken = 0
    async for _ in items:
        taken += 1
        if taken == count:
            return


async def _rate(put: Put, items: AsyncIterator[object], count: int) -> float:
    """Messages a second."""
    reader = asyncio.create_task(_take(items, count // BURST * BURST))
    await asyncio.sleep(0)
    began = time.perf_counter()
    for first in range(0, count // BURST * BURST, BURST):
        for number in range(first, first + BURST):
            put(number)
        await asyncio.sleep(0)
    await reader
    return (count // BURST * BURST) / (time.perf_counter() - began)


async def _times(put: Put, items: AsyncIterator[object], count: int) -> list[float]:
    """Microseconds from before a message is made until a waiting subscriber has it, one at a time."""
    times: list[float] = []
    began = 0.0

    async def read() -> None:
        async for _ in items:
            times.append((time.perf_counter() - began) * 1e6)
            if len(times) == count:
                return

    reader = asyncio.create_task(read())
    await asyncio.sleep(0)
    for number in range(count):
        began = time.perf_counter()
        put(number)
        await asyncio.sleep(0)
        await asyncio.sleep(0)  # the reader waits again
    await reader
    return times
