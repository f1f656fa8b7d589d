"""Long polling: updates are asked for, and confirmed by asking for the next ones."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final

from bot.errors import ChannelError, StoreError
from channels.telegram.client import Client
from channels.telegram.errors import telegram_errors

POLL_SECONDS: Final = 25  # that Telegram waits for something to happen
PATIENCE: Final = 120.0  # seconds without an answer, or in taking what it held, after which polling is stuck


class Poller:
    """Asks for updates from the first one that is not durable yet.

    Args:
        take: Takes an update; may raise `StoreError`.
        note: Told whenever Telegram has answered.
    """

    def __init__(
        self,
        client: Client,
        *,
        take: Callable[[object], Awaitable[None]],
        note: Callable[[], None],
        poll_seconds: int = POLL_SECONDS,
        patience: float = PATIENCE,
    ) -> None:
        self._client = client
        self._take = take
        self._note = note
        self._poll_seconds = poll_seconds
        self._patience = patience
        self._offset: int | None = None

    async def hear(self) -> None:
        """Poll until cancelled.

        Raises:
            ChannelError: Telegram can't be heard, or what it says can't be kept.
        """
        with telegram_errors("deleteWebhook"):
            await self._client.bot.delete_webhook()
        self._note()
        while True:
            try:
                async with asyncio.timeout(self._patience):
                    await self._round()
            except TimeoutError as error:
                raise ChannelError(f"telegram: no progress for {self._patience:.0f} seconds") from error
            except StoreError as error:
                raise ChannelError(f"telegram: what was said can't be kept ({error})") from error

    async def _round(self) -> None:
        updates = await self._client.updates(self._offset, seconds=self._poll_seconds)
        self._note()
        for update in updates:
            await self._take(update)
            self._offset = _number(update) + 1


def _number(update: dict[str, Any]) -> int:
    number = update.get("update_id")
    if not isinstance(number, int):
        raise ChannelError("telegram: an update without a number")
    return number
