"""Socket Mode, through the SDK's client, with its tasks owned and its silent deaths noticed."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final, TypeAlias

import msgspec
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.async_client import AsyncBaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse

from bot.errors import ChannelError, StoreError
from channels.slack.client import Client, sdk_log
from channels.slack.errors import slack_errors

log = logging.getLogger(__name__)

CLOSE_SECONDS: Final = 2.0

Take: TypeAlias = Callable[[str, object], Awaitable[None]]
Note: TypeAlias = Callable[[bool, datetime | None], None]


class OwnedClient(SocketModeClient):
    """The SDK's client, which keeps the tasks that it would let go of."""

    def __init__(self, *, app_token: str, client: Client, ping_interval: float) -> None:
        super().__init__(
            app_token=app_token, web_client=client.web, logger=sdk_log(), ping_interval=ping_interval
        )
        self._tasks: set[asyncio.Task[None]] = set()

    async def process_message(self) -> None:
        """Serve the next envelope, beside those that are being served."""
        text = await self.message_queue.get()
        self.own(self._serve(text), "slack envelope")

    def own(self, work: Coroutine[None, None, None], name: str) -> None:
        """Run something until it is done or the client is closed."""
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, text: str) -> None:
        message = json_object(text)
        if message is not None:
            await self.run_message_listeners(message, text)

    async def aclose(self) -> None:
        """Close the connection and wait for every task to end."""
        self.closed, self.auto_reconnect_enabled = True, False
        watchers = (self.current_session_monitor, self.message_receiver, self.message_processor)
        tasks = [task for task in (*watchers, *self._tasks) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                if self.current_session is not None:
                    await self.current_session.close()
        await self.aiohttp_client_session.close()


class Socket:
    """Hears the platform on a socket, and acknowledges an envelope when it is taken.

    The SDK connects again by itself, but tries a dead ticket for ever. While it is not connected, its ticket
    is taken away, so that it asks for a new one; if that does not help either, `hear` gives up.

    Args:
        take: Makes a payload durable; gets the kind of the envelope.
        note: Told whether the connection stands, and when Slack was last heard of.
        patience: Seconds without a connection after which `hear` gives up.
    """

    def __init__(
        self,
        client: Client,
        app_token: str,
        *,
        take: Take,
        note: Note,
        ping_interval: float = 5.0,
        patience: float = 30.0,
    ) -> None:
        self._client = client
        self._app_token = app_token
        self._take = take
        self._note = note
        self._ping_interval = ping_interval
        self._patience = patience

    async def hear(self) -> None:
        """Connect and hear until cancelled.

        Raises:
            ChannelError: There is no connection to be had; permanent where the token is wrong.
        """
        socket = OwnedClient(
            app_token=self._app_token, client=self._client, ping_interval=self._ping_interval
        )
        socket.message_listeners.append(self._on_message)
        socket.socket_mode_request_listeners.append(self._on_request)
        try:
            await self._open(socket)
            await self._watch(socket)
        finally:
            self._note(False, None)
            await socket.aclose()

    async def _open(self, socket: OwnedClient) -> None:
        """Let the SDK connect; asked for here, a ticket that is refused for good ends `hear`."""
        with slack_errors("apps.connections.open"):
            opened = await self._client.web.apps_connections_open(app_token=self._app_token)
            socket.wss_uri = opened["url"]
        socket.own(socket.connect(), "slack connect")  # type: ignore[no-untyped-call]  # the SDK's

    async def _watch(self, socket: OwnedClient) -> None:
        """Look at the connection again and again; it does not tell when it dies."""
        last_good = time.monotonic()
        while True:
            await asyncio.sleep(self._ping_interval / 2)
            is_connected = await socket.is_connected()
            self._note(is_connected, _last_pong(socket))
            if is_connected:
                last_good = time.monotonic()
            elif time.monotonic() - last_good > self._patience:
                raise ChannelError(f"slack: no connection for {self._patience:.0f} seconds")
            else:
                socket.wss_uri = None

    async def _on_message(
        self, _: AsyncBaseSocketModeClient, message: dict[str, object], __: str | None
    ) -> None:
        self._note(True, datetime.now(UTC))
        if message.get("type") == "hello":
            log.info("slack socket open")

    async def _on_request(self, socket: AsyncBaseSocketModeClient, request: SocketModeRequest) -> None:
        """Take an envelope; what was not taken is not acknowledged, and comes again."""
        try:
            await self._take(request.type, request.payload)
            await socket.send_socket_mode_response(SocketModeResponse(envelope_id=request.envelope_id))
        except StoreError:
            log.warning("event not taken", extra={"kind": request.type})
        except (ConnectionError, ChannelError) as error:
            log.warning("event not acknowledged", extra={"kind": request.type, "cause": str(error)})
        except Exception:  # one envelope; the next is served
            log.exception("event failed", extra={"kind": request.type})


def _last_pong(socket: OwnedClient) -> datetime | None:
    seconds = socket.last_ping_pong_time
    return datetime.fromtimestamp(seconds, UTC) if seconds is not None else None


def json_object(text: str) -> dict[str, object] | None:
    """Read a frame; Slack sends some that hold nothing."""
    try:
        value = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return None
    return value if isinstance(value, dict) else None
