"""Starts the processes beside the one that measures: the model server, and whole bots."""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.machine import ROOM, ROOT

READY = b"Chat with"
OPEN = {
    "BOT_ACCESS__MODE": "open",
    "BOT_ACCESS__STRANGERS": "member",
    "BOT_ACCESS__RATES__PERSON": "9999/second",
    "BOT_ACCESS__RATES__CHAT": "9999/second",
    "BOT_ACCESS__RATES__CHANNEL": "9999/second",
}
SECONDS = 30.0  # the most that a process may take to start, or to stop


@dataclass(frozen=True, slots=True)
class Started:
    """A bot that has just become ready."""

    pid: int
    seconds: float


@asynccontextmanager
async def model_server() -> AsyncIterator[str]:
    """The model server; gives the root of its addresses."""
    command = (sys.executable, "-m", "bench.model_server")
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, env=environment(), stdin=pipe, stdout=pipe)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        async with asyncio.timeout(SECONDS):
            port = int(await process.stdout.readline())
        yield f"http://127.0.0.1:{port}"
    finally:
        process.stdin.close()
        async with asyncio.timeout(SECONDS):
            await process.wait()


@contextmanager
def room() -> Iterator[Path]:
    """An empty directory on the disk."""
    ROOM.mkdir(exist_ok=True)
    with TemporaryDirectory(dir=ROOM, prefix="bench-") as path:
        yield Path(path)


@contextmanager
def started_bot(home: Path, base_url: str, channels: Mapping[str, str] | None = None) -> Iterator[Started]:
    """`python -m bot` with the page, from exec until it says where it listens.

    Args:
        channels: Settings that switch on platforms; without them no chat SDK is loaded.
    """
    home.mkdir(parents=True)
    settings = {"BOT_HOME": str(home), "BOT_OPENAI__BASE_URL": base_url, **OPEN, **(channels or {})}
    began = time.perf_counter()
    process = subprocess.Popen(
        (sys.executable, "-m", "bot", "run", "--port", "0"),
        cwd=home,
        env=environment() | settings,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        seconds = time.perf_counter() - began
        if not line.startswith(READY):
            raise RuntimeError(f"the bot did not become ready, it said {line!r}")
        yield Started(process.pid, seconds)
    finally:
        process.terminate()
        process.wait(SECONDS)
        process.stdout.close()


def environment() -> dict[str, str]:
    """Our environment without the settings of somebody's bot or interpreter: byte code is kept, as usual."""
    others = ("BOT_", "OPENAI_", "PYTHON")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(others)}
    return kept | {"PYTHONPATH": str(ROOT)}
