"""The bot of the studio: a process that can be killed like a real one, and leaves none behind."""

import asyncio
import os
import re
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path

from bot.operations.terminal import say

ROOT = Path(__file__).parents[2]
DRAIN_SECONDS = 10.0  # at the end, until the process is killed
ADDRESS = re.compile(r"http://\S+/chat\b")


class BotProcess:
    """`python -m bot run`, in a process group of its own.

    Args:
        environment: Its settings; none of ours reach it.
        directory: Where it runs, so that it finds neither `.env` nor `bot.toml`.
        tell: Called after every change.

    Attributes:
        state: `stopped`, `starting` or `running`.
        url: Its own chat page, while it runs.
    """

    def __init__(
        self, environment: Mapping[str, str], *, directory: Path, tell: Callable[[], Awaitable[None]]
    ) -> None:
        ours = {name: value for name, value in os.environ.items() if not name.upper().startswith("BOT_")}
        self._environment = {**ours, "PYTHONPATH": str(ROOT), **environment}
        self._directory = directory
        self._tell = tell
        self._process: asyncio.subprocess.Process | None = None
        self._reader: asyncio.Task[None] | None = None
        self.state = "stopped"
        self.url: str | None = None

    async def start(self) -> None:
        """Start it, unless it runs."""
        if self.state != "stopped":
            return
        self.state = "starting"
        await self._tell()
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "bot", "run", "--port", "0"),
            cwd=self._directory,
            env=self._environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        self._reader = asyncio.create_task(self._read(self._process), name="read the bot")

    async def kill(self) -> None:
        """Pull the plug."""
        if self._process is not None and self._reader is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            await self._reader

    async def aclose(self) -> None:
        """End it in order, or by force where that takes too long; nothing of its group stays."""
        if self._process is not None and self._reader is not None and not self._reader.done():
            with suppress(ProcessLookupError):
                self._process.terminate()
            await asyncio.wait({self._reader}, timeout=DRAIN_SECONDS)
        await self.kill()

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        """Pass on what it says, to the end of the process."""
        assert process.stdout is not None
        async for line in process.stdout:
            text = line.decode(errors="replace").rstrip()
            say(f"bot: {text}")
            if (address := ADDRESS.search(text)) is not None:
                self.state, self.url = "running", address[0]
                await self._tell()
        code = await process.wait()
        self.state, self.url = "stopped", None
        say(f"bot: ended with exit code {code}")
        await self._tell()
