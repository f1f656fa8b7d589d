"""The chat page: its files, and the WebSocket that carries the frames."""

import asyncio
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Mount, Route, WebSocketRoute
from starlette.staticfiles import PathLike, StaticFiles
from starlette.types import Scope
from starlette.websockets import WebSocket, WebSocketDisconnect

from bot.messages import encoder
from channels.frames import ClientFrame, Fault, Hello, ServerFrame, decode_client
from channels.hub import ChatHub
from channels.link import Link

log = logging.getLogger(__name__)

STATIC: Final = Path(__file__).parent / "static"
FRESH: Final = {"Cache-Control": "no-cache"}  # a new version of the bot brings its own page
TRY_AGAIN: Final = 1013  # close code: the client connects again and catches up


def routes(hubs: Mapping[str, ChatHub]) -> list[BaseRoute]:
    """What the web server serves for the chat.

    Args:
        hubs: By channel, as `hello` names it.
    """

    async def show_page(request: Request) -> Response:
        return FileResponse(STATIC / "chat.html", headers=FRESH)

    async def talk(socket: WebSocket) -> None:
        await _talk(socket, hubs)

    return [
        Route("/chat", show_page),
        WebSocketRoute("/chat/ws", talk),
        Mount("/chat/static", _FreshFiles(directory=STATIC)),
    ]


class _FreshFiles(StaticFiles):
    def file_response(
        self, full_path: PathLike, stat_result: os.stat_result, scope: Scope, status_code: int = 200
    ) -> Response:
        response = super().file_response(full_path, stat_result, scope, status_code)
        response.headers.update(FRESH)
        return response


async def _talk(socket: WebSocket, hubs: Mapping[str, ChatHub]) -> None:
    await socket.accept()
    try:
        hello = await _read_hello(socket, hubs)
        with hubs[hello.channel].connect() as link:
            await _converse(socket, link, hello)
    except WebSocketDisconnect:
        return
    except Exception:
        log.exception("a chat connection failed")
        await socket.close(1011)


async def _converse(socket: WebSocket, link: Link, hello: Hello) -> None:
    """Read and write side by side, until either has had enough."""
    writer = asyncio.create_task(_write(socket, link), name="chat writer")
    try:
        await link.receive(hello)
        while not link.is_closed:
            frame = await _read(socket)
            if isinstance(frame, Fault):
                link.show(frame)
            else:
                await link.receive(frame)
    finally:
        link.close()
        writer.cancel()
        await asyncio.wait([writer])
    if not writer.cancelled():
        writer.result()


async def _write(socket: WebSocket, link: Link) -> None:
    try:
        async for frame in link:
            await _send(socket, frame)
        await socket.close(TRY_AGAIN)
    except WebSocketDisconnect:
        link.close()  # the reader learns of it by itself


async def _send(socket: WebSocket, frame: ServerFrame) -> None:
    await socket.send_text(encoder.encode(frame).decode())


async def _read_hello(socket: WebSocket, hubs: Mapping[str, ChatHub]) -> Hello:
    while True:
        frame = await _read(socket)
        if isinstance(frame, Hello) and frame.channel in hubs:
            return frame
        if isinstance(frame, Hello):
            frame = Fault(text=f"There is no channel {frame.channel!r} here.")
        await _send(socket, frame if isinstance(frame, Fault) else Fault(text="Say hello first."))


async def _read(socket: WebSocket) -> ClientFrame | Fault:
    message = await socket.receive()
    if message["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(message["code"], message.get("reason"))
    data = message.get("text") or message.get("bytes") or b""
    try:
        frame: ClientFrame = decode_client(data)
    except msgspec.MsgspecError as error:
        return Fault(text=f"This is not a frame: {error}")
    return frame
