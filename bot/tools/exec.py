"""The tools `exec` and `script`: commands in the sandbox, from start to end."""

import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, Protocol, TypeAlias

import msgspec
from msgspec.structs import replace
from pydantic import Field

from bot.settings.sandbox import MOST_SECONDS, SandboxSettings
from bot.tools.base import Tool, ToolFault
from bot.tools.declare import declare

MAX_COMMAND = 100_000  # bytes; Linux takes 131,072 in one argument (MAX_ARG_STRLEN)
GRACE = 15.0  # seconds on top of a command's own for the sandbox to start and to end

Breach: TypeAlias = Literal["time", "memory", "processes", "output"]

BREACHES: Mapping[Breach, str] = {
    "time": "it took longer than allowed",
    "memory": "it used more memory than allowed",
    "processes": "it started more processes than allowed",
    "output": "it wrote output without end",
}
INTERPRETERS: Mapping[str, tuple[str, ...]] = {"python": ("python3", "-c"), "bash": ("bash", "-c")}


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What a command may use, with all that it starts.

    Attributes:
        seconds: By the clock.
        memory: Bytes.
        processes: At one time.
        file: Bytes of each file that it writes.
        output: Bytes that are kept of what it prints.
    """

    seconds: float
    memory: int
    processes: int
    file: int
    output: int


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """How a command ended.

    Attributes:
        code: As a shell counts: 128 and the signal's number for one that a signal ended.
        breach: The limit for which it was killed.
    """

    code: int
    breach: Breach | None = None
    seconds: float


class Finished(msgspec.Struct, frozen=True, kw_only=True):
    """A command that has ended.

    Attributes:
        text: Output and errors as they came; a line in its middle says how much was left out.
    """

    text: str
    ending: Ending


class Process(Protocol):
    """A command that runs; who has started it stops it."""

    async def read(self) -> bytes:
        """Give the next piece of its output and errors; empty when all is read."""

    async def write(self, data: bytes, *, is_last: bool = False) -> None:
        """Give it input, and wait until it has taken most of it.

        Raises:
            OSError: It reads no more.
        """

    async def wait(self) -> Ending:
        """Wait for its end, or for its limits to end it; by then nothing of it runs any more."""

    async def stop(self) -> Ending:
        """Kill it with all that it started, and free what it holds; does no harm when done again."""


class Sandbox(Protocol):
    """Runs commands apart from everything else."""

    @property
    def fault(self) -> str | None:
        """Why it can't run anything, and what to do about it."""

    async def run(
        self,
        command: Sequence[str] | str,
        *,
        directory: Path,
        environment: Mapping[str, str],
        limits: Limits,
        stdin: bytes | None = None,
    ) -> Finished:
        """Run a program, or a line of `/bin/sh`, to its end.

        Args:
            environment: On top of the little that every command gets; nothing of ours is in it.

        Raises:
            ToolFault: It could not be started.
        """

    async def spawn(
        self,
        command: Sequence[str] | str,
        *,
        directory: Path,
        environment: Mapping[str, str],
        limits: Limits,
    ) -> Process:
        """Start a program, or a line of `/bin/sh`; its input is open.

        Raises:
            ToolFault: It could not be started.
        """


class ExecTools:
    """The handlers; none are there where the sandbox has a fault."""

    def __init__(self, sandbox: Sandbox, workspace: Path, settings: SandboxSettings) -> None:
        self._sandbox = sandbox
        self._workspace = workspace
        self._limits = limits_of(settings)
        self._network = settings.network

    def tools(self) -> tuple[Tool, ...]:
        """What is registered."""
        if self._sandbox.fault is not None:
            return ()
        network = "" if self._network else " No network."
        rest = f"Only the workspace can be written and is kept; /tmp is empty each time.{network}"
        timeout = MOST_SECONDS + GRACE
        return (
            declare(
                self.exec,
                name="exec",
                description=f"Run a shell command line; gives output and exit code. {rest}",
                group="exec",
                risk="exec",
                effects=("reads_private", "reads_untrusted", "acts"),
                timeout=timeout,
            ),
            declare(
                self.script,
                name="script",
                description=f"Run a script of several lines; gives output and exit code. {rest}",
                group="exec",
                risk="exec",
                effects=("reads_private", "reads_untrusted", "acts"),
                timeout=timeout,
            ),
        )

    async def exec(
        self,
        command: str,
        directory: str = ".",
        timeout: Annotated[int, Field(ge=0, le=MOST_SECONDS)] = 0,
    ) -> str:
        """Run a shell command line.

        Args:
            directory: In the workspace.
            timeout: Seconds; 0 for the default.
        """
        finished = await self._sandbox.run(
            checked(command),
            directory=place(self._workspace, directory),
            environment={},
            limits=replace(self._limits, seconds=float(timeout) or self._limits.seconds),
        )
        return describe(finished)

    async def script(self, code: str, language: Literal["python", "bash"] = "python") -> str:
        """Run a script in the workspace."""
        finished = await self._sandbox.run(
            (*INTERPRETERS[language], checked(code)),
            directory=place(self._workspace, "."),
            environment={},
            limits=self._limits,
        )
        return describe(finished)


def limits_of(settings: SandboxSettings) -> Limits:
    """What a command gets by default."""
    return Limits(
        seconds=settings.seconds,
        memory=settings.memory_mb << 20,
        processes=settings.processes,
        file=settings.file_mb << 20,
        output=settings.output_kb << 10,
    )


def checked(command: str) -> str:
    """The command, if the system can take it.

    Raises:
        ToolFault: It can't.
    """
    if not command.strip():
        raise ToolFault("the command is empty: say what to run")
    if "\0" in command:
        raise ToolFault("the command holds a NUL character: leave it out, or write it as \\0")
    try:
        size = len(command.encode())
    except UnicodeEncodeError as error:
        raise ToolFault(f"the command holds half a character at {error.start}: write it in full") from error
    if size > MAX_COMMAND:
        raise ToolFault(
            f"the command has {size:,} bytes, at most {MAX_COMMAND:,} fit: write it to a file, then run that"
        )
    return command


def place(workspace: Path, directory: str) -> Path:
    """A directory of the workspace, by its real path.

    Raises:
        ToolFault: It is not there, or not in the workspace.
    """
    root = workspace.resolve()
    try:
        path = (root / directory).resolve()
        is_directory = path.is_dir()
    except (OSError, RuntimeError, ValueError) as error:  # too long, links in a circle, a NUL
        raise ToolFault(f"directory {directory[:200]!r} is no path: name one in the workspace") from error
    if not path.is_relative_to(root):
        raise ToolFault(f"directory {directory!r} is outside of the workspace: name one in it, like '.'")
    if not is_directory:
        raise ToolFault(f"directory {directory!r} is not there: make it first, or use '.'")
    return path


def describe(finished: Finished) -> str:
    """What the model gets to read."""
    text = finished.text.rstrip("\n") or "(no output)"
    return f"{text}\n[{describe_ending(finished.ending)}]"


def describe_ending(ending: Ending) -> str:
    """How it ended, in words."""
    after = f"after {ending.seconds:.1f} s"
    if ending.breach is not None:
        return f"killed {after}: {BREACHES[ending.breach]}"
    number = ending.code - 128
    name = f" ({signal.Signals(number).name})" if number in set(signal.Signals) else ""
    return f"exit code {ending.code}{name} {after}"
