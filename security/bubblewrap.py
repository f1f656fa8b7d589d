"""Commands in bubblewrap.

Inside there are the workspace, to be written; the system's programs, to be read; an empty /tmp with the
home directory in it; and nobody else's processes, no network and no rights. What a command has started ends
with it.
"""

import asyncio
import json
import os
import signal
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from bot.tools.base import ToolFault
from bot.tools.exec import Finished, Limits
from security.confined import (
    Confined,
    Pipe,
    as_program,
    clean_environment,
    confine,
    exit_of,
    limit_resources,
    open_pidfd,
    run_to_end,
    usage_of,
)

START_SECONDS = 5.0
MAX_LOOKED_AT = 1_000  # processes; with more, their number alone is reason to end them
HOME = "/tmp/home"
USER = 1_000  # as it is seen inside

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
# What programs need of /etc. No secret is in it: shadow, ssl/private and the like stay outside.
ETC = (
    *("alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "timezone", "mime.types"),
    *("ssl/certs", "ssl/openssl.cnf", "ca-certificates", "pki/tls/certs", "services", "protocols"),
    *("magic", "terminfo", "os-release", "fonts"),
)
ETC_NETWORK = ("resolv.conf", "hosts", "host.conf", "nsswitch.conf", "gai.conf")
PASSWD = f"agent:x:{USER}:{USER}::{HOME}:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n"
GROUP = f"agent:x:{USER}:\nnogroup:x:65534:\n"


class BubblewrapSandbox:
    """Fulfils `bot.tools.exec.Sandbox`; needs Linux 5.3 and user namespaces."""

    fault: str | None = None

    def __init__(
        self,
        workspace: Path,
        *,
        program: str = "bwrap",
        hidden: Iterable[Path] = (),
        paths: Iterable[str] = (),
        network: bool = False,
        nested: bool = False,
    ) -> None:
        """Look at nothing yet.

        Args:
            hidden: Directories that stay out of sight where a readable one holds them.
            paths: More directories to be read.
            nested: Leave it to commands to make namespaces, as bubblewrap before 0.8 does.
        """
        self.workspace = workspace.resolve()
        self._program = program
        self._hidden = tuple(path.resolve() for path in hidden)
        self._paths = tuple(paths)
        self._network = network
        self._nested = nested

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
        """See the protocol."""
        with Lock() as lock, _memory_file(PASSWD) as passwd, _memory_file(GROUP) as group:
            walls = self._walls(
                limits, {**clean_environment(HOME), **environment}, passwd=passwd, group=group
            )
            await lock.open()
            process, tree = await confine(
                (self._program, *walls, "--chdir", str(directory), *lock.options, "--", *as_program(command)),
                tree_of=Namespace,
                limits=limits,
                environment={},  # bubblewrap's own, which everybody inside can read
                fds=(*lock.fds, passwd, group),
            )
            try:
                async with asyncio.timeout(START_SECONDS):
                    tree.enter(await lock.first_process() or await _no_start(process))
                limit_resources(tree.pid, limits, is_namespaced=True)
            except BaseException as error:
                await process.stop()
                if isinstance(error, TimeoutError | ProcessLookupError):
                    raise ToolFault("the sandbox did not start: try again") from error
                raise
            lock.release()
            return process

    def _walls(
        self, limits: Limits, environment: Mapping[str, str], *, passwd: int, group: int
    ) -> Iterator[str]:
        """The options; later mounts cover earlier ones."""
        yield from ("--unshare-all", "--unshare-user", *(() if self._nested else ("--disable-userns",)))
        yield from ("--share-net",) if self._network else ()
        yield from ("--die-with-parent", "--new-session", "--cap-drop", "ALL", "--hostname", "sandbox")
        yield from ("--uid", str(USER), "--gid", str(USER), "--clearenv")
        for name, value in environment.items():
            yield from ("--setenv", name, value)
        yield from self._system(passwd=passwd, group=group)
        # Much of /proc/sys may be written by root's user alone, without rights: where the bot runs as root,
        # its commands do as well, and could have the kernel start programs outside (core_pattern).
        yield from ("--proc", "/proc", "--remount-ro", "/proc", "--dev", "/dev")
        yield from ("--size", str(limits.memory // 4), "--perms", "1777", "--tmpfs", "/dev/shm")
        yield from ("--remount-ro", "/dev")
        yield from ("--size", str(limits.memory // 2), "--perms", "1777", "--tmpfs", "/tmp", "--dir", HOME)
        for path in self._paths:
            yield from ("--ro-bind-try", path, path)
        shown = [Path(path).resolve() for path in (*SYSTEM, *self._paths)]
        covered = [str(path) for path in self._hidden if any(path.is_relative_to(one) for one in shown)]
        for path in covered:
            yield from ("--tmpfs", path)
        yield from ("--bind", str(self.workspace), str(self.workspace))
        for path in (*covered, "/"):
            yield from ("--remount-ro", path)

    def _system(self, *, passwd: int, group: int) -> Iterator[str]:
        """What can be read."""
        for path in SYSTEM:
            if os.path.islink(path):
                yield from ("--symlink", os.readlink(path), path)
            else:
                yield from ("--ro-bind-try", path, path)
        for name in (*ETC, *(ETC_NETWORK if self._network else ())):
            yield from ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")
        yield from ("--ro-bind-data", str(passwd), "/etc/passwd", "--ro-bind-data", str(group), "/etc/group")


class Lock:
    """Holds the first process of a sandbox until its limits are set.

    It must outlive a process that is not to start: when it closes, whoever still waits goes on.
    """

    def __init__(self) -> None:
        self._info = Pipe()
        self._gate, self._opener = os.pipe()
        self.fds = (self._info.writing_end, self._gate)
        self.options = ("--info-fd", str(self._info.writing_end), "--block-fd", str(self._gate))

    def __enter__(self) -> Self:
        return self

    async def open(self) -> None:
        """Get ready to hear which process it is."""
        await self._info.open()

    async def first_process(self) -> int | None:
        """Wait for its number; `None` where bubblewrap gave up before."""
        self._info.hand_over()
        text = b""
        while piece := await self._info.read():
            text += piece
        return int(json.loads(text)["child-pid"]) if text else None

    def release(self) -> None:
        """Let the process go on."""
        os.close(self._gate)
        self._gate = -1
        with suppress(BrokenPipeError):  # it has been killed
            os.write(self._opener, b"1")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._info.close()
        os.close(self._opener)
        if self._gate >= 0:
            os.close(self._gate)


class Namespace:
    """What runs in a process namespace: the kernel ends all of it with its first process."""

    pace = 0.05

    def __init__(self, outside: asyncio.subprocess.Process) -> None:
        self._outside = outside
        self._pidfd: int | None = None
        self.pid = 0

    def enter(self, pid: int) -> None:
        """Learn which process is the first one inside."""
        self._pidfd = open_pidfd(pid)
        self.pid = pid

    def usage(self) -> tuple[int, int, int]:
        """See `Tree`; the first process is bubblewrap's own and does not count."""
        if self._pidfd is None:
            return 0, 0, 0
        proc = f"/proc/{self.pid}/root/proc"  # as it is seen inside
        try:
            if os.stat(proc).st_dev == os.stat("/proc").st_dev:  # the walls are not up yet: it is still ours
                return 0, 0, 0
            names = [name for name in os.listdir(proc) if name.isdigit() and name != "1"]
        except OSError:
            return 0, 0, 0
        used = [usage_of(f"{proc}/{name}") for name in names[:MAX_LOOKED_AT]]
        return len(names), sum(threads for threads, _ in used), sum(memory for _, memory in used)

    def kill(self) -> None:
        """See `Tree`; what is inside dies with what is outside, too."""
        with suppress(ProcessLookupError):
            if self._pidfd is None:
                self._outside.kill()
            else:
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)

    async def gone(self) -> None:
        """See `Tree`."""
        if self._pidfd is not None:
            await exit_of(self._pidfd)

    def close(self) -> None:
        """See `Tree`."""
        if self._pidfd is not None:
            os.close(self._pidfd)
            self._pidfd = None


async def _no_start(process: Confined) -> int:
    """Raise what bubblewrap said."""
    words = (await process.read()).decode(errors="replace").strip()
    raise ToolFault(f"the sandbox did not start: {words or 'bubblewrap gave no reason'}")


@contextmanager
def _memory_file(text: str) -> Iterator[int]:
    fd = os.memfd_create("sandbox")
    try:
        os.write(fd, text.encode())
        os.lseek(fd, 0, os.SEEK_SET)
        yield fd
    finally:
        os.close(fd)
