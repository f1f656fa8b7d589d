"""The tool `process`: commands that run on while the conversation does."""

import asyncio
import itertools
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Annotated, Literal, Self, TypeAlias

import msgspec
from msgspec.structs import replace
from pydantic import Field

from bot.messages import SessionKey
from bot.settings.sandbox import SandboxSettings
from bot.tools.base import Arguments, Tool, ToolContext, ToolFault
from bot.tools.declare import declare
from bot.tools.exec import Ending, Limits, Process, Sandbox, checked, describe_ending, limits_of, place

log = logging.getLogger(__name__)

PER_SESSION = 8
IN_ALL = 32
ENDED_KEPT = 64  # with their output, until somebody has read it
MAX_OUTPUT = 262_144  # bytes kept of each
MAX_READ = 16_384  # bytes given at once
MAX_INPUT = 65_536
IDLE_SECONDS = 1_800.0  # without output, input or a look
LIFE_SECONDS = 86_400.0
FIRST_LOOK = 1.0  # seconds that a start waits for the first output
INPUT_SECONDS = 5.0
PAUSE = 0.01  # seconds between two pieces of output: nobody reads faster, and the bot has other work
CALL_SECONDS = 60.0

Action: TypeAlias = Literal["start", "list", "output", "input", "stop"]


