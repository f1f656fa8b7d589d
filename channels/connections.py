"""How a terminal reaches the bot: inside this process, or over the WebSocket of one that runs."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import suppress
from random import uniform
from typing import Final, Protocol, TypeAlias

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus, InvalidURI

from bot.errors import ChannelError
from bot.messages import Frozen, encoder
from channels.frames import Hello, Send, ServerFrame, decode_server
from channels.link import Link

log = logging.getLogger(__name__)

LONGEST_WAIT: Final = 10.0  # seconds between two tries
OPEN_TIMEOUT: Final = 10.0  # seconds
MAX_FRAME: Final = 64 * 1024 * 1024  # bytes; a page of history with the longest messages


class Lost(Frozen, frozen=True, kw_only=True):
    """The connection broke; what was sent and not accepted has to be sent again after the next `welcome`."""

    cause: str


Incoming: TypeAlias = ServerFrame | Lost


class Connection(Protocol):
    """A conversation with the bot, whatever carries it."""

    async def send(self, frame: Send) -> None:
        """Send a message; while there is no connection it is dropped."""

    def __aiter__(self) -> AsyncIterator[Incoming]:
        """Say hello and give out what comes; after `Lost` it connects again by itself."""


class Hub(Protocol):
    """What opens a link."""

    def connect(self) -> Link:
        """Open a window on the channel."""


class LocalConnection:
    """Talks to a hub in this process."""

    def __init__(self, hub: Hub, *, chat: str = "main") -> None:
        self._link = hub.connect()
        self._chat = chat

    async def send(self, frame: Send) -> None:
        """See `Connection.send`."""
        await self._link.receive(frame)

    async def __aiter__(self) -> AsyncIterator[Incoming]:
        with self._link as link:
            await link.receive(Hello(chat=self._chat, channel="terminal"))
            async for frame in link:
                yield frame


class WebSocketConnection:
    """Talks to a running bot.

    Args:
        url: Of the bot's web server, `http://127.0.0.1:8765`.
        token: What the server asks for, if it does.
        first_wait: Seconds until the first new try after a break; doubles with each one.
    """

    def __init__(
        self, url: str, *, token: str | None = None, chat: str = "main", first_wait: float = 0.25
    ) -> None:
        self._url = url
        self._token = token
        self._chat = chat
        self._first_wait = first_wait
        self._socket: ClientConnection | None = None

    async def send(self, frame: Send) -> None:
        """See `Connection.send`."""
        if self._socket is None:
            return
        with suppress(ConnectionClosed):  # the reader sees it too, and says `Lost`
            await self._socket.send(encoder.encode(frame).decode())

    async def __aiter__(self) -> AsyncIterator[Incoming]:
        """See `Connection`.

        Raises:
            ChannelError: The bot can't be reached at the first try, or does not let us in.
        """
        socket = await self._open()
        while True:
            cause = "closed"
            try:
                await socket.send(encoder.encode(Hello(chat=self._chat, channel="terminal")).decode())
                self._socket = socket
                async for data in socket:
                    yield decode_server(data)
            except ConnectionClosed as error:
                cause = str(error)
            finally:
                self._socket = None
                await socket.close()
            yield Lost(cause=cause)
            socket = await self._open_again()

    async def _open_again(self) -> ClientConnection:
        wait = self._first_wait
        while True:
            await asyncio.sleep(uniform(wait / 2, wait))
            try:
                return await self._open()
            except ChannelError as error:
                if error.permanent:
                    raise
                log.debug("connecting failed", extra={"error": str(error)})
            wait = min(wait * 2, LONGEST_WAIT)

    async def _open(self) -> ClientConnection:
        headers = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        url = f"{self._url.rstrip('/').replace('http', 'ws', 1)}/chat/ws"
        try:
            return await connect(
                url,
                additional_headers=headers,
                open_timeout=OPEN_TIMEOUT,
                max_size=MAX_FRAME,
                compression=None,
                proxy=None,
            )
        except InvalidStatus as error:
            status = error.response.status_code
            text = f"the bot at {self._url} refused the connection (HTTP {status}): check BOT_WEB__TOKEN"
            raise ChannelError(text, permanent=status in {401, 403}) from error
        except (OSError, TimeoutError, InvalidHandshake, InvalidURI) as error:
            raise ChannelError(f"the bot at {self._url} can't be reached: {error}") from error
