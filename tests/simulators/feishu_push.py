"""How Feishu brings events to an app: on its socket, or as requests; again where they were not taken."""

import asyncio
import base64
import hashlib
import itertools
import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from aiohttp import web
from Crypto.Cipher import AES
from Crypto.Util.Padding import pad

from tests.simulators import feishu_wire as wire

ACK_SECONDS = 3.0
FRAME_BYTES = 8 * 1024  # of an event in one frame; what is longer comes in several


@dataclass(slots=True, kw_only=True)
class Event:
    """An event that has not been confirmed.

    Attributes:
        is_callback: Somebody waits for the answer: it is not sent again.
        due_at: When it is to be sent (again), by `time.monotonic`.
    """

    id: str
    body: bytes
    is_callback: bool = False
    due_at: float = 0.0
    tries: int = 0


@dataclass(slots=True, kw_only=True)
class Hook:
    """Where events go as requests instead, and how they are made safe."""

    url: str
    token: str
    encrypt_key: str | None = None


@dataclass(slots=True)
class Pushes:
    """Sends the events of one app, each until it is confirmed.

    Attributes:
        again_seconds: Until an event that was not taken is sent again; of the real 15 s, 5 min, 1 h and 6 h.
        answers: What the app has answered to events, by their id.
        lost: Callbacks that were not answered: the person saw an error.
    """

    tell: Callable[[], Awaitable[None]]
    again_seconds: float = 0.2
    ack_seconds: float = ACK_SECONDS
    hook: Hook | None = None
    is_silent: bool = False
    sockets: list[web.WebSocketResponse] = field(default_factory=list)
    waiting: dict[str, Event] = field(default_factory=dict)
    answers: dict[str, Any] = field(default_factory=dict)
    sent: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    _news: asyncio.Event = field(default_factory=asyncio.Event)
    _task: asyncio.Task[None] | None = None
    _turns: "itertools.count[int]" = field(default_factory=itertools.count)

    def add(self, event: Event) -> None:
        """Let an event go out."""
        self.waiting[event.id] = event
        self._news.set()

    def start(self) -> None:
        """Begin to send."""
        self._task = asyncio.create_task(self._pump(), name="feishu pushes")

    async def stop(self) -> None:
        """Send no more; what was not confirmed stays."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
            self._task = None

    async def close_sockets(self) -> None:
        """Cut every connection."""
        for socket in self.sockets:
            if socket._req is not None and socket._req.transport is not None:
                socket._req.transport.abort()
        self.sockets.clear()

    async def _pump(self) -> None:
        async with aiohttp.ClientSession() as session:
            while True:
                self._news.clear()
                await self._send_due(session)
                due = [event.due_at for event in self.waiting.values()] if self._can_send() else []
                try:
                    async with asyncio.timeout(max(0.0, min(due) - time.monotonic()) if due else None):
                        await self._news.wait()
                except TimeoutError:
                    continue

    def _can_send(self) -> bool:
        return not self.is_silent and (self.hook is not None or bool(self.sockets))

    async def _send_due(self, session: aiohttp.ClientSession) -> None:
        if not self._can_send():
            return
        now = time.monotonic()
        for event in [event for event in self.waiting.values() if event.due_at <= now]:
            if event.is_callback and event.tries:
                self._lose(event)
                continue
            event.tries += 1
            event.due_at = time.monotonic() + self.ack_seconds
            self.sent.append(event.id)
            if self.hook is not None:
                await self._post(session, self.hook, event)
            else:
                await self._send(event)
        await self.tell()

    def _lose(self, event: Event) -> None:
        self.waiting.pop(event.id, None)
        self.lost.append(event.id)

    # --- the socket

    async def _send(self, event: Event) -> None:
        """Send an event to one of the connections, in as many frames as it takes."""
        socket = self.sockets[next(self._turns) % len(self.sockets)]
        parts = [event.body[at : at + FRAME_BYTES] for at in range(0, len(event.body), FRAME_BYTES)]
        for number, part in enumerate(parts):
            headers = {
                "type": "event",
                "message_id": event.id,
                "sum": str(len(parts)),
                "seq": str(number),
                "trace_id": f"trace-{event.id}",
            }
            try:
                await socket.send_bytes(wire.encode(wire.Frame(headers=headers, payload=part)))
            except (ConnectionError, RuntimeError):  # it has just been cut
                event.due_at = time.monotonic()
                event.tries -= 1
                return

    async def hold(self, socket: web.WebSocketResponse, ping_interval: int) -> None:
        """Serve one connection to its end."""
        self.sockets.append(socket)
        for event in self.waiting.values():
            event.due_at = 0.0
        self._news.set()
        await self.tell()
        try:
            async for message in socket:
                if message.type is aiohttp.WSMsgType.BINARY and not self.is_silent:
                    await self._read(socket, wire.decode(message.data), ping_interval)
        finally:
            if socket in self.sockets:
                self.sockets.remove(socket)
            await self.tell()

    async def _read(self, socket: web.WebSocketResponse, frame: wire.Frame, ping_interval: int) -> None:
        if frame.method == wire.CONTROL:
            config = {"ReconnectCount": -1, "ReconnectInterval": 120, "ReconnectNonce": 30}
            payload = json.dumps({**config, "PingInterval": ping_interval}).encode()
            pong = wire.Frame(method=wire.CONTROL, headers={"type": "pong"}, payload=payload)
            await socket.send_bytes(wire.encode(pong))
            return
        answer = json.loads(frame.payload)
        data = json.loads(base64.b64decode(answer["data"])) if answer.get("data") else None
        await self._confirm(frame.headers["message_id"], answer.get("code") == 200, data)

    async def _confirm(self, event_id: str, is_taken: bool, answer: object) -> None:
        event = self.waiting.get(event_id)
        if event is None:
            return
        if is_taken:
            del self.waiting[event_id]
            self.answers[event_id] = answer
        elif event.is_callback:
            self._lose(event)
        else:
            event.due_at = time.monotonic() + self.again_seconds
            self._news.set()
        await self.tell()

    # --- requests

    async def _post(self, session: aiohttp.ClientSession, hook: Hook, event: Event) -> None:
        status, answer = await self.request(session, hook, event.body)
        await self._confirm(event.id, status == 200, answer)

    async def request(self, session: aiohttp.ClientSession, hook: Hook, body: bytes) -> tuple[int, Any]:
        """Send one request as Feishu does; gives the status (0 where there was none) and the answer."""
        headers = {"Content-Type": "application/json"}
        if hook.encrypt_key is not None:
            body = json.dumps({"encrypt": encrypt(body, hook.encrypt_key)}).encode()
            headers |= sign(body, hook.encrypt_key)
        try:
            timeout = aiohttp.ClientTimeout(total=self.ack_seconds)
            async with session.post(hook.url, data=body, headers=headers, timeout=timeout) as response:
                return response.status, await response.json()
        except (aiohttp.ClientError, TimeoutError):
            return 0, None


def encrypt(body: bytes, key: str) -> str:
    """Encrypt as the document "Configure Encrypt Key" says; the vector is fixed, as it is only a test's."""
    vector = hashlib.sha256(body).digest()[:16]
    cipher = AES.new(hashlib.sha256(key.encode()).digest(), AES.MODE_CBC, vector)
    return base64.b64encode(vector + cipher.encrypt(pad(body, 16))).decode()


def sign(body: bytes, key: str) -> dict[str, str]:
    """The headers by which a request is known to come from Feishu."""
    stamp, nonce = str(int(time.time())), "nonce"
    signature = hashlib.sha256((stamp + nonce + key).encode() + body).hexdigest()
    return {
        "X-Lark-Request-Timestamp": stamp,
        "X-Lark-Request-Nonce": nonce,
        "X-Lark-Signature": signature,
    }
