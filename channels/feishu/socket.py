"""Hears events over the SDK's socket, in a thread of its own."""

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

from bot.errors import BotError, ChannelError
from channels.feishu.sdk import Connect
from channels.feishu.wire import Endpoint

log = logging.getLogger(__name__)

# Feishu waits 3 seconds for the confirmation of an event, and then sends it again.
# Source: open.feishu.cn, event-subscription-guide, "Handle events".
ANSWER_SECONDS: Final = 2.7
CONNECT_SECONDS: Final = 15.0
END_SECONDS: Final = 10.0  # the longest that the thread can need: an event's answer, and the closing

EXCEEDED: Final = 1000040350  # too many connections of this app; one may end


class Socket:
    """One connection in one thread, from `run` until it breaks.

    Args:
        connect: From `sdk.load`.
        hear: Takes an event on our loop; what it returns goes back as the answer. When it raises, the event
            is not confirmed, and comes again.
        heard: Told in the thread whenever the connection shows that it is alive.
    """

    def __init__(
        self,
        connect: Connect,
        endpoint: Endpoint,
        *,
        app_id: str,
        hear: Callable[[bytes], Awaitable[object]],
        heard: Callable[[], None],
    ) -> None:
        self._connect = connect
        self._endpoint = endpoint
        self._app_id = app_id
        self._hear = hear
        self._heard = heard

    async def run(self) -> None:
        """Hear events until cancelled.

        Raises:
            ChannelError: It could not connect, or the connection has ended.
        """
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[ChannelError] = loop.create_future()
        worker = _Worker(self, loop, ended)
        thread = threading.Thread(target=worker.work, name="feishu socket", daemon=True)
        thread.start()
        try:
            raise await asyncio.shield(ended)
        finally:
            worker.stop()
            await asyncio.wait({ended}, timeout=END_SECONDS)
            thread.join(timeout=1.0)

    async def serve(self, loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> ChannelError:
        """Talk to Feishu, in the thread; returns why that ended."""

        def handle(payload: bytes) -> object:
            waiting = asyncio.run_coroutine_threadsafe(self._answer(payload), loop)
            return waiting.result(timeout=ANSWER_SECONDS + 1.0)

        client = self._connect(self._endpoint, app_id=self._app_id, handle=handle, heard=self._heard)
        cause = await client.serve(stop=stop, connect_seconds=CONNECT_SECONDS)
        return ChannelError(f"feishu: {cause}")

    async def _answer(self, payload: bytes) -> object:
        """Take an event; where its errors are told of. They go on, so that it is not confirmed."""
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                return await self._hear(payload)
        except (BotError, TimeoutError) as error:
            log.error("event not taken", extra={"cause": str(error) or "it took too long"})
            raise
        except Exception:
            log.exception("event not taken")
            raise


class _Worker:
    """What the thread does, and how it is told to stop."""

    def __init__(
        self, socket: Socket, loop: asyncio.AbstractEventLoop, ended: asyncio.Future[ChannelError]
    ) -> None:
        self._socket = socket
        self._loop = loop
        self._ended = ended
        self._inner: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._must_stop = threading.Event()

    def work(self) -> None:
        """Run a loop for the connection; the whole life of the thread, and where its errors end."""
        try:
            outcome = asyncio.run(self._serve())
        except Exception as error:
            log.debug("socket ended", exc_info=True)
            outcome = socket_refusal(error)
        self._loop.call_soon_threadsafe(self._ended.set_result, outcome)

    async def _serve(self) -> ChannelError:
        self._inner, self._stop = asyncio.get_running_loop(), asyncio.Event()
        if self._must_stop.is_set():
            return ChannelError("feishu: stopped")
        return await self._socket.serve(self._loop, self._stop)

    def stop(self) -> None:
        """Let the thread end, from another one; more than once does no harm."""
        self._must_stop.set()
        if self._inner is not None and self._stop is not None:
            with suppress(RuntimeError):  # its loop is closed: it has ended by itself
                self._inner.call_soon_threadsafe(self._stop.set)


def socket_refusal(error: Exception) -> ChannelError:
    """Tell what an error of the SDK's socket means; its codes say whether another try makes sense."""
    code = getattr(error, "code", None)
    is_refused = type(error).__name__ == "ClientException" and code not in (None, EXCEEDED)
    return ChannelError(f"feishu socket: {type(error).__name__} {code or ''}".strip(), permanent=is_refused)
