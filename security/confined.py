"""A process under limits: its output, its input, and its end, with all that it has started."""

import asyncio
import os
import resource
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol, TypeVar

from bot.tools.base import ToolFault
from bot.tools.exec import Breach, Ending, Finished, Limits

PIECE = 65_536  # bytes read at once
MAX_OUTPUT = 64 << 20  # bytes after which a command to be run to its end is one without an end
KILL_SECONDS = 5.0  # the most that the end of a killed process is waited for
OPEN_FILES = 512
PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
THREADS = 8  # for each process that is allowed

# Older kernels count all processes of the user. It holds for ordinary users only: root forks as it likes.
COUNTS_BY_NAMESPACE = tuple(int(part) for part in os.uname().release.split(".")[:2]) >= (5, 14)


class Tree(Protocol):
    """A process and all that it has started."""

    pace: float
    """Seconds between two looks at what is used."""

    def usage(self) -> tuple[int, int, int]:
        """Count processes, threads and bytes of memory."""

    def kill(self) -> None:
        """End all of it at once."""

    async def gone(self) -> None:
        """Wait until nothing of it runs."""

    def close(self) -> None:
        """Free what is held."""


TreeT = TypeVar("TreeT", bound=Tree)


class Confined:
    """Fulfils `bot.tools.exec.Process`: killed as a whole when it ends or goes over a limit."""

    def __init__(
        self, process: asyncio.subprocess.Process, output: "Pipe", tree: Tree, limits: Limits
    ) -> None:
        self._process = process
        self._output = output
        self._tree = tree
        self._limits = limits
        self._breach: Breach | None = None
        self._begin = time.monotonic()
        self._pidfd = open_pidfd(process.pid)
        self._guard = asyncio.create_task(self._watch(), name=f"guard of process {process.pid}")

    async def read(self) -> bytes:
        """See the protocol."""
        return await self._output.read()

    async def write(self, data: bytes, *, is_last: bool = False) -> None:
        """See the protocol."""
        stdin = self._process.stdin
        assert stdin is not None
        if stdin.is_closing():
            raise BrokenPipeError("its input is closed")
        await stdin.drain()  # what it was given before comes first, and does not pile up
        stdin.write(data)
        await stdin.drain()
        if is_last:
            stdin.close()

    async def wait(self) -> Ending:
        """See the protocol."""
        return await asyncio.shield(self._guard)

    async def stop(self) -> Ending:
        """See the protocol."""
        self._kill()
        try:
            return await asyncio.shield(self._guard)
        finally:
            self._output.close()

    def breach(self, limit: Breach) -> None:
        """Kill it for going over a limit that is not watched here."""
        self._breach = self._breach or limit
        self._kill()

    def _kill(self) -> None:
        if not self._guard.done():  # else its number may mean another process by now
            self._tree.kill()

    async def _watch(self) -> Ending:
        exited = asyncio.create_task(exit_of(self._pidfd))
        try:
            while not exited.done():
                if (limit := self._over()) is not None:
                    self.breach(limit)
                    break
                left = self._begin + self._limits.seconds - time.monotonic()
                await asyncio.wait({exited}, timeout=max(0.0, min(self._tree.pace, left)))
            seconds = time.monotonic() - self._begin
        finally:
            self._tree.kill()
            await self._settle(exited)
        code = self._process.returncode
        code = -signal.SIGKILL if code is None else code
        return Ending(code=code if code >= 0 else 128 - code, breach=self._breach, seconds=seconds)

    async def _settle(self, exited: asyncio.Task[None]) -> None:
        """Wait for the end that was ordered."""
        await asyncio.wait({exited}, timeout=KILL_SECONDS)
        if not exited.done():
            exited.cancel()
            with suppress(ProcessLookupError):
                self._process.kill()
            await asyncio.wait({exited})
        if self._process.stdin is not None:
            self._process.stdin.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(KILL_SECONDS):
                await self._tree.gone()
                await self._process.wait()
        self._tree.close()
        if self._pidfd is not None:
            os.close(self._pidfd)

    def _over(self) -> Breach | None:
        if time.monotonic() - self._begin >= self._limits.seconds:
            return "time"
        processes, threads, memory = self._tree.usage()
        if processes > self._limits.processes or threads > self._limits.processes * THREADS:
            return "processes"
        return "memory" if memory > self._limits.memory else None


class Pipe:
    """A pipe for a process to write into; its writing end is closed here as soon as the process has it."""

    def __init__(self) -> None:
        self._reading_end, self.writing_end = os.pipe()
        self._reader = asyncio.StreamReader(limit=PIECE)
        self._transport: asyncio.ReadTransport | None = None

    async def open(self) -> None:
        """Get ready to read."""
        file = os.fdopen(self._reading_end, "rb", buffering=0)
        self._transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(self._reader), file
        )

    async def read(self) -> bytes:
        """Give the next piece; empty at the end."""
        return await self._reader.read(PIECE)

    def hand_over(self) -> None:
        """Leave the writing end to the process."""
        if self.writing_end >= 0:
            os.close(self.writing_end)
            self.writing_end = -1

    def close(self) -> None:
        """Free what is held; who still reads, reads the end."""
        self.hand_over()
        if self._transport is None:
            os.close(self._reading_end)
        else:
            self._transport.close()


