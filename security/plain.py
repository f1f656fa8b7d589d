"""Commands without walls, for operators who ask for it."""

import asyncio
import os
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from uuid import uuid4

from bot.tools.exec import Finished, Limits
from security.confined import (
    Confined,
    as_program,
    clean_environment,
    confine,
    limit_resources,
    run_to_end,
    usage_of,
)

MARK = "SWITCHBOARD_COMMAND"
KILL_SECONDS = 1.0  # the event loop waits for it


class PlainSandbox:
    """Fulfils `bot.tools.exec.Sandbox` with limits alone: a command may do all that the bot's user may."""

    fault: str | None = None

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace.resolve()

    async def run(
        self,
        command: Sequence[str] | str,
        *,
        directory: Path,
        environment: Mapping[str, str],
        limits: Limits,
        stdin: bytes | None = None,
    ) -> Finished:
        """See the protocol."""
        process = await self.spawn(command, directory=directory, environment=environment, limits=limits)
        return await run_to_end(process, stdin or b"", limits)

    async def spawn(
        self,
        command: Sequence[str] | str,
        *,
        directory: Path,
        environment: Mapping[str, str],
        limits: Limits,
    ) -> Confined:
        """See the protocol; what it starts in its first moment escapes the limits that the kernel keeps."""
        mark = uuid4().hex
        process, tree = await confine(
            as_program(command),
            tree_of=partial(Session, mark=mark),
            limits=limits,
            environment={**clean_environment(self._workspace), **environment, MARK: mark},
            directory=directory,
        )
        with suppress(ProcessLookupError):  # it may be over already
            limit_resources(tree.pid, limits, is_namespaced=False)
        return process


class Session:
    """What runs in the session of a process or carries its mark; what sheds both is lost."""

    pace = 0.1

    def __init__(self, process: asyncio.subprocess.Process, mark: str) -> None:
        self.pid = process.pid
        self._mark = f"{MARK}={mark}".encode()

    def usage(self) -> tuple[int, int, int]:
        """See `Tree`."""
        used = [usage_of(f"/proc/{pid}") for pid in self._members(is_thorough=False)]
        return len(used), sum(threads for threads, _ in used), sum(memory for _, memory in used)

    def kill(self) -> None:
        """See `Tree`: the process group first, as its members can't fork their way out of that."""
        until = time.monotonic() + KILL_SECONDS
        while (members := list(self._members(is_thorough=True))) and time.monotonic() < until:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
            for pid in members:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)

    async def gone(self) -> None:
        """See `Tree`: no more can be done than to kill them."""

    def close(self) -> None:
        """See `Tree`."""

    def _members(self, *, is_thorough: bool) -> Iterator[int]:
        """All that are alive; the dead wait for their burial under their old number."""
        for name in filter(str.isdigit, os.listdir("/proc")):
            with suppress(OSError):
                stat = Path(f"/proc/{name}/stat").read_bytes().rpartition(b") ")[2].split()
                if stat[0] not in (b"Z", b"X") and (
                    int(stat[3]) == self.pid
                    or (is_thorough and self._mark in Path(f"/proc/{name}/environ").read_bytes())
                ):
                    yield int(name)
