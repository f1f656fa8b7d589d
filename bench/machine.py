"""The machine: who runs on which core, on which event loop, and what it all is called."""

import asyncio
import importlib.util
import logging
import os
import platform
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from typing import Literal, ParamSpec, TypeVar

import psutil

from bot.telemetry import set_up_logging

Result = TypeVar("Result")
Parameters = ParamSpec("Parameters")

HAS_UVLOOP = importlib.util.find_spec("uvloop") is not None
ROOT = Path(__file__).parent.parent
QUIET = 8.0  # per cent of all cores
LOOK = 1.0  # seconds that have to be quiet
ROOM = ROOT / "build"  # beside the code, so on a disk: what lies in memory would flatter the store


def pin(who: Literal["bot", "server"]) -> None:
    """Keep this process, and those it starts, on one core; no effect where there is but one."""
    if not hasattr(os, "sched_setaffinity"):
        return
    cores = range(os.cpu_count() or 1)
    if len(cores) > 1:
        os.sched_setaffinity(0, {cores[0] if who == "bot" else cores[1]})


def run_loop(main: Coroutine[None, None, Result]) -> Result:
    """Run an event loop as the bot does: uvloop where it is installed."""
    if not HAS_UVLOOP:
        return asyncio.run(main)
    import uvloop  # an extra

    return uvloop.run(main)


def log_as_in_production() -> None:
    """Make and format each line that production logs, and throw the text away."""
    nowhere = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - open until the process ends
    set_up_logging("INFO", "json", nowhere)
    logging.captureWarnings(True)


def apart(
    function: Callable[Parameters, Result], *arguments: Parameters.args, **named: Parameters.kwargs
) -> Result:
    """Call a function of a module in a fresh process, so that its memory tells of nothing else."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *arguments, **named).result(timeout=120)


def wait_until_quiet(most: float) -> float:
    """Wait, at most so many seconds, until other programs leave the cores alone."""
    began = time.monotonic()
    while (waited := time.monotonic() - began) < most and psutil.cpu_percent(LOOK) > QUIET:
        continue
    return waited


def describe() -> str:
    """Date, processor, Python and event loop, in one line."""
    loop = "uvloop" if HAS_UVLOOP else "asyncio"
    date = datetime.now(UTC).date().isoformat()
    return f"{date}, {_processor()}, {os.cpu_count()} cores, Python {platform.python_version()}, {loop}"


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())