class Kept:
    """The head and the tail of a long output."""

    def __init__(self, limit: int) -> None:
        self._half = max(1, limit // 2)
        self._head = bytearray()
        self._tail = bytearray()
        self.total = 0

    def add(self, piece: bytes) -> None:
        """Take the next piece."""
        self.total += len(piece)
        room = self._half - len(self._head)
        self._head += piece[:room]
        self._tail += piece[room:]
        if len(self._tail) > 2 * self._half:  # not at each piece: a cut moves all that stays
            del self._tail[: -self._half]

    def text(self) -> str:
        """What was kept, and between the two how much was not."""
        tail = self._tail[-self._half :]
        missing = self.total - len(self._head) - len(tail)
        gap = f"\n[… {missing:,} bytes left out …]\n".encode() if missing else b""
        return (self._head + gap + tail).decode(errors="replace")


async def confine(
    command: Sequence[str],
    *,
    tree_of: Callable[[asyncio.subprocess.Process], TreeT],
    limits: Limits,
    environment: Mapping[str, str],
    directory: Path | str = "/",
    fds: Sequence[int] = (),
) -> tuple[Confined, TreeT]:
    """Start a program with nothing of ours but what is named, and hold it to what needs watching.

    Raises:
        ToolFault: It can't be started.
    """
    output = Pipe()
    try:
        await output.open()
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=output.writing_end,
            stderr=output.writing_end,
            env=environment,
            cwd=directory,
            pass_fds=tuple(fds),
            start_new_session=True,
        )
    except (OSError, ValueError) as error:  # not there, too long, a NUL inside
        output.close()
        raise ToolFault(f"the command can't be started: {error}") from error
    except BaseException:
        output.close()
        raise
    output.hand_over()
    tree = tree_of(process)
    return Confined(process, output, tree, limits), tree


def as_program(command: Sequence[str] | str) -> Sequence[str]:
    """What is really run."""
    return ("/bin/sh", "-c", command) if isinstance(command, str) else command


def clean_environment(home: Path | str) -> dict[str, str]:
    """All the variables that a command gets from us."""
    return {"PATH": PATH, "LANG": "C.UTF-8", "HOME": str(home), "TERM": "dumb"}


async def run_to_end(process: Confined, stdin: bytes, limits: Limits) -> Finished:
    """Feed it, keep what it prints, and wait for its end."""
    kept = Kept(limits.output)
    feeder = asyncio.create_task(_feed(process, stdin), name="feed a command")
    try:
        while piece := await process.read():
            kept.add(piece)
            if kept.total > MAX_OUTPUT:
                process.breach("output")
                break
        return Finished(ending=await process.wait(), text=kept.text())
    finally:
        feeder.cancel()
        await process.stop()
        await asyncio.wait({feeder})


async def _feed(process: Confined, data: bytes) -> None:
    with suppress(OSError):  # it need not read all that it is given
        await process.write(data, is_last=True)


def limit_resources(pid: int, limits: Limits, *, is_namespaced: bool) -> None:
    """Set the limits that the kernel keeps, for a process and all that it will start.

    Args:
        is_namespaced: It has a user namespace of its own, in which alone its processes are counted.
    """
    wanted = {
        # RLIMIT_AS would also count what runtimes only reserve (Node, Java and Go reserve gigabytes).
        resource.RLIMIT_DATA: limits.memory,
        resource.RLIMIT_FSIZE: limits.file,
        resource.RLIMIT_NOFILE: OPEN_FILES,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_CPU: int(limits.seconds) + 1,
    }
    if is_namespaced and COUNTS_BY_NAMESPACE:
        wanted[resource.RLIMIT_NPROC] = limits.processes * THREADS
    for which, value in wanted.items():
        _, most = resource.prlimit(pid, which)
        value = value if most == resource.RLIM_INFINITY else min(value, most)
        resource.prlimit(pid, which, (value, value))
    os.setpriority(os.PRIO_PROCESS, pid, 10)  # behind the bot's own turns


def usage_of(folder: Path | str) -> tuple[int, int]:
    """Threads and bytes of memory of one process, by its folder in /proc; zeros once it is gone."""
    try:
        with open(f"{folder}/status", "rb") as file:
            lines = file.read().split(b"\n")
    except OSError:
        return 0, 0
    fields = dict(
        line.split(b":", 1) for line in lines if line.startswith((b"Threads", b"RssAnon", b"RssShmem"))
    )
    memory = sum(int(fields[name].split()[0]) for name in (b"RssAnon", b"RssShmem") if name in fields)
    return int(fields.get(b"Threads", b"0")), memory * 1_024


def open_pidfd(pid: int) -> int | None:
    """Get hold of a process, so that its number can't come to mean another one."""
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError:
        return None


async def exit_of(pidfd: int | None) -> None:
    """Wait for the end of a process."""
    if pidfd is None:
        return
    loop = asyncio.get_running_loop()
    gone = asyncio.Event()
    loop.add_reader(pidfd, gone.set)
    try:
        await gone.wait()
    finally:
        loop.remove_reader(pidfd)
