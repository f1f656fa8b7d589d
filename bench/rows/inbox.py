"""What the inbox and the API add to a turn, with readers and without; how long a page of the list takes."""

import asyncio
import sqlite3
import time
from contextlib import AsyncExitStack
from statistics import median
from typing import Literal, TypeAlias

import aiohttp

from bench.event_readers import event_readers
from bench.load import one_by_one
from bench.place import Effort, Place
from bench.results import Result, row
from bench.speakers import Bot, Speaker, bare, bot
from bot.inbox.base import EVERYTHING, Filter
from memory.store import Store

SESSIONS: dict[Effort, int] = {"full": 20, "quick": 20, "tiny": 2}
TURNS: dict[Effort, int] = {"full": 4, "quick": 4, "tiny": 1}
ROUNDS: dict[Effort, int] = {"full": 7, "quick": 3, "tiny": 1}
CONVERSATIONS: dict[Effort, int] = {"full": 100_000, "quick": 20_000, "tiny": 20}
PAGES: dict[Effort, int] = {"full": 50, "quick": 20, "tiny": 2}
LABELLED = 10  # conversations
READERS = 10
TAIL = 0.2  # seconds after a round in which readers still get their last frame

Case: TypeAlias = Literal["alone", "unread", "read", "stuck"]


async def measure(place: Place) -> list[Result]:
    """Rounds of four bots and of the limit take turns; each is compared with the bot without an API."""
    effort = place.effort
    least: list[float] = []
    costs: dict[Case, list[float]] = {"alone": [], "unread": [], "read": [], "stuck": []}
    async with AsyncExitStack() as stack:
        limit = await stack.enter_async_context(bare(place.now))
        bots = {case: await _open(case, place, stack) for case in costs}
        speakers: tuple[Speaker, ...] = (limit, *bots.values())
        for speaker in speakers:
            await one_by_one(speaker, SESSIONS[effort], 2)  # warm-up
        for _ in range(ROUNDS[effort]):
            least.append(await _cost(limit, effort))
            for case, ours in bots.items():
                costs[case].append(await _cost(ours, effort))
    all_, few = await _pages(place)
    count = f"{CONVERSATIONS[effort]:,}"
    return [
        row("turn, processor time without an API", median(costs["alone"]), "µs", limit=median(least)),
        row("inbox and API, added with no reader", _share(costs, "unread"), "x", at_most=1.05),
        row(f"inbox and API, added with {READERS} readers", _share(costs, "read"), "x", at_most=1.15),
        row("inbox and API, added with a stuck reader", _share(costs, "stuck"), "x", at_most=1.05),
        row(f"inbox, a page of {count} conversations, p50", all_ * 1e3, "ms", at_most=5),
        row(f"inbox, those with a label among {count}, p50", few * 1e3, "ms", at_most=5),
    ]


async def _open(case: Case, place: Place, stack: AsyncExitStack) -> Bot:
    """A bot; but for the first its API is loaded, and its inbox was looked at."""
    speaker = await stack.enter_async_context(
        bot(place.path / case, place.now, synchronous="NORMAL", has_web=case != "alone")
    )
    if speaker.url is None:
        return speaker
    async with aiohttp.ClientSession() as client, client.get(f"{speaker.url}/api/inbox") as answer:
        answer.raise_for_status()
    if case == "read":
        await stack.enter_async_context(event_readers(speaker.url, READERS, "read"))
    elif case == "stuck":
        await stack.enter_async_context(event_readers(speaker.url, 1, "stuck"))
    return speaker


async def _cost(speaker: Speaker, effort: Effort) -> float:
    """Microseconds of all threads a turn, with what comes of it later."""
    began = time.process_time()
    exchanges = await one_by_one(speaker, SESSIONS[effort], TURNS[effort])
    await asyncio.sleep(TAIL)
    return (time.process_time() - began) / len(exchanges) * 1e6


def _share(costs: dict[Case, list[float]], case: Case) -> float:
    """How much more a turn costs, in the round in the middle."""
    pairs = zip(costs[case], costs["alone"], strict=True)
    return median(ours / alone for ours, alone in pairs)


async def _pages(place: Place) -> tuple[float, float]:
    """The median of a page of all, and of those with a label, in seconds; all is known before the first."""
    count = CONVERSATIONS[place.effort]
    async with Store(place.path, synchronous="NORMAL") as store:
        await store.database.write(lambda db: _fill(db, count))
        for one in (await store.inbox.find(EVERYTHING, limit=LABELLED * 10))[::10]:
            await store.inbox.label(one.chat, ["bench"])
        return (
            await _page(store, EVERYTHING, PAGES[place.effort]),
            await _page(store, Filter(labels=("bench",)), PAGES[place.effort]),
        )


async def _page(store: Store, wanted: Filter, samples: int) -> float:
    times = []
    for _ in range(samples):
        began = time.perf_counter()
        await store.inbox.find(wanted)
        times.append(time.perf_counter() - began)
    return median(times)


def _fill(db: sqlite3.Connection, count: int) -> None:
    db.executemany(
        "INSERT INTO messages (session, number, id, run, role, speaker, text, at)"
        " VALUES (?, 1, ?, ?, 'user', 'Ann', 'hello', 0.0)",
        ((f"bench:default:{number}", str(number), str(number)) for number in range(count)),
    )
