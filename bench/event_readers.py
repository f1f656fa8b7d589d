"""Readers of `/ws/events` beside the bot: `python -m bench.event_readers URL COUNT read|stuck`.

It says `ready` on standard output when all are connected, and stays until standard input is closed. Readers
that are stuck take the handshake and nothing after it.
"""

import asyncio
import sys
from asyncio.subprocess import PIPE
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Literal, TypeAlias
from urllib.parse import urlsplit

from websockets.asyncio.client import connect

from bench.launch import environment
from bench.machine import pin, run_loop

Kind: TypeAlias = Literal["read", "stuck"]

SECONDS = 30.0  # that the readers may take to connect, or to go
HANDSHAKE = (
    "GET /ws/events HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n"
)


@asynccontextmanager
async def event_readers(url: str, count: int, kind: Kind) -> AsyncIterator[None]:
    """So many readers of a bot, in a process of their own."""
    command = (sys.executable, "-m", "bench.event_readers", url, str(count), kind)
    process = await asyncio.create_subprocess_exec(*command, env=environment(), stdin=PIPE, stdout=PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        async with asyncio.timeout(SECONDS):
            if await process.stdout.readline() != b"ready\n":
                raise RuntimeError("the readers could not connect")
        yield
    finally:
        process.stdin.close()
        try:
            async with asyncio.timeout(SECONDS):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()


async def _read(url: str, connected: asyncio.Semaphore) -> None:
    async with connect(f"{url}/ws/events".replace("http", "ws", 1), proxy=None) as socket:
        await socket.recv()
        connected.release()
        async for _ in socket:
            pass


async def _stick(url: str, connected: asyncio.Semaphore) -> None:
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port, limit=1)
    writer.write(HANDSHAKE.format(host=parts.netloc, key=b64encode(b"x" * 16).decode()).encode())
    await reader.readexactly(12)  # HTTP/1.1 101
    connected.release()
    await asyncio.Event().wait()


async def _main(url: str, count: int, kind: str) -> None:
    connected = asyncio.Semaphore(0)
    serve = _read if kind == "read" else _stick
    tasks = [asyncio.create_task(serve(url, connected)) for _ in range(count)]
    async with asyncio.timeout(SECONDS):
        for _ in tasks:
            await connected.acquire()
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks, timeout=SECONDS)


if __name__ == "__main__":
    pin("server")
    run_loop(_main(sys.argv[1], int(sys.argv[2]), sys.argv[3]))
