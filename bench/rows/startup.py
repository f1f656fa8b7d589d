"""From exec until the bot says where it listens: with the page, without chat SDKs, in an empty directory."""

import subprocess
import sys
import time
from statistics import median

from bench.launch import environment, started_bot
from bench.place import Effort, Place
from bench.results import Result, row

ROUNDS: dict[Effort, int] = {"full": 7, "quick": 3, "tiny": 1}
IMPORTS = "import asyncio, starlette.applications, uvicorn, msgspec, pydantic_settings"


async def measure(place: Place) -> list[Result]:
    """The limit is an interpreter that imports what no bot of this kind can do without."""
    ours: list[float] = []
    least: list[float] = []
    for number in range(-1, ROUNDS[place.effort]):
        seconds, limit = _start(place, number), _import()
        if number >= 0:  # the first one fills the caches of the disk
            ours.append(seconds)
            least.append(limit)
    return [row("exec to ready", median(ours), "s", at_most=0.5, limit=median(least))]


def _start(place: Place, number: int) -> float:
    with started_bot(place.path / f"home{number}", place.now) as started:
        return started.seconds


def _import() -> float:
    began = time.perf_counter()
    subprocess.run((sys.executable, "-c", IMPORTS), check=True, env=environment(), timeout=30)
    return time.perf_counter() - began
