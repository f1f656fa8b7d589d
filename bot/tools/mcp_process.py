"""The stdio transport: a server as a child process that is gone when its connection is.

The SDK has one of its own; this one bounds what the server writes, keeps the end of its standard error, and
leaves no process behind: not when the server ignores that it is to leave, nor when the bot is killed.
"""

import asyncio
import logging
import os
import shutil
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TypeAlias

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

log = logging.getLogger(__name__)

KEEPER = Path(__file__).with_name("mcp_keeper.py")
MAX_MESSAGE = 16 * 2**20  # bytes of one line
MAX_TAIL = 2_000  # bytes of standard error
CHUNK = 65_536
STOP_SECONDS = 4.0  # the keeper ends the server within 2

Received: TypeAlias = MemoryObjectReceiveStream[SessionMessage | Exception]
Streams: TypeAlias = tuple[Received, MemoryObjectSendStream[SessionMessage]]


class Tail:
    """The last that a server wrote to standard error."""

    def __init__(self) -> None:
        self._bytes = b""

    @property
    def text(self) -> str:
        """What is kept, from the first whole line on."""
        text = self._bytes.decode("utf-8", "replace").strip()
        return text.partition("\n")[2] or text if len(self._bytes) == MAX_TAIL else text

    async def follow(self, reader: asyncio.StreamReader) -> None:
        """Read to the end."""
        while chunk := await reader.read(CHUNK):
            self._bytes = (self._bytes + chunk)[-MAX_TAIL:]


@asynccontextmanager
async def process_streams(
    command: str, args: Sequence[str], env: Mapping[str, str], tail: Tail
) -> AsyncIterator[Streams]:
    """Start a server and talk to it; leaving ends it, and all that it has started.

    Args:
        env: On top of the few variables that every program needs; nothing else of ours is handed on.

    Raises:
        OSError: It can't be started.
    """
    environment = get_default_environment() | dict(env)
    path = shutil.which(command, path=environment.get("PATH"))
    if path is None:
        raise FileNotFoundError(f"there is no program {command!r}")
    process = await asyncio.create_subprocess_exec(
        *_kept([path, *args]),
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        env=environment,
        limit=MAX_MESSAGE,
        start_new_session=True,  # the keeper leads a group, and Ctrl-C in our terminal stays ours
    )
    inward, read_stream = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write_stream, outward = anyio.create_memory_object_stream[SessionMessage](0)
    pumps = [
        asyncio.create_task(_pump_out(process, outward, inward), name="mcp stdin"),
        asyncio.create_task(_pump_in(process, inward), name="mcp stdout"),
        asyncio.create_task(_follow(process, tail), name="mcp stderr"),
    ]
    try:
        yield read_stream, write_stream
    finally:
        for stream in (read_stream, write_stream, outward):
            stream.close()
        try:
            await _end(process)
        finally:
            inward.close()
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)


def _kept(command: list[str]) -> list[str]:
    """The command line of the keeper, where the system has process groups."""
    if sys.platform == "win32":
        return command
    return [sys.executable, "-I", "-S", str(KEEPER), *command]


async def _pump_in(process: Process, inward: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
    """Read messages, line by line; what is none is passed over. Reads on when nobody listens any more."""
    if process.stdout is None:
        return
    with inward, suppress(ValueError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        while line := await process.stdout.readline():  # ValueError: a line above the limit
            try:
                message = jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValueError:
                log.debug("mcp server wrote a line that is no message", extra={"bytes": len(line)})
                continue
            await inward.send(SessionMessage(message))
    while await process.stdout.read(CHUNK):  # a full pipe would keep it from leaving
        continue


async def _pump_out(
    process: Process,
    outward: MemoryObjectReceiveStream[SessionMessage],
    inward: MemoryObjectSendStream[SessionMessage | Exception],
) -> None:
    """Write messages, a line each; when the server reads no more, the connection is over."""
    if process.stdin is None:
        return
    try:
        async for message in outward:
            line = message.message.model_dump_json(by_alias=True, exclude_unset=True)
            process.stdin.write(line.encode() + b"\n")
            await process.stdin.drain()
    finally:
        inward.close()


async def _follow(process: Process, tail: Tail) -> None:
    if process.stderr is not None:
        await tail.follow(process.stderr)


async def _end(process: Process) -> None:
    """Wait until all is gone; where the keeper itself does not leave, end its group."""
    if process.stdin is not None:
        process.stdin.close()
    if sys.platform == "win32":
        with suppress(ProcessLookupError):
            process.kill()
    try:
        async with asyncio.timeout(STOP_SECONDS):
            await process.wait()
    except TimeoutError:
        log.warning("mcp server does not leave", extra={"pid": process.pid})
    finally:
        if process.returncode is None and sys.platform != "win32":
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
