"""`/ws/events`: everything that is published, with numbers by which a reader goes on where it was."""

import asyncio
import logging
from typing import Final

import msgspec
from starlette.websockets import WebSocket, WebSocketDisconnect

from bot.messages import Chunk, End, Missed, SessionKey, encoder
from bot.web.api.access import caller_of, parts_of
from bot.web.api.base import Caller
from bot.web.api.feed import Entry, Follower

log = logging.getLogger(__name__)

FORBIDDEN: Final = 1008
BAD_REQUEST: Final = 1003
SEND_SECONDS: Final = 30.0  # that a reader may take for one frame
MAX_ITEMS: Final = 500  # of one frame
PAUSE: Final = 0.1  # seconds between two frames


class Wishes(msgspec.Struct, frozen=True, kw_only=True):
    """What a reader wants to see.

    Attributes:
        after: The number of the last item that it has; `None` for what comes from now on.
        session: One session; `None` for all.
        has_text: Growing answers, too.
    """

    after: int | None = None
    session: SessionKey | None = None
    has_text: bool = True


async def serve_events(socket: WebSocket) -> None:
    """Send what is published until the reader goes.

    The query takes `after`, `session` and `text` (0 leaves growing answers out). Each frame is a JSON array
    of items: `{"type": "welcome", "seq": n}` first, then `{"type": "event", "seq": n, "event": {…}}`, and
    `{"type": "missed", "seq": n, "count": m}` where some are gone; a count of 0 says that nobody knows how
    many.
    """
    caller, parts = caller_of(socket), parts_of(socket)
    if not (caller.may("read") or caller.may("chat")):
        await socket.close(FORBIDDEN, "this key takes the scope read or chat")
        return
    await socket.accept()
    wishes = _read_wishes(socket)
    if isinstance(wishes, str):
        await socket.close(BAD_REQUEST, wishes)
        return
    try:
        with parts.feed.follow(wishes.after) as follower:
            await _send(socket, [encoder.encode({"type": "welcome", "seq": parts.feed.newest})])
            await _talk(socket, follower, caller, wishes)
    except (WebSocketDisconnect, TimeoutError):
        return
    except Exception:
        log.exception("an events connection failed")
        await socket.close(1011)


async def _talk(socket: WebSocket, follower: Follower, caller: Caller, wishes: Wishes) -> None:
    """Write until the reader goes, which only reading tells."""
    writer = asyncio.create_task(_write(socket, follower, caller, wishes), name="events writer")
    reader = asyncio.create_task(_read(socket), name="events reader")
    try:
        await asyncio.wait((writer, reader), return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (writer, reader):
            task.cancel()
        await asyncio.wait((writer, reader))
    if not writer.cancelled():
        writer.result()


async def _write(socket: WebSocket, follower: Follower, caller: Caller, wishes: Wishes) -> None:
    """Send what there is, and then what has come meanwhile: many readers must not cost a call an item."""
    async for first in follower:
        found, entry = list[bytes](), first
        while True:
            if _is_wanted(entry, caller, wishes):
                found.append(entry.encoded)
            if len(found) == MAX_ITEMS or (following := follower.take()) is None:
                break
            entry = following
        if found:
            await _send(socket, found)
            await asyncio.sleep(PAUSE)
    await socket.close(1012)  # the bot goes away: come back later


async def _read(socket: WebSocket) -> None:
    """Pass over what the reader says, until it says goodbye."""
    while (await socket.receive())["type"] != "websocket.disconnect":
        pass


def _is_wanted(entry: Entry, caller: Caller, wishes: Wishes) -> bool:
    """Whether this reader gets an item."""
    item = entry.item
    if isinstance(item, Missed):
        return True
    return (
        (wishes.session is None or wishes.session == item.session)
        and (wishes.has_text or not isinstance(item, Chunk | End))
        and caller.may_see(item.session)
    )


async def _send(socket: WebSocket, items: list[bytes]) -> None:
    async with asyncio.timeout(SEND_SECONDS):
        await socket.send_text((b"[%s]" % b",".join(items)).decode())


def _read_wishes(socket: WebSocket) -> Wishes | str:
    """The wishes of a query, or what is wrong with them."""
    query = socket.query_params
    after = query.get("after")
    if after is not None and not (after.isascii() and after.isdigit() and len(after) <= 16):
        return "after is the number of an item"
    session = query.get("session")
    return Wishes(
        after=None if after is None else int(after),
        session=None if session is None else SessionKey(session),
        has_text=query.get("text", "1") != "0",
    )
