"""How the Telegram simulator delivers updates: to polls that wait, or to a webhook.

Rules (Bot API, "Getting updates"): an update is kept until it is confirmed by a higher offset; a poll waits
up to `timeout` seconds and gives up to `limit` updates; of two polls the older one ends with 409, as does
each while a webhook is set; a webhook gets one update a request, with the secret in a header, again and
again until it answers with a status of 2xx.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp

from tests.simulators.telegram_text import Refused

Update = dict[str, Any]  # as it goes over the wire

OLDER = "terminated by other getUpdates request; make sure that only one bot instance is running"
HOOKED = "can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"


class Push:
    """Keeps updates and hands them over.

    Args:
        retry_seconds: Between two tries to reach a webhook.

    Attributes:
        polls: How many polls have begun.
        confirmed: How many updates the bot has confirmed.
    """

    def __init__(self, *, tell: Callable[[], Awaitable[None]], retry_seconds: float = 0.1) -> None:
        self.polls = 0
        self.confirmed = 0
        self.hook: dict[str, Any] = {}
        self._pending: list[Update] = []
        self._again: list[Update] = []
        self._newest: Update = {}
        self._next = 1_000
        self._tell = tell
        self._retry_seconds = retry_seconds
        self._waiting: asyncio.Future[str] | None = None
        self._news = asyncio.Event()
        self._worker: asyncio.Task[None] | None = None

    @property
    def is_polled(self) -> bool:
        """Whether a poll waits."""
        return self._waiting is not None and not self._waiting.done()

    def send(self, kind: str, content: dict[str, Any]) -> None:
        """Let something have happened."""
        self._newest = {"update_id": self._next, kind: content}
        self._next += 1
        self._pending.append(self._newest)
        self._wake("news")

    def again(self) -> None:
        """Deliver the last update once more, though it was confirmed."""
        if self._newest not in self._pending:
            self._again.append(self._newest)
        self._wake("news")

    async def poll(self, *, offset: int | None, limit: int, timeout: float) -> list[Update] | None:
        """Wait for updates; `None` where the connection is to be cut."""
        if self.hook:
            raise Refused(HOOKED, status=409)
        self._confirm(offset)
        self._wake("older")
        self.polls += 1
        mine = self._waiting = asyncio.get_running_loop().create_future()
        await self._tell()
        if not self._pending and not self._again:
            await asyncio.wait({mine}, timeout=timeout)
        end = mine.result() if mine.done() else "news"
        if self._waiting is mine:
            self._waiting = None
        if end == "older":
            raise Refused(OLDER, status=409)
        if end == "cut":
            return None
        found, self._again = [*self._again, *self._pending][:limit], []
        return found

    def _confirm(self, offset: int | None) -> None:
        if offset is None:
            return
        left = [update for update in self._pending if update["update_id"] >= offset]
        self.confirmed += len(self._pending) - len(left)
        self._pending = left

    def _wake(self, cause: str) -> None:
        self._news.set()
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(cause)

    def cut(self) -> None:
        """Cut the poll that waits."""
        self._wake("cut")

    # --- the webhook

    def set_hook(self, hook: dict[str, Any]) -> None:
        """Deliver to a URL from now on; an empty one is polling again."""
        self.hook = hook if hook.get("url") else {}
        self._news.set()

    def info(self) -> dict[str, Any]:
        """The answer of getWebhookInfo."""
        found = {"url": "", "has_custom_certificate": False, "pending_update_count": len(self._pending)}
        return {**found, **{name: value for name, value in self.hook.items() if name != "secret_token"}}

    def resume(self) -> None:
        """Begin to deliver."""
        self._worker = asyncio.create_task(self._deliver(), name="telegram simulator delivers")

    async def halt(self) -> None:
        """Deliver no more."""
        if self._worker is not None:
            self._worker.cancel()
            await asyncio.wait({self._worker})
            self._worker = None

    async def _deliver(self) -> None:
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=5)) as session:
            while True:
                while not self.hook or not (self._again or self._pending):
                    self._news.clear()
                    await self._news.wait()
                update = (self._again or self._pending)[0]
                if await self._try(session, update):
                    (self._again if self._again else self._pending).remove(update)
                    self.confirmed += 1
                    await self._tell()
                else:
                    await asyncio.sleep(self._retry_seconds)

    async def _try(self, session: aiohttp.ClientSession, update: Update) -> bool:
        headers = {"X-Telegram-Bot-Api-Secret-Token": str(self.hook.get("secret_token", ""))}
        try:
            async with session.post(self.hook["url"], json=update, headers=headers) as response:
                if response.status < 300:
                    return True
                cause = f"Wrong response from the webhook: {response.status} {response.reason}"
        except (aiohttp.ClientError, TimeoutError):
            cause = "Connection refused"
        self.hook["last_error_message"] = cause
        return False
