"""Serves an application on loopback, in a thread with a loop of its own: the SDK leaves tasks behind."""

import asyncio
import gc
import socket
import threading
import warnings
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Self, TypeAlias

import uvicorn

Message: TypeAlias = MutableMapping[str, Any]  # `Any`: ASGI's own
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Message, Receive, Send], Awaitable[None]]
SECONDS = 10.0


class Host:
    """A web server on 127.0.0.1, whose port can be used for another one after it."""

    def __init__(self, app: App, *, port: int = 0) -> None:
        self._stack = ExitStack()
        self._socket = self._stack.enter_context(socket.socket())
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._socket.bind(("127.0.0.1", port))
        self.port: int = self._socket.getsockname()[1]
        self._is_serving = threading.Event()
        self._server = _Server(
            uvicorn.Config(app, log_config=None, timeout_graceful_shutdown=0, ws="none"), self._is_serving
        )
        self._thread = threading.Thread(target=self._serve, name="host")
        self._is_stopped = False

    async def __aenter__(self) -> Self:
        self._thread.start()
        assert await asyncio.to_thread(self._is_serving.wait, SECONDS)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if not self._is_stopped:
            await self.stop()

    async def stop(self) -> None:
        """Serve no more, and break what is open."""
        self._is_stopped = True
        self._server.should_exit = self._server.force_exit = True
        await asyncio.to_thread(self._thread.join, SECONDS)
        assert not self._thread.is_alive()
        self._stack.close()
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Unclosed <MemoryObject", ResourceWarning)
            del self._server, self._thread  # the SDK leaves streams open when a stream of events is broken
            gc.collect()

    def _serve(self) -> None:
        asyncio.run(self._server.serve([self._socket]))


class _Server(uvicorn.Server):
    """Tells when it serves."""

    def __init__(self, config: uvicorn.Config, is_serving: threading.Event) -> None:
        super().__init__(config)
        self._is_serving = is_serving

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._is_serving.set()
