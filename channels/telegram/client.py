"""The SDK's bot, with patience of our own and without its talk about tokens and texts."""

import logging
import os
from typing import Any, Final

from telegram import Bot
from telegram.request import HTTPXRequest

from bot.errors import ChannelError
from channels.telegram.errors import telegram_errors
from channels.telegram.text import Me
from channels.telegram.wire import ALLOWED_UPDATES

ANSWER_SECONDS: Final = 20.0
UPLOAD_SECONDS: Final = 60.0
CONNECT_SECONDS: Final = 5.0
POLL_MARGIN: Final = 10.0  # seconds beyond those that Telegram was asked to wait


class Client:
    """Speaks to the Bot API for one token.

    Attributes:
        bot: The SDK's; every call stands inside `telegram_errors`.
        file_root: Where files are, with the token in it.
    """

    def __init__(self, token: str, base_url: str) -> None:
        # The SDK wants to be told that we take durations as such; else each refusal for haste is a warning.
        os.environ.setdefault("PTB_TIMEDELTA", "true")
        self._discretion = _Discretion(token)
        logging.getLogger("httpx").addFilter(self._discretion)
        logging.getLogger("telegram.Bot").setLevel(logging.INFO)  # below are the token and all texts
        logging.getLogger("telegram.request.BaseRequest").setLevel(logging.CRITICAL)  # pages of front ends
        root = base_url.rstrip("/")
        self._requests = (_request(), _request())
        self.file_root = f"{root}/file/bot{token}"
        self.bot = Bot(
            token,
            base_url=f"{root}/bot",
            base_file_url=f"{root}/file/bot",
            get_updates_request=self._requests[0],
            request=self._requests[1],
        )

    async def me(self) -> Me:
        """Who we are."""
        with telegram_errors("getMe"):
            user = await self.bot.get_me()
        return Me(id=user.id, username=user.username or "")

    async def updates(self, offset: int | None, *, seconds: int) -> list[dict[str, Any]]:
        """Wait for updates from `offset` on, which confirms all before it; as they are on the wire.

        The SDK's own method reads all of an answer or nothing, so one odd update would end the hearing. Names
        of methods are case-insensitive, and in lower case the SDK doesn't take it for its own.
        """
        arguments = {"offset": offset, "timeout": seconds, "allowed_updates": list(ALLOWED_UPDATES)}
        with telegram_errors("getUpdates"):
            found = await self.bot.do_api_request(
                "getupdates",
                {name: value for name, value in arguments.items() if value is not None},
                read_timeout=seconds + POLL_MARGIN,
            )
        if not isinstance(found, list):
            raise ChannelError("telegram getUpdates: the answer is no list")
        return found

    async def aclose(self) -> None:
        """Close the connections."""
        logging.getLogger("httpx").removeFilter(self._discretion)
        for request in self._requests:
            await request.shutdown()


class _Discretion(logging.Filter):
    """Drops what would put a token into a log: the URL of every call holds it."""

    def __init__(self, token: str) -> None:
        super().__init__()
        self._token = token

    def filter(self, record: logging.LogRecord) -> bool:
        return self._token not in record.getMessage()


def _request() -> HTTPXRequest:
    return HTTPXRequest(
        read_timeout=ANSWER_SECONDS,
        write_timeout=ANSWER_SECONDS,
        connect_timeout=CONNECT_SECONDS,
        pool_timeout=CONNECT_SECONDS,
        media_write_timeout=UPLOAD_SECONDS,
    )
