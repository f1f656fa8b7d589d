"""Outgoing webhooks: events are posted, signed, to whoever asked for them, until they are taken or given up.

A letter is kept in the store from the event on; nothing is read of the bus while nobody is to be told.
"""

import asyncio
import hmac
import logging
import random
import time
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from secrets import token_bytes
from types import TracebackType
from typing import Final, NamedTuple, Protocol, Self, get_args

from bot.bus import Bus, Subscription
from bot.errors import BotError, ModelError, StoreError
from bot.messages import Missed, SystemEvent, encoder, new_id, utc_now
from bot.models.http import HttpClient, HttpError
from bot.web.api.base import DeadLetter, Webhook

log = logging.getLogger(__name__)

KINDS: Final = {kind: str(kind.__struct_config__.tag) for kind in get_args(SystemEvent)}
EVERYTHING: Final = "*"
WAITS: Final = (5.0, 30.0, 120.0, 600.0, 1_800.0, 7_200.0, 18_000.0, 36_000.0)  # seconds, after each failure
JITTER: Final = 0.1  # of a wait, either way
POST_SECONDS: Final = 15.0
AT_ONCE: Final = 8  # letters under way, of one webhook
STORE_SECONDS: Final = 5.0  # until a store that has failed is asked again
MOST_WEBHOOKS: Final = 50
MOST_WAITING: Final = 10_000  # letters of one webhook; past it new ones are dropped
MAX_EVENTS: Final = 10_000
SECRET_BYTES: Final = 32
SECRET_PREFIX: Final = "whsec_"
GONE: Final = 410
IDLE_SECONDS: Final = 3_600.0


class NewLetter(NamedTuple):
    """An event for one webhook; `body` is JSON."""

    id: str
    webhook: str
    event: str
    body: bytes


class Letter(NamedTuple):
    """A letter that is due."""

    id: str
    webhook: str
    url: str
    event: str
    body: bytes
    tries: int


class Book(Protocol):
    """Keeps webhooks and letters."""

    async def all(self) -> list[Webhook]: ...

    async def add(self, url: str, events: Sequence[str], *, most: int) -> Webhook | None:
        """Keep one more; `None` where there are too many."""

    async def remove(self, id_: str) -> bool:
        """Forget one and its letters."""

    async def post(self, letters: Sequence[NewLetter], *, most: int) -> int:
        """Keep letters; gives how many were dropped, for too many wait or the webhook is gone."""

    async def due(self, webhook: str, now: float, *, limit: int) -> list[Letter]:
        """The letters of a webhook that are due, the oldest first."""

    async def next_due(self, webhook: str) -> float | None:
        """When its next letter is."""

    async def taken(self, id_: str) -> None:
        """A letter has arrived."""

    async def failed(self, letter: Letter, error: str, *, next_at: float | None) -> None:
        """A try has failed; without a next one, the letter is dead."""

    async def dead(self, *, limit: int) -> list[DeadLetter]: ...

    async def revive(self, id_: str) -> bool: ...


class Vault(Protocol):
    """Keeps secrets."""

    async def put(self, name: str, value: str) -> None: ...

    async def get(self, name: str) -> str | None: ...

    async def delete(self, name: str) -> bool: ...


