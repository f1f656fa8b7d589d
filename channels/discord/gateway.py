"""The connection to Discord's gateway: the SDK's client, kept alive by a loop of our own."""

import asyncio
import logging
import random
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, TypeAlias

import aiohttp
import discord
import yarl
from discord.gateway import DiscordWebSocket, ReconnectWebSocket

from bot.errors import BotError, ChannelError
from channels.discord.rest import Rest

log = logging.getLogger(__name__)

INTENTS: Final = discord.Intents(guilds=True, messages=True, message_content=True)
LONGEST_PAUSE: Final = 15.0
NEW_SESSION: Final = (1.0, 5.0)  # Source: Discord API reference, "Gateway", Resuming
HANG_UP_SECONDS: Final = 2.0

Hear: TypeAlias = Callable[..., None]


class Gateway(discord.Client):
    """One client of the SDK, from `login` to its fall; a new run takes a new one.

    The SDK's own loop can't be told another address, waits up to a quarter of an hour between two tries and
    breaks when the first one fails. This one goes on with the session (RESUME) as long as Discord knows it.

    Args:
        hear: Gets every event, with what the SDK made of it, in the order they came.
        heard: Told of every sign of life, heartbeats included.
        patience: Seconds without a connection after which `connect` gives up.
        silence: Seconds without a word after which a socket is dead; the SDK watches, too.
    """

    def __init__(
        self,
        rest: Rest,
        gateway_url: str,
        *,
        hear: Hear,
        heard: Callable[[], None],
        patience: float,
        silence: float,
        status: discord.Status | None = None,
    ) -> None:
        logging.getLogger("discord").setLevel(logging.WARNING)  # below are the texts of all messages
        discord.VoiceClient.warn_nacl = discord.VoiceClient.warn_dave = False  # it is not to ask for voice
        super().__init__(intents=INTENTS, guild_ready_timeout=0.1, heartbeat_timeout=silence, status=status)
        self.http = self._connection.http = rest
        self._url = yarl.URL(gateway_url)
        self._hear = hear
        self._heard = heard
        self._patience = patience
        self._silence = silence
        self._greeting: asyncio.Timeout | None = None
        self._tries = 0
        self._is_leaving = False

    def dispatch(self, event: str, /, *args: Any, **kwargs: Any) -> None:  # `Any`: the SDK's signature
        """Hand an event over at once; the SDK would make a task of each, which nobody owns."""
        if event in ("connect", "resumed"):
            self._tries = 0
            if self._greeting is not None:
                self._greeting.reschedule(None)
        if event == "connect":  # a new session: the servers are told anew
            self._ready.clear()
        try:
            self._hear(event, *args)
        except BotError:
            raise
        except Exception:
            log.exception("event not understood", extra={"channel": "discord", "event": event})

    def tell(self, interaction: Any) -> None:  # `Any`: JSON, as the SDK has it
        """Take an interaction that came another way than by the socket."""
        self._connection.parse_interaction_create(interaction)

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        """Wait before a new session takes the place of a lost one, as Discord asks for."""
        if not initial:
            await asyncio.sleep(random.uniform(*NEW_SESSION))

    async def connect(self, *, reconnect: bool = True) -> None:
        """Hear Discord, over as many sockets as it takes.

        Raises:
            DiscordException: Discord does not want us.
            ChannelError: It can't be reached for longer than our patience.
        """
        loop = asyncio.get_running_loop()
        session: dict[str, Any] = {"gateway": self._url, "initial": True}
        lost_at = loop.time()
        while True:
            try:
                await self._listen(session)
            except ReconnectWebSocket as error:
                session = self._session(may_resume=error.resume)
                cause = "the connection ended"
            except (OSError, aiohttp.ClientError, TimeoutError) as error:
                await self._hang_up()
                session = self._session(may_resume=True)
                cause = type(error).__name__
            if self._tries == 0:
                lost_at = loop.time()
            elif loop.time() - lost_at > self._patience:
                raise ChannelError(f"discord's gateway can't be reached ({cause})")
            self.dispatch("disconnect")
            await asyncio.sleep(self._pause())

    async def _listen(self, session: dict[str, Any]) -> None:
        """Open a socket, and hear it until it ends; a greeting has to come in time."""
        async with asyncio.timeout(self._silence) as self._greeting:
            self.ws = await DiscordWebSocket.from_client(self, **session)
            while True:
                await self.ws.poll_event()
                self._heard()

    def _session(self, *, may_resume: bool) -> dict[str, Any]:
        """How the next socket begins."""
        socket: DiscordWebSocket | None = self.ws
        if socket is None or not may_resume or socket.session_id is None:
            return {"gateway": self._url, "initial": socket is None}
        return {
            "gateway": socket.gateway,
            "session": socket.session_id,
            "sequence": socket.sequence,
            "resume": True,
        }

    def _pause(self) -> float:
        """Seconds until the next try; none after a connection that was well."""
        self._tries += 1
        if self._tries == 1:
            return 0.0
        return random.uniform(0.2, min(LONGEST_PAUSE, 0.5 * 2.0**self._tries))

    async def close(self) -> None:
        """Close the socket and what the SDK leaves running."""
        self._is_leaving = True
        ready: asyncio.Task[None] | None = self._connection._ready_task
        if ready is not None:
            ready.cancel()
        await self._hang_up()
        await super().close()

    async def _hang_up(self) -> None:
        """Close the socket, whether or not Discord still answers."""
        socket: DiscordWebSocket | None = self.ws
        if socket is None or not socket.open:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(HANG_UP_SECONDS):
                await socket.close(code=1000 if self._is_leaving else 4000)
