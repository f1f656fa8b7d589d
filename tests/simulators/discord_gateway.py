"""Discord's gateway: sessions that go on over broken sockets.

Rules, from Discord's developer documentation (Gateway, Opcodes and Status Codes): the server says hello
with the beat of the heart and acknowledges each; a wrong token closes with 4004, an intent that the
portal does not grant with 4014, words before identifying with 4003, a second identifying with 4005, more
than 120 words a minute with 4008; a resume replays what came after a number, one with a number from the
future closes with 4007, one of a session that is gone is answered with op 9; a socket closed with 1000 or
1001 ends its session. Without the intent Message Content a message in the server has no content for the
bot, unless it mentions it. Compresses as `zlib-stream`; asked for another compression, it uses none.
"""

import asyncio
import json
import uuid
import zlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import WSMsgType, web

from tests.simulators.discord_world import APP, BOT_USER, GUILD, Json, World
from tests.simulators.platform import Budget

GUILDS, GUILD_MESSAGES, DIRECT_MESSAGES, MESSAGE_CONTENT = 1 << 0, 1 << 9, 1 << 12, 1 << 15
STRIPPED = ("content", "embeds", "attachments", "components")
ENDS = (1000, 1001)


@dataclass(slots=True, eq=False)
class Link:
    """An open socket; `sent` is the number of the last event that went over it."""

    socket: web.WebSocketResponse
    request: web.Request
    deflate: Any  # `zlib._Compress`, which has no public name
    session: "Session | None" = None
    sent: int = 0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    words: Budget = field(default_factory=lambda: Budget(120, 60.0))

    async def send(self, payload: Json) -> None:
        """Put something on the socket."""
        text = json.dumps(payload)
        if self.deflate is None:
            await self.socket.send_str(text)
        else:
            data = self.deflate.compress(text.encode()) + self.deflate.flush(zlib.Z_SYNC_FLUSH)
            await self.socket.send_bytes(data)


@dataclass(slots=True, eq=False)
class Session:
    """What was told to a bot since it identified itself."""

    id: str
    intents: int
    log: list[tuple[str, Json]] = field(default_factory=list)  # event number n stands at n - 1
    link: Link | None = None