class Webhooks:
    """Fulfils `bot.web.api.base.Webhooks` from `__aenter__` to `__aexit__`.

    Args:
        waits: Seconds after each failure; after the last one a letter is dead.
    """

    def __init__(
        self,
        bus: Bus,
        book: Book,
        vault: Vault,
        *,
        waits: Sequence[float] = WAITS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._bus = bus
        self._book = book
        self._vault = vault
        self._waits = waits
        self._clock = clock
        self._targets: list[Webhook] = []
        self._secrets: dict[str, bytes] = {}
        self._subscription: Subscription[SystemEvent | Missed] | None = None
        self._listener: asyncio.Task[None] | None = None
        self._senders: dict[str, tuple[asyncio.Task[None], asyncio.Event]] = {}

    async def __aenter__(self) -> Self:
        await self._look()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._subscription is not None and self._listener is not None:
            self._subscription.close()  # what is queued is still written down
            await asyncio.wait({self._listener})
        await self._stop(self._senders)

    @property
    def is_listening(self) -> bool:
        """Whether anything is read of the bus."""
        return self._subscription is not None

    async def _look(self) -> None:
        """Do as the book says now: listen where somebody is to be told, and have a sender for each."""
        self._targets = await self._book.all()
        if self._targets and self._subscription is None:
            self._subscription = self._bus.events(limit=MAX_EVENTS)
            self._listener = asyncio.create_task(self._listen(self._subscription), name="webhook listener")
        ids = {one.id for one in self._targets}
        await self._stop(self._senders.keys() - ids)
        for id_ in ids - self._senders.keys():
            news = asyncio.Event()
            self._senders[id_] = (asyncio.create_task(self._send(id_, news), name="webhook sender"), news)

    async def _stop(self, ids: Iterable[str]) -> None:
        stopped = [self._senders.pop(id_)[0] for id_ in tuple(ids)]
        for task in stopped:
            task.cancel()
        if stopped:
            await asyncio.wait(stopped)

    # --- what admins do

    async def all(self) -> list[Webhook]:
        """See the protocol."""
        return await self._book.all()

    async def add(self, url: str, events: Sequence[str]) -> tuple[Webhook, str]:
        """See the protocol.

        Raises:
            ValueError: There is no such event or address, or there are too many webhooks.
        """
        kinds = {EVERYTHING, *KINDS.values()}
        if unknown := sorted(set(events) - kinds):
            raise ValueError(f"there is no event {', '.join(unknown)}: there are {', '.join(sorted(kinds))}")
        try:
            HttpClient(url, {}, connect_seconds=POST_SECONDS)
        except ModelError as error:
            raise ValueError(f"{url} is not an address that can be posted to") from error
        webhook = await self._book.add(url, events, most=MOST_WEBHOOKS)
        if webhook is None:
            raise ValueError(f"there are {MOST_WEBHOOKS} webhooks: remove some first")
        secret = SECRET_PREFIX + b64encode(token_bytes(SECRET_BYTES)).decode()
        await self._vault.put(_secret_name(webhook.id), secret)
        await self._look()
        return webhook, secret

    async def remove(self, id_: str) -> bool:
        """See the protocol."""
        is_there = await self._book.remove(id_)
        await self._vault.delete(_secret_name(id_))
        self._secrets.pop(id_, None)
        await self._look()
        return is_there

    async def dead(self, *, limit: int) -> list[DeadLetter]:
        """See the protocol."""
        return await self._book.dead(limit=limit)

    async def retry(self, id_: str) -> bool:
        """See the protocol."""
        is_there = await self._book.revive(id_)
        for _, news in self._senders.values():
            news.set()
        return is_there

    # --- from events to letters

    async def _listen(self, subscription: Subscription[SystemEvent | Missed]) -> None:
        async for event in subscription:
            if isinstance(event, Missed):
                log.warning("events missed", extra={"reader": "webhooks", "count": event.count})
                continue
            if letters := self._letters(event):
                await self._keep(letters)

    def _letters(self, event: SystemEvent) -> list[NewLetter]:
        kind = KINDS[type(event)]
        wanting = [one for one in self._targets if kind in one.events or EVERYTHING in one.events]
        if not wanting:
            return []
        body = encoder.encode({"type": kind, "timestamp": utc_now(), "data": event})
        return [NewLetter(new_id(), one.id, kind, body) for one in wanting]

    async def _keep(self, letters: Sequence[NewLetter]) -> None:
        try:
            dropped = await self._book.post(letters, most=MOST_WAITING)
        except StoreError as error:
            log.error("webhook letters lost", extra={"count": len(letters), "cause": str(error)})
            return
        if dropped:
            log.warning("webhook letters dropped: too many wait", extra={"count": dropped})
        for letter in letters:
            if letter.webhook in self._senders:
                self._senders[letter.webhook][1].set()

    # --- from letters to whoever takes them

    async def _send(self, webhook: str, news: asyncio.Event) -> None:
        """Post what is due at one webhook; a slow one holds up no other."""
        while True:
            news.clear()
            try:
                letters = await self._book.due(webhook, self._clock(), limit=AT_ONCE)
                async with asyncio.TaskGroup() as group:
                    for letter in letters:
                        group.create_task(self._post(letter), name="webhook post")
                next_at = await self._book.next_due(webhook)
                wait = IDLE_SECONDS if next_at is None else max(0.0, next_at - self._clock())
            except* StoreError as group_error:
                log.error("webhook waits for the store", extra={"cause": str(group_error.exceptions[0])})
                wait = STORE_SECONDS
            with suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await news.wait()

    async def _post(self, letter: Letter) -> None:
        """One try at one letter."""
        error, is_over = await self._try(letter)
        if error is None:
            await self._book.taken(letter.id)
            return
        is_dead = is_over or letter.tries >= len(self._waits)
        next_at = None if is_dead else self._clock() + _jittered(self._waits[letter.tries])
        await self._book.failed(letter, error, next_at=next_at)
        if is_dead:
            log.error("webhook given up", extra={"webhook": letter.webhook, "cause": error})

    async def _try(self, letter: Letter) -> tuple[str | None, bool]:
        """What went wrong, if anything did, and whether trying again is no use."""
        try:
            async with asyncio.timeout(POST_SECONDS):
                status = await post_once(letter, await self._secret(letter.webhook), now=self._clock())
        except TimeoutError:
            return f"no answer within {POST_SECONDS:g} s", False
        except (HttpError, BotError, OSError) as error:
            return f"{type(error).__name__}: {error}"[:300], False
        return (None, False) if 200 <= status < 300 else (f"HTTP {status}", status == GONE)

    async def _secret(self, webhook: str) -> bytes:
        if webhook not in self._secrets:
            text = await self._vault.get(_secret_name(webhook))
            if text is None:
                raise StoreError(f"the secret of webhook {webhook} is gone: remove it and add it anew")
            self._secrets[webhook] = b64decode(text.removeprefix(SECRET_PREFIX))
        return self._secrets[webhook]


async def post_once(letter: Letter, secret: bytes, *, now: float) -> int:
    """Post a letter; gives the HTTP status. Redirections are not followed.

    Raises:
        HttpError: Nobody answered.

    Source: Standard Webhooks specification 1.0, "Webhook Headers (Sending metadata to consumers)".
    """
    at = f"{int(now)}"
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "Switchboard",
        "webhook-id": letter.id,
        "webhook-timestamp": at,
        "webhook-signature": sign(letter.id, at, letter.body, secret),
    }
    client = HttpClient(letter.url, headers, connect_seconds=POST_SECONDS, keeps_connections=False)
    try:
        response = await client.post(letter.body)
        response.close()
        return response.status
    finally:
        await client.aclose()


def sign(id_: str, at: str, body: bytes, secret: bytes) -> str:
    """The signature of a letter."""
    digest = hmac.digest(secret, f"{id_}.{at}.".encode() + body, "sha256")
    return f"v1,{b64encode(digest).decode()}"


def _jittered(seconds: float) -> float:
    return seconds * random.uniform(1 - JITTER, 1 + JITTER)


def _secret_name(webhook: str) -> str:
    return f"webhook:{webhook}"
