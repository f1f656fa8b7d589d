"""A server that goes away closes every socket, whatever its client is doing."""

import asyncio

import pytest
import uvicorn
from starlette.websockets import WebSocket, WebSocketDisconnect
from uvicorn.server import ServerState
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed
from websockets.frames import Close, CloseCode, Frame, Opcode

from bot.web.sockets import SocketProtocol

CLOSE = Frame(Opcode.CLOSE, Close(CloseCode.NORMAL_CLOSURE, "").serialize()).serialize(mask=True)


@pytest.mark.parametrize("said", [b"", CLOSE], ids=["while the client listens", "while the client closes"])
async def test_a_shutdown_closes_the_socket_and_tells_the_application(said: bytes) -> None:
    accepted: asyncio.Queue[SocketProtocol] = asyncio.Queue()
    told = asyncio.Event()

    async def stay(socket: WebSocket) -> None:
        await socket.accept()
        try:
            await socket.receive_text()
        except WebSocketDisconnect:
            told.set()

    async def app(scope, receive, send) -> None:  # type: ignore[no-untyped-def]  # as ASGI has it
        await stay(WebSocket(scope, receive, send))

    def serve() -> SocketProtocol:
        config = uvicorn.Config(app, ws=SocketProtocol, lifespan="off", log_config=None)
        config.load()
        protocol = SocketProtocol(config, ServerState(), {})
        accepted.put_nowait(protocol)
        return protocol

    listener = await asyncio.get_running_loop().create_server(serve, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    async with listener, asyncio.timeout(10), connect(f"ws://127.0.0.1:{port}/") as client:
        protocol = await accepted.get()
        protocol.data_received(said)
        protocol.shutdown()
        await told.wait()
        with pytest.raises(ConnectionClosed):
            await client.recv()

    assert protocol.transport.is_closing()