class Gateway:
    """Holds the sessions and tells them of events.

    Args:
        url: Where it is to be reached.
        heartbeat: Seconds between two beats.

    Attributes:
        granted: The intents that are switched on in the portal.
        is_mute: It is connected but says nothing, not even that it hears.
        identified: How often a session was begun.
        resumed: How often one was taken up again.
        presence: What the bot said of itself last.
    """

    def __init__(
        self,
        world: World,
        *,
        token: str,
        url: Callable[[], str],
        tell: Callable[[], Awaitable[None]],
        heartbeat: float = 41.25,
    ) -> None:
        self.granted = (1 << 54) - 1
        self.is_mute = False
        self.identified = 0
        self.resumed = 0
        self.heartbeats = 0
        self.presence: Json = {}
        self._world = world
        self._token = token
        self._url = url
        self._tell = tell
        self._heartbeat = heartbeat
        self._sessions: dict[str, Session] = {}
        self._links: list[Link] = []
        self._last: tuple[str, Json] | None = None

    @property
    def connected(self) -> int:
        """How many sockets carry a session."""
        return sum(1 for link in self._links if link.session is not None)

    # --- events

    async def dispatch(self, event: str, data: Json, *, is_echo: bool = False) -> None:
        """Tell all sessions of an event.

        Args:
            is_echo: The bot itself did it; `again` passes over it.
        """
        if event == "MESSAGE_CREATE" and not is_echo:
            self._last = (event, data)
        for session in list(self._sessions.values()):
            seen = _as_seen(event, data, session.intents)
            if seen is not None:
                session.log.append((event, seen))
                if session.link is not None:
                    await self._flush(session.link)
        await self._tell()

    async def again(self) -> None:
        """Tell of the last message once more."""
        assert self._last is not None
        await self.dispatch(*self._last)

    async def _flush(self, link: Link) -> None:
        """Send what the session has and the socket has not."""
        async with link.lock:
            session = link.session
            while session is not None and link.sent < len(session.log) and not self.is_mute:
                event, data = session.log[link.sent]
                link.sent += 1
                try:
                    await link.send({"op": 0, "s": link.sent, "t": event, "d": data})
                except ConnectionError:
                    self._lose(link)
                    return

    # --- trouble

    async def drop(self) -> None:
        """Cut all sockets; the sessions can be resumed."""
        for link in list(self._links):
            if link.request.transport is not None:
                link.request.transport.abort()
            self._lose(link)

    def invalidate(self) -> None:
        """Forget the sessions: a resume fails, what was missed is not told."""
        for session in self._sessions.values():
            session.link = None
        self._sessions.clear()

    async def reconnect(self) -> None:
        """Ask the bot to connect again, as Discord does every few hours."""
        for link in list(self._links):
            await link.send({"op": 7, "d": None})

    async def speak(self) -> None:
        """Be no longer mute."""
        self.is_mute = False
        for link in list(self._links):
            await self._flush(link)

    def _lose(self, link: Link) -> None:
        if link in self._links:
            self._links.remove(link)
        if link.session is not None and link.session.link is link:
            link.session.link = None

    # --- sockets

    async def serve(self, request: web.Request) -> web.WebSocketResponse:
        """Serve a socket until it closes."""
        if request.query.get("v") != "10":
            raise web.HTTPBadRequest
        is_compressed = request.query.get("compress") == "zlib-stream"
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        link = Link(socket, request, zlib.compressobj() if is_compressed else None)
        self._links.append(link)
        await link.send({"op": 10, "d": {"heartbeat_interval": int(self._heartbeat * 1_000)}})
        try:
            async for frame in socket:
                if frame.type is WSMsgType.TEXT and not self.is_mute:
                    await self._hear(link, json.loads(frame.data))
        except ConnectionError:
            self._lose(link)
        finally:
            self._lose(link)
            if link.session is not None and socket.close_code in ENDS:
                self._sessions.pop(link.session.id, None)
            await self._tell()
        return socket

    async def _hear(self, link: Link, word: Json) -> None:
        operation, data = word.get("op"), word.get("d")
        if link.words.spend(""):
            await link.socket.close(code=4008, message=b"You are being rate limited.")
        elif operation == 1:
            self.heartbeats += 1
            await link.send({"op": 11, "d": None})
        elif operation == 2:
            await self._identify(link, data or {})
        elif operation == 6:
            await self._resume(link, data or {})
        elif link.session is None:
            await link.socket.close(code=4003, message=b"Not authenticated.")
        elif operation == 3:
            self.presence = data or {}
        else:
            await link.socket.close(code=4001, message=b"Unknown opcode.")
        await self._tell()

    async def _identify(self, link: Link, data: Json) -> None:
        if link.session is not None:
            await link.socket.close(code=4005, message=b"Already authenticated.")
        elif data.get("token") != self._token:
            await link.socket.close(code=4004, message=b"Authentication failed.")
        elif data["intents"] & ~self.granted:
            await link.socket.close(code=4014, message=b"Disallowed intent(s).")
        else:
            self.identified += 1
            self.presence = data.get("presence") or self.presence
            session = Session(uuid.uuid4().hex, data["intents"], link=link)
            session.log = [("READY", self._ready(session)), ("GUILD_CREATE", self._world.guild_json())]
            self._sessions[session.id] = link.session = session
            await self._flush(link)

    def _ready(self, session: Session) -> Json:
        return {
            "v": 10,
            "user": self._world.bot.as_json(),
            "guilds": [{"id": GUILD, "unavailable": True}],
            "session_id": session.id,
            "resume_gateway_url": self._url(),
            "application": {"id": APP, "flags": 1 << 19},
            "private_channels": [],
        }

    async def _resume(self, link: Link, data: Json) -> None:
        session = self._sessions.get(data.get("session_id") or "")
        if data.get("token") != self._token:
            await link.socket.close(code=4004, message=b"Authentication failed.")
        elif session is None:
            await link.send({"op": 9, "d": False})
        elif data["seq"] > len(session.log):
            await link.socket.close(code=4007, message=b"Invalid seq.")
        else:
            self.resumed += 1
            link.session, session.link, link.sent = session, link, data["seq"]
            session.log.append(("RESUMED", {"_trace": []}))
            await self._flush(link)


def _as_seen(event: str, data: Json, intents: int) -> Json | None:
    """What a bot with these intents is told; `None` for nothing."""
    if event.startswith("MESSAGE_"):
        in_guild = "guild_id" in data
        if not intents & (GUILD_MESSAGES if in_guild else DIRECT_MESSAGES):
            return None
        if event in ("MESSAGE_CREATE", "MESSAGE_UPDATE") and in_guild:
            names_bot = any(user["id"] == BOT_USER for user in data["mentions"])
            is_own = data["author"]["id"] == BOT_USER
            if not (intents & MESSAGE_CONTENT or names_bot or is_own):
                return {**data, **{name: "" if name == "content" else [] for name in STRIPPED}}
    elif event.startswith(("CHANNEL_", "THREAD_")) and not intents & GUILDS:
        return None
    return data
