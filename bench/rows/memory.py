"""Resident memory: of the bot when it is ready, of an idle session, of a turn that is being answered."""

import gc
import subprocess
import sys
import time
from contextlib import AbstractAsyncContextManager
from typing import Literal, TypeAlias

import psutil

from bench.launch import environment, started_bot
from bench.load import at_once
from bench.machine import apart, log_as_in_production, run_loop
from bench.place import Effort, Place
from bench.results import Result, row
from bench.speakers import Bare, Bot, Speaker, bare, bot

Who: TypeAlias = Literal["bot", "limit"]

IDLE: dict[Effort, int] = {"full": 5_000, "quick": 2_000, "tiny": 4}
ACTIVE: dict[Effort, int] = {"full": 500, "quick": 250, "tiny": 2}
WARM = 1_000  # sessions, so that caches and pools have their size before it counts
SETTLE = 1.0  # seconds after ready, in which the bot loads its model client
BARE = "import asyncio, aiohttp; print(flush=True); input()"


async def measure(place: Place) -> list[Result]:
    """Each figure comes from a process of its own."""
    idle, active = IDLE[place.effort], ACTIVE[place.effort]
    session = {who: apart(_idle, place, who) for who in ("bot", "limit")}
    turn = {who: apart(_active, place, who) for who in ("bot", "limit")}
    return [
        row("memory when ready", _ready(place), "MiB", at_most=60, limit=_interpreter()),
        row(f"memory an idle session, of {idle}", session["bot"], "KiB", at_most=8, limit=session["limit"]),
        row(f"memory an active turn, of {active}", turn["bot"], "KiB", at_most=40, limit=turn["limit"]),
    ]


def _ready(place: Place) -> float:
    """MiB of `python -m bot` with the page."""
    with started_bot(place.path / "ready", place.now) as started:
        time.sleep(SETTLE)
        return psutil.Process(started.pid).memory_info().rss / 2**20


def _interpreter() -> float:
    """MiB of an interpreter that has loaded asyncio and aiohttp."""
    command = (sys.executable, "-c", BARE)
    with subprocess.Popen(
        command, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        size = psutil.Process(process.pid).memory_info().rss / 2**20
        process.communicate(b"\n", timeout=10)
        return size


def _idle(place: Place, who: Who) -> float:
    """KiB that a session leaves behind after one turn."""
    log_as_in_production()
    return run_loop(_measure_idle(place, who))


async def _measure_idle(place: Place, who: Who) -> float:
    count = IDLE[place.effort]
    async with _speaker(place, who, place.now, "idle") as speaker:
        await _one_turn_each(speaker, min(WARM, count), "warm")
        before = _resident()
        await _one_turn_each(speaker, count, "idle")
        return (_resident() - before) / count / 1024


async def _one_turn_each(speaker: Speaker, sessions: int, name: str) -> None:
    """In groups of 64, so that it is sessions that are counted and not a crowd of turns."""
    for first in range(0, sessions, 64):
        await at_once(speaker, min(64, sessions - first), 1, name=f"{name}{first}-")


def _active(place: Place, who: Who) -> float:
    """KiB of a turn whose answer has begun."""
    log_as_in_production()
    return run_loop(_measure_active(place, who))


async def _measure_active(place: Place, who: Who) -> float:
    count = ACTIVE[place.effort]
    async with _speaker(place, who, place.held, "active") as speaker:
        for n in range(8):  # warm-up
            await (await speaker.ask(f"warm{n}")).first
        before = _resident()
        for n in range(count):
            await (await speaker.ask(f"chat{n}")).first
        return (_resident() - before) / count / 1024


def _resident() -> int:
    gc.collect()
    return int(psutil.Process().memory_info().rss)


def _speaker(
    place: Place, who: Who, url: str, name: str
) -> AbstractAsyncContextManager[Bot] | AbstractAsyncContextManager[Bare]:
    return bare(url) if who == "limit" else bot(place.path / name, url)