class Ring:
    """The last bytes of a stream, by their place in the whole."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._bytes = bytearray()
        self.end = 0

    @property
    def begin(self) -> int:
        """Where the oldest byte that is still there stands."""
        return self.end - len(self._bytes)

    def add(self, piece: bytes) -> None:
        """Take what came next."""
        self.end += len(piece)
        self._bytes += piece
        del self._bytes[: max(0, len(self._bytes) - self._limit)]

    def read(self, offset: int, most: int) -> tuple[int, bytes]:
        """Give bytes from a place on, or from the oldest one, and where they begin."""
        begin = min(max(offset, self.begin), self.end)
        return begin, bytes(self._bytes[begin - self.begin :][:most])


@dataclass(slots=True, eq=False)
class Running:
    """A command of a session; runs until it has an `ending`."""

    id: str
    command: str
    process: Process
    ring: Ring = field(default_factory=lambda: Ring(MAX_OUTPUT))
    read_to: int = 0
    ending: Ending | None = None
    is_idle: bool = False
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    idle: asyncio.Timeout | None = None

    def touch(self, seconds: float) -> None:
        """Begin anew to count how long it has been idle."""
        if self.ending is None and self.idle is not None and not self.idle.expired():
            self.idle.reschedule(asyncio.get_running_loop().time() + seconds)

    def announce(self) -> None:
        """Wake those who wait for output."""
        self.changed.set()
        self.changed = asyncio.Event()

    @property
    def state(self) -> str:
        """In words."""
        if self.ending is None:
            return "running"
        return "stopped: idle for too long" if self.is_idle else describe_ending(self.ending)


class ProcessTools:
    """The handler, and the owner of all that it starts; none is left when it closes."""

    def __init__(
        self,
        sandbox: Sandbox,
        workspace: Path,
        settings: SandboxSettings,
        *,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        self._sandbox = sandbox
        self._workspace = workspace
        self._limits: Limits = replace(limits_of(settings), seconds=LIFE_SECONDS)
        self._idle_seconds = idle_seconds
        self._of_session: dict[SessionKey, dict[str, Running]] = {}
        self._tasks: dict[Running, asyncio.Task[None]] = {}
        self._starting: Counter[SessionKey] = Counter()
        self._is_closed = False
        self._numbers = itertools.count(1)
        self._actions: Mapping[Action, Callable[[_Call], Awaitable[str]]] = {
            "start": self._start,
            "list": self._list,
            "output": self._read,
            "input": self._write,
            "stop": self._stop,
        }

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._is_closed = True
        await self._end(tuple(self._tasks))

    async def close_session(self, session: SessionKey) -> None:
        """Stop all of a session that is deleted, and forget its output."""
        await self._end(tuple(self._of_session.pop(session, {}).values()))

    def tools(self) -> tuple[Tool, ...]:
        """What is registered."""
        if self._sandbox.fault is not None:
            return ()
        return (
            declare(
                self.process,
                name="process",
                group="exec",
                risk="exec",
                effects=("reads_private", "reads_untrusted", "acts"),
                acts_if=_runs,
                timeout=CALL_SECONDS,
            ),
        )

    async def process(
        self,
        context: ToolContext,
        action: Action,
        id: str = "",
        command: str = "",
        directory: str = ".",
        text: str = "",
        offset: Annotated[int, Field(ge=-1)] = -1,
        wait: Annotated[float, Field(ge=0, le=30)] = 0,
    ) -> str:
        """Run commands in the background, like servers and long jobs, in the workspace.

        Args:
            id: Of which one; given by start and list.
            command: For start: a shell command line.
            directory: For start.
            text: For input; a line end is added.
            offset: For output: from which byte on; -1 for what is new.
            wait: For output: seconds to wait for something new.
        """
        call = _Call(
            session=context.session,
            id=id,
            command=command,
            directory=directory,
            text=text,
            offset=offset,
            wait=wait,
        )
        return await self._actions[action](call)

    async def _start(self, call: "_Call") -> str:
        command = checked(call.command)
        directory = place(self._workspace, call.directory)
        self._make_room(call.session)
        self._starting[call.session] += 1
        try:
            process = await self._sandbox.spawn(
                command, directory=directory, environment={}, limits=self._limits
            )
            if self._is_closed:
                await process.stop()
                raise ToolFault("the bot is shutting down: nothing can be started")
            running = Running(id=f"p{next(self._numbers)}", command=command, process=process)
            self._of_session.setdefault(call.session, {})[running.id] = running
            self._tasks[running] = asyncio.create_task(self._attend(running), name=f"process {running.id}")
        finally:
            self._starting -= Counter({call.session: 1})
        with suppress(TimeoutError):
            async with asyncio.timeout(FIRST_LOOK):
                await running.changed.wait()
        return f"started {running.id}\n{_report(running, 0)}"

    async def _list(self, call: "_Call") -> str:
        lines = [
            f"{one.id}: {one.command[:100]!r}, {one.state}, {one.ring.end:,} bytes of output"
            for one in self._of_session.get(call.session, {}).values()
        ]
        return "\n".join(lines) or "nothing runs in this conversation"

    async def _read(self, call: "_Call") -> str:
        running = self._find(call)
        running.touch(self._idle_seconds)
        offset = running.read_to if call.offset < 0 else call.offset
        if offset >= running.ring.end and running.ending is None and call.wait:
            with suppress(TimeoutError):
                async with asyncio.timeout(call.wait):
                    await running.changed.wait()
        return _report(running, offset)

    async def _write(self, call: "_Call") -> str:
        running = self._find(call)
        data = f"{call.text}\n".encode(errors="replace")
        if running.ending is not None:
            raise ToolFault(f"{running.id} has ended ({running.state}): start it again")
        if len(data) > MAX_INPUT:
            raise ToolFault(f"the text has {len(data):,} bytes, at most {MAX_INPUT:,} fit: send it in parts")
        running.touch(self._idle_seconds)
        try:
            async with asyncio.timeout(INPUT_SECONDS):
                await running.process.write(data)
        except TimeoutError as error:
            raise ToolFault(f"{running.id} does not read its input: look at its output first") from error
        except OSError as error:
            raise ToolFault(f"{running.id} takes no more input: look at its output") from error
        return f"written; read the answer with action output, id {running.id}, wait 5"

    async def _stop(self, call: "_Call") -> str:
        running = self._find(call)
        await self._end((running,))
        return _report(running, running.read_to)

    def _find(self, call: "_Call") -> Running:
        known = self._of_session.get(call.session, {})
        if call.id not in known:
            names = ", ".join(known) or "none: use action start"
            raise ToolFault(f"there is no process {call.id[:100]!r} in this conversation; there are: {names}")
        return known[call.id]

    def _make_room(self, session: SessionKey) -> None:
        """Refuse one too many, and forget the oldest that have ended."""
        own = self._of_session.get(session, {})
        if sum(one.ending is None for one in own.values()) + self._starting[session] >= PER_SESSION:
            raise ToolFault(
                f"{PER_SESSION} processes run in this conversation, the most there may be: stop one"
            )
        if len(self._tasks) + self._starting.total() >= IN_ALL:
            raise ToolFault(f"{IN_ALL} processes run in all, the most there may be: try again later")
        ended = [
            (key, one)
            for key, known in self._of_session.items()
            for one in known.values()
            if one.ending is not None
        ]
        for key, one in ended[: max(0, len(ended) - ENDED_KEPT)]:
            del self._of_session[key][one.id]

    async def _attend(self, running: Running) -> None:
        """Keep what it prints until it ends, or until nobody has cared for too long."""
        try:
            async with asyncio.timeout(None) as running.idle:
                running.touch(self._idle_seconds)
                while piece := await running.process.read():
                    running.ring.add(piece)
                    running.touch(self._idle_seconds)
                    running.announce()
                    await asyncio.sleep(PAUSE)
                await running.process.wait()
        except TimeoutError:
            running.is_idle = True
        finally:
            running.ending = await running.process.stop()
            self._tasks.pop(running, None)
            running.announce()
            log.info("process ended", extra={"id": running.id, "code": running.ending.code})

    async def _end(self, some: tuple[Running, ...]) -> None:
        tasks = [self._tasks[one] for one in some if one in self._tasks]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        for one in some:
            one.ending = await one.process.stop()  # its task may have ended before it began
            self._tasks.pop(one, None)


class _Call(msgspec.Struct, frozen=True, kw_only=True):
    session: SessionKey
    id: str
    command: str
    directory: str
    text: str
    offset: int
    wait: float


def _report(running: Running, offset: int) -> str:
    """The output from a place on, and the state."""
    begin, data = running.ring.read(offset, MAX_READ)
    if begin + len(data) < running.ring.end or running.ending is None:
        data = _whole_characters(data)
    running.read_to = end = begin + len(data)
    lost = f"[{begin - offset:,} bytes before this are gone]\n" if begin > offset else ""
    more = f", {running.ring.end - end:,} bytes more from offset {end}" if end < running.ring.end else ""
    text = data.decode(errors="replace").rstrip("\n") or "(no new output)"
    return f"{lost}{text}\n[{running.id}: {running.state}; output up to {end}{more}]"


def _whole_characters(data: bytes) -> bytes:
    """Without the beginning of a character at its end."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte & 0xC0 != 0x80:  # the first byte of a character says how many it has
            size = 4 if byte >= 0xF0 else 3 if byte >= 0xE0 else 2 if byte >= 0xC0 else 1
            return data[:-back] if size > back else data
    return data


def _runs(arguments: Arguments, context: ToolContext) -> bool:
    """Whether a call has something run, or talks to it; the others only look."""
    return arguments.get("action") not in ("list", "output")
