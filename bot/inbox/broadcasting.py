"""One text for many chats: looked at first, then sent at a rate, by a task that can be stopped."""

import asyncio
import logging
import secrets
import time
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from bot.errors import StoreError
from bot.inbox.base import Broadcast, InboxError, Preview
from bot.messages import Address

log = logging.getLogger(__name__)

MAX_TEXT: Final = 4_000  # characters
MAX_PER_MINUTE: Final = 600
MAX_PREVIEWS: Final = 20  # that wait to be sent
MAX_GOING: Final = 5
MAX_KEPT: Final = 50  # of those that are over
TICKET_SECONDS: Final = 600.0
KEPT_SECONDS: Final = 3_600.0
END_SECONDS: Final = 5.0

NO_TEXT: Final = f"A broadcast has 1 to {MAX_TEXT:,} characters."
BAD_RATE: Final = f"The rate is 1 to {MAX_PER_MINUTE} chats a minute."
NOBODY: Final = "There is no chat to write to."
NO_TICKET: Final = "That text is not kept any longer: look at it again, then send it."
TOO_MANY: Final = "Several broadcasts are going out already; wait for one to end, or stop it."
CUT: Final = "A broadcast was cut short: {sent} of {total} chats got it. {cause}"
SHUTDOWN: Final = "I was shut down meanwhile."


class Chats(Protocol):
    """Knows every chat that has written."""

    async def addresses(self) -> Sequence[Address]: ...


@dataclass(slots=True)
class _Order:
    """A text, and who is to get it."""

    ticket: str
    text: str
    addresses: list[Address]
    pause: float  # seconds between two chats
    at: float = field(default_factory=time.monotonic)
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    sent: int = 0
    is_over: bool = False
    is_stopped: bool = False


class Broadcasts:
    """Owns the tasks that send, until `aclose`.

    Args:
        send: Puts a text into the outbox for chats.
        is_open: Whether anybody is answered in a chat; others get nothing.
        undelivered: Channels to which nothing is delivered.
        alarm: Tells the admins of what was not sent.
        end_seconds: For the message that is being written when the bot ends.
    """

    def __init__(
        self,
        chats: Chats,
        send: Callable[[str, Sequence[Address]], Awaitable[object]],
        *,
        is_open: Callable[[Address], bool],
        undelivered: Collection[str],
        alarm: Callable[[str], None],
        end_seconds: float = END_SECONDS,
    ) -> None:
        self._end_seconds = end_seconds
        self._chats = chats
        self._send = send
        self._is_open = is_open
        self._undelivered = undelivered
        self._alarm = alarm
        self._previews: OrderedDict[str, _Order] = OrderedDict()
        self._orders: OrderedDict[str, _Order] = OrderedDict()
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_closing = False

    async def preview(self, text: str, *, channels: Sequence[str], per_minute: int) -> Preview:
        """Whom a text would reach.

        Raises:
            InboxError: It is empty or too long, the rate is out of bounds, or there is nobody.
        """
        if not text.strip() or len(text) > MAX_TEXT:
            raise InboxError(NO_TEXT)
        if not 1 <= per_minute <= MAX_PER_MINUTE:
            raise InboxError(BAD_RATE)
        addresses = [one for one in await self._chats.addresses() if self._reaches(one, channels)]
        if not addresses:
            raise InboxError(NOBODY)
        order = _Order(secrets.token_hex(8), text, addresses, 60 / per_minute)
        self._previews[order.ticket] = order
        if len(self._previews) > MAX_PREVIEWS:
            self._previews.popitem(last=False)
        return Preview(
            ticket=order.ticket,
            text=text,
            chats=dict(Counter(address.channel for address in addresses)),
            seconds=(len(addresses) - 1) * order.pause,
        )

    def _reaches(self, address: Address, channels: Sequence[str]) -> bool:
        if address.channel in self._undelivered or (channels and address.channel not in channels):
            return False
        return self._is_open(address)

    def begin(self, ticket: str) -> Broadcast:
        """Send what was looked at.

        Raises:
            InboxError: It was sent already, or too long ago, or too many go on.
        """
        order = self._previews.get(ticket)
        if order is None or time.monotonic() - order.at > TICKET_SECONDS or self._is_closing:
            self._previews.pop(ticket, None)
            raise InboxError(NO_TICKET)
        if len(self._tasks) >= MAX_GOING:
            raise InboxError(TOO_MANY)
        del self._previews[ticket]
        order.at = time.monotonic()
        self._orders[ticket] = order
        task = asyncio.create_task(self._run(order), name="broadcast")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return _shown(order)

    def all(self) -> list[Broadcast]:
        """Those that go on, and those of the last hour."""
        over = [order for order in self._orders.values() if order.is_over]
        now = time.monotonic()
        for number, order in enumerate(over):
            if now - order.at > KEPT_SECONDS or number < len(over) - MAX_KEPT:
                del self._orders[order.ticket]
        return [_shown(order) for order in self._orders.values()]

    def stop(self, ticket: str) -> bool:
        """Send no more of one; False where none goes on."""
        order = self._orders.get(ticket)
        if order is None or order.is_over or order.stop.is_set():
            return False
        order.is_stopped = True
        order.stop.set()
        return True

    async def settled(self) -> None:
        """Wait until none goes on."""
        if self._tasks:
            await asyncio.wait(set(self._tasks))

    async def aclose(self) -> None:
        """Send no more of any, and say what was not sent."""
        self._is_closing = True
        for order in self._orders.values():
            order.stop.set()
        if tasks := set(self._tasks):
            await asyncio.wait(tasks, timeout=self._end_seconds)
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    async def _run(self, order: _Order) -> None:
        cause = SHUTDOWN
        try:
            for address in order.addresses:
                if order.stop.is_set() or (order.sent and await _stops(order)):
                    break
                await self._send(order.text, [address])
                order.sent += 1
        except StoreError as error:
            cause = f"It could not be kept: {error}"
        except Exception:  # where this task ends, and the admins are told
            log.exception("broadcast failed")
            cause = "Something went wrong on my side."
        finally:
            order.is_over, order.at = True, time.monotonic()
            if order.sent < len(order.addresses) and not order.is_stopped:
                self._tell(order, cause)
            self.all()

    def _tell(self, order: _Order, cause: str) -> None:
        log.error("broadcast cut short", extra={"sent": order.sent, "total": len(order.addresses)})
        self._alarm(CUT.format(sent=order.sent, total=len(order.addresses), cause=cause))


async def _stops(order: _Order) -> bool:
    """Wait for the next chat's time; whether it was stopped meanwhile."""
    try:
        async with asyncio.timeout(order.pause):
            await order.stop.wait()
    except TimeoutError:
        return False
    return True


def _shown(order: _Order) -> Broadcast:
    return Broadcast(
        ticket=order.ticket,
        total=len(order.addresses),
        sent=order.sent,
        is_over=order.is_over,
        is_stopped=order.is_stopped,
    )
