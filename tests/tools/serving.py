"""Servers on loopback for the tools that reach the network, and names that lead to them."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from socket import AddressFamily

from aiohttp import web
from aiohttp.abc import AbstractResolver, ResolveResult

from bot.tools.base import ToolContext
from tests.factories import inbound

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def serve(answer: Answer) -> AsyncIterator[int]:
    """Serve every request with a function; gives the port."""

    async def handle(request: web.Request) -> web.StreamResponse:
        return await answer(request)

    app = web.Application(client_max_size=2**24)
    app.router.add_route("*", "/{path:.*}", handle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


@asynccontextmanager
async def serve_raw(pieces: AsyncIterator[bytes] | Sequence[bytes]) -> AsyncIterator[int]:
    """Say what no proper server would, to one client after it has asked; gives the port."""
    ended = asyncio.Event()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            if isinstance(pieces, Sequence):
                for piece in pieces:
                    writer.write(piece)
                    await writer.drain()
            else:
                async for piece in pieces:
                    writer.write(piece)
                    await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client has heard enough
        finally:
            writer.close()
            ended.set()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
        async with asyncio.timeout(5):
            await ended.wait()
    finally:
        server.close()


class Names(AbstractResolver):
    """Leads names to addresses: a list is gone through call by call, and its last entry stays.

    Attributes:
        asked: How often each name was looked up.
    """

    def __init__(self, **addresses: Sequence[str]) -> None:
        self._addresses = {name.replace("_", "."): list(found) for name, found in addresses.items()}
        self.asked: dict[str, int] = defaultdict(int)

    async def resolve(
        self, host: str, port: int = 0, family: AddressFamily = AddressFamily.AF_UNSPEC
    ) -> list[ResolveResult]:
        found = self._addresses.get(host)
        if found is None:
            raise OSError(f"no such name: {host}")
        self.asked[host] += 1
        address = found.pop(0) if len(found) > 1 else found[0]
        of_one = [AddressFamily.AF_INET6 if ":" in one else AddressFamily.AF_INET for one in address.split()]
        return [
            ResolveResult(hostname=host, host=one, port=port, family=which, proto=0, flags=0)
            for one, which in zip(address.split(), of_one, strict=True)
        ]

    async def close(self) -> None:
        """Nothing is open."""


def context() -> ToolContext:
    """The context of a call in a turn that Ann began."""
    return ToolContext(message=inbound("look it up"))
