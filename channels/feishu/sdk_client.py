"""The SDK's socket client, tamed; imported by `sdk.load` only, in a thread."""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from typing import Any, Final

from lark_oapi.core.enum import LogLevel
from lark_oapi.core.log import logger
from lark_oapi.ws import client as sdk
from lark_oapi.ws.model import ClientConfig
from websockets.exceptions import ConnectionClosed

from channels.feishu.wire import Endpoint

log = logging.getLogger(__name__)

SILENCE: Final = 2.5  # pings without an answer until a connection counts as dead


class _RunningLoop:
    """Stands for the event loop that the SDK keeps in a global of its module.

    That one belongs to whoever imported the module first; this one is the loop of the thread that asks, so
    that every account can have a thread.
    """

    def create_task(self, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]:  # `Any`: as asyncio
        return asyncio.get_running_loop().create_task(coroutine)


sdk.loop = _RunningLoop()
logger.handlers.clear()  # it prints to standard output: message texts, and URLs with tickets in them
logger.addHandler(logging.NullHandler())
logger.propagate = False


class Handler:
    """What the client calls with the bytes of an event; in its thread."""

    def __init__(self, handle: Callable[[bytes], object]) -> None:
        self._do_without_validation = handle


class SocketClient(sdk.Client):  # type: ignore[misc]  # the SDK has no types
    """One connection, from `serve` until it breaks; who wants another makes another client.

    The SDK's own way back is not taken: it waits a random time of up to 30 seconds, then 120 between tries,
    can lock itself up, and can't be stopped.
    """

    def __init__(
        self, endpoint: Endpoint, *, app_id: str, handle: Callable[[bytes], object], heard: Callable[[], None]
    ) -> None:
        super().__init__(
            app_id, "", log_level=LogLevel.CRITICAL, event_handler=Handler(handle), auto_reconnect=False
        )
        self._endpoint = endpoint
        self._heard = heard
        self._heard_at = time.monotonic()
        self._is_over = asyncio.Event()

    async def serve(self, *, stop: asyncio.Event, connect_seconds: float) -> str:
        """Connect and handle events until the connection ends or `stop` is set; says why it ended.

        Raises:
            Exception: It could not connect; see `errors.socket_refusal`.
        """
        async with asyncio.timeout(connect_seconds):
            await self._connect()
        self._note()
        pings = asyncio.create_task(self._ping_loop(), name="feishu pings")
        ends = [
            asyncio.create_task(event.wait(), name=name)
            for event, name in ((stop, "feishu stop"), (self._is_over, "feishu over"))
        ]
        try:
            while not stop.is_set() and not self._is_over.is_set():
                left = self._heard_at + self._patience - time.monotonic()
                if left <= 0:
                    return f"nothing was heard for {self._patience:.0f} seconds"
                await asyncio.wait(ends, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            return "the connection ended"
        finally:
            for task in (pings, *ends):
                task.cancel()
            await self._let_go()

    @property
    def _patience(self) -> float:
        """Seconds of silence that mean that the connection is dead; the server may change the pings."""
        return SILENCE * float(self._ping_interval) + 1.0

    def _note(self) -> None:
        self._heard_at = time.monotonic()
        self._heard()

    async def _let_go(self) -> None:
        """Close the connection: politely for a moment, then in any case."""
        connection = self._conn
        if connection is None:
            return
        try:
            async with asyncio.timeout(1.0):
                await connection.close()
        except TimeoutError:
            connection.transport.abort()

    def _get_conn_url(self) -> str:
        """Give the SDK the URL that we have asked for; it would ask itself, and hold up the thread for it."""
        self._configure(ClientConfig({"PingInterval": self._endpoint.config.ping_interval}))
        return self._endpoint.url

    async def _receive_message_loop(self) -> None:
        """Handle one frame after the other until the connection ends; the SDK's would try to reconnect."""
        try:
            async for frame in self._conn:
                self._note()
                await self._handle_message(frame)
        except ConnectionClosed as error:
            log.debug("socket closed", extra={"cause": str(error)})
        finally:
            self._is_over.set()
