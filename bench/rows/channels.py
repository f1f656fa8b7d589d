"""What each platform costs when it is on: memory, and time until the bot is ready."""

import asyncio
import time
from statistics import median

import psutil

from bench.launch import started_bot
from bench.place import Effort, Place
from bench.results import Result, row
from tests.contract.house import PLATFORMS, new_simulator

ROUNDS: dict[Effort, int] = {"full": 5, "quick": 3, "tiny": 1}
SETTLE: dict[Effort, float] = {
    "full": 4.0,
    "quick": 4.0,
    "tiny": 0.5,
}  # until the SDK is loaded and connected
TINY = ("slack",)


async def measure(place: Place) -> list[Result]:
    """Each bot is a process of its own, on a simulator of its platform."""
    names = TINY if place.effort == "tiny" else PLATFORMS
    base, _ = await asyncio.to_thread(_look, place, "none", {})
    rows = []
    for name in names:
        async with new_simulator(name) as simulator:
            size, _ = await asyncio.to_thread(_look, place, name, simulator.settings)
            rows.append(row(f"memory of {name} when it is on", size - base, "MiB"))
    async with new_simulator(names[-1]) as simulator:
        starts = [
            (await asyncio.to_thread(_start, place, number, simulator.settings))
            for number in range(ROUNDS[place.effort])
        ]
    return [*rows, row(f"exec to ready with {names[-1]} on", median(starts), "s", at_most=1.0)]


def _look(place: Place, name: str, channels: dict[str, str]) -> tuple[float, float]:
    """MiB of a bot, a while after it was ready, and the seconds it took to be."""
    with started_bot(place.path / f"home-{name}", place.now, channels) as started:
        time.sleep(SETTLE[place.effort])
        return psutil.Process(started.pid).memory_info().rss / 2**20, started.seconds


def _start(place: Place, number: int, channels: dict[str, str]) -> float:
    with started_bot(place.path / f"start{number}", place.now, channels) as started:
        return started.seconds
