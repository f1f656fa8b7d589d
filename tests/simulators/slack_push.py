"""How Slack hands over events: by Socket Mode, or by signed requests.

Rules, from docs.slack.dev: a ticket of `apps.connections.open` opens one socket; an envelope is
acknowledged within 3 seconds by its id, on the socket that it came by; an event that was not comes again,
three times at most, with `retry_attempt` and `retry_reason`; presses and commands do not. A request
carries `X-Slack-Signature` over time stamp and body; what is not answered with 200 in 3 seconds comes
again, with `X-Slack-Retry-Num`. Here retries come at once; Slack waits a minute and five in between.
"""

import asyncio
import hashlib
import hmac
import json
import time
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import aiohttp
from aiohttp import WSMsgType, web

RETRIES = 3


@dataclass(slots=True, kw_only=True)
class Parcel:
    """Something to hand over; `kind` as envelopes name it."""

    kind: str
    payload: dict[str, Any]  # as it goes over the wire
    attempt: int = 0


@dataclass(slots=True)
class Link:
    """An open socket, and the envelopes that it must acknowledge."""

    socket: web.WebSocketResponse
    request: web.Request
    waiting: dict[str, asyncio.Future[bool]] = field(default_factory=dict)


class Push:
    """Hands parcels over until they are acknowledged; keeps what nobody has taken yet.

    Args:
        ack_seconds: How long an acknowledgement may take.
        tell: Called after every change.
    """

    def __init__(self, *, secret: str, ack_seconds: float, tell: Callable[[], Awaitable[None]]) -> None:
        self.hook_url: str | None = None
        self.opened = 0
        self.greeted = 0
        self.dead_tickets = 0
        self.acknowledged = 0
        self.deliveries: list[tuple[str, int]] = []  # kind and attempt of each
        self._secret = secret
        self._tell_all = tell
        self.ack_seconds = ack_seconds
        self._tickets: set[str] = set()
        self._links: list[Link] = []
        self._pending: dict[int, Parcel] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._news = asyncio.Condition()
        self._last: Parcel | None = None

    # --- sockets

    def ticket(self) -> str:
        """Give out a ticket."""
        self.opened += 1
        ticket = uuid.uuid4().hex
        if self.dead_tickets > 0:
            self.dead_tickets -= 1
        else:
            self._tickets.add(ticket)
        return ticket

    async def serve(self, request: web.Request) -> web.WebSocketResponse:
        """Serve a socket until it closes."""
        ticket = request.query.get("ticket", "")
        if ticket not in self._tickets:
            raise web.HTTPForbidden
        self._tickets.discard(ticket)
        link = Link(web.WebSocketResponse(), request)
        await link.socket.prepare(request)
        await link.socket.send_json(
            {"type": "hello", "num_connections": len(self._links) + 1, "connection_info": {"app_id": "A1"}}
        )
        self._links.append(link)
        self.greeted += 1
        await self._tell()
        try:
            async for frame in link.socket:
                if frame.type is WSMsgType.TEXT:
                    self._acknowledge(link, json.loads(frame.data))
        finally:
            self._lose(link)
            await self._tell()
        return link.socket

    @property
    def connected(self) -> int:
        """How many sockets are open."""
        return len(self._links)

    async def refresh(self) -> None:
        """Ask the bot to connect again, as Slack does every few hours."""
        for link in list(self._links):
            await link.socket.send_json({"type": "disconnect", "reason": "refresh_requested"})

    async def drop(self) -> None:
        """Cut all sockets."""
        for link in list(self._links):
            if link.request.transport is not None:
                link.request.transport.abort()
            self._lose(link)

    def _acknowledge(self, link: Link, answer: dict[str, Any]) -> None:
        waiting = link.waiting.get(answer.get("envelope_id", ""))
        if waiting is not None and not waiting.done():
            waiting.set_result(True)

    def _lose(self, link: Link) -> None:
        if link in self._links:
            self._links.remove(link)
        for waiting in link.waiting.values():
            if not waiting.done():
                waiting.set_result(False)

    # --- parcels

    def send(self, parcel: Parcel, *, is_echo: bool = False) -> None:
        """Hand something over, as soon as there is somebody to take it.

        Args:
            is_echo: The bot itself did it; `again` passes over it.
        """
        self._last = self._last if is_echo else parcel
        self._pending[id(parcel)] = parcel
        self._begin(parcel)

    def again(self) -> None:
        """Hand the last one over once more, as if its acknowledgement had been lost."""
        assert self._last is not None
        self.send(Parcel(kind=self._last.kind, payload=self._last.payload, attempt=1))

    def resume(self) -> None:
        """Go on after a `halt`."""
        for parcel in list(self._pending.values()):
            self._begin(parcel)

    async def halt(self) -> None:
        """Stop handing over; what was not acknowledged is kept."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._tasks.clear()

    async def settled(self) -> None:
        """Wait until nothing is left to be handed over."""
        async with self._news:
            await self._news.wait_for(lambda: not self._pending)

    def _begin(self, parcel: Parcel) -> None:
        key = id(parcel)
        if key not in self._tasks:
            task = asyncio.create_task(self._deliver(parcel), name="slack simulator delivers")
            self._tasks[key] = task
            task.add_done_callback(lambda _: self._tasks.pop(key, None))

    async def _deliver(self, parcel: Parcel) -> None:
        misses = 0
        while misses <= (RETRIES if parcel.kind == "events_api" else 0):
            self.deliveries.append((parcel.kind, parcel.attempt))
            if await (self._post(parcel) if self.hook_url else self._emit(parcel)):
                self.acknowledged += 1
                break
            parcel.attempt += 1
            misses += 1 if self.hook_url or self._links or parcel.kind != "events_api" else 0
        self._pending.pop(id(parcel), None)
        await self._tell()

    async def _emit(self, parcel: Parcel) -> bool:
        """Put a parcel on a socket; whether it was acknowledged."""
        await self._until(lambda: bool(self._links))
        link, envelope_id = self._links[-1], str(uuid.uuid4())
        waiting: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        link.waiting[envelope_id] = waiting
        envelope = {
            "envelope_id": envelope_id,
            "type": parcel.kind,
            "payload": parcel.payload,
            "accepts_response_payload": parcel.kind != "events_api",
        }
        if parcel.kind == "events_api":
            envelope["retry_attempt"] = parcel.attempt
            envelope["retry_reason"] = "timeout" if parcel.attempt else ""
        try:
            await link.socket.send_json(envelope)
            async with asyncio.timeout(self.ack_seconds):
                return await waiting
        except (TimeoutError, ConnectionError):
            return False
        finally:
            link.waiting.pop(envelope_id, None)

    async def _post(self, parcel: Parcel) -> bool:
        """Send a parcel as a request; whether it was answered in time."""
        assert self.hook_url is not None
        body, kind = _body(parcel)
        headers = {"Content-Type": kind, **self.signature(body)}
        if parcel.attempt:
            headers |= {"X-Slack-Retry-Num": str(parcel.attempt), "X-Slack-Retry-Reason": "http_timeout"}
        timeout = aiohttp.ClientTimeout(total=self.ack_seconds)
        try:
            async with (
                aiohttp.ClientSession(timeout=timeout) as session,
                session.post(self.hook_url, data=body, headers=headers) as response,
            ):
                return bool(response.status == 200)
        except (aiohttp.ClientError, TimeoutError):
            return False

    def signature(self, body: bytes, *, at: float | None = None) -> dict[str, str]:
        """The headers that prove where a request comes from."""
        stamp = str(int(at if at is not None else time.time()))
        digest = hmac.new(self._secret.encode(), b"v0:" + stamp.encode() + b":" + body, hashlib.sha256)
        return {
            "X-Slack-Request-Timestamp": stamp,
            "X-Slack-Signature": f"v0={digest.hexdigest()}",
        }

    async def _until(self, claim: Callable[[], bool]) -> None:
        async with self._news:
            await self._news.wait_for(claim)

    async def _tell(self) -> None:
        async with self._news:
            self._news.notify_all()
        await self._tell_all()


def _body(parcel: Parcel) -> tuple[bytes, str]:
    if parcel.kind == "events_api":
        return json.dumps(parcel.payload).encode(), "application/json"
    form = parcel.payload if parcel.kind == "slash_commands" else {"payload": json.dumps(parcel.payload)}
    return urlencode(form).encode(), "application/x-www-form-urlencoded"
