"""Webhook mode: Telegram posts each update to one URL, with a secret in a header."""

import asyncio
import hmac
import logging
from collections.abc import Awaitable, Callable
from hashlib import sha256
from typing import Final

import msgspec
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from bot.errors import ChannelError, StoreError
from channels.telegram.client import Client
from channels.telegram.errors import telegram_errors
from channels.telegram.wire import ALLOWED_UPDATES

log = logging.getLogger(__name__)

MAX_BODY: Final = 2**20
CHECK_SECONDS: Final = 60.0  # how often Telegram is asked whether it still knows our URL
HEADER: Final = "X-Telegram-Bot-Api-Secret-Token"


class Hook:
    """Serves the URL; answers 200 when what came is durable, as Telegram repeats what is answered otherwise.

    Source: Bot API, setWebhook: the secret has 1-256 characters of `A-Z`, `a-z`, `0-9`, `_` and `-`.
    """

    def __init__(
        self,
        client: Client,
        *,
        account: str,
        secret: str,
        public_url: str | None,
        take: Callable[[object], Awaitable[None]],
        note: Callable[[], None],
        check_seconds: float = CHECK_SECONDS,
    ) -> None:
        self._client = client
        self._secret = secret
        self._path = f"/hooks/telegram/{account}"
        self._public_url = public_url
        self._take = take
        self._note = note
        self._check_seconds = check_seconds
        self._is_set = False  # by this process, and so with our secret
        self.route = Route(self._path, self._serve, methods=["POST"])

    async def hear(self) -> None:
        """Keep our URL set until cancelled; the updates come to `route`.

        Raises:
            ChannelError: Telegram can't be reached, or we can't: `BOT_PUBLIC_URL` is not set (permanent).
        """
        if self._public_url is None:
            raise ChannelError("telegram: mode webhook needs BOT_PUBLIC_URL", permanent=True)
        url = self._public_url.rstrip("/") + self._path
        while True:
            await self._keep_set(url)
            self._note()
            await asyncio.sleep(self._check_seconds)

    async def _keep_set(self, url: str) -> None:
        with telegram_errors("getWebhookInfo"):
            info = await self._client.bot.get_webhook_info()
        if info.last_error_message and info.pending_update_count:
            log.warning(
                "telegram can't deliver",
                extra={"cause": info.last_error_message, "waiting": info.pending_update_count},
            )
        if info.url == url and set(info.allowed_updates or ()) == set(ALLOWED_UPDATES) and self._is_set:
            return
        with telegram_errors("setWebhook"):
            await self._client.bot.set_webhook(
                url, allowed_updates=ALLOWED_UPDATES, secret_token=self._secret
            )
        self._is_set = True

    async def _serve(self, request: Request) -> Response:
        given = request.headers.get(HEADER, "")
        if not hmac.compare_digest(given.encode(), self._secret.encode()):
            return PlainTextResponse("secret is wrong", status_code=401)
        body = await _read(request)
        if body is None:
            return PlainTextResponse("too large", status_code=413)
        try:
            await self._take(msgspec.json.decode(body))
        except msgspec.DecodeError:
            return PlainTextResponse("not understood", status_code=400)
        except (StoreError, ChannelError) as error:
            log.warning("update not taken", extra={"channel": "telegram", "cause": str(error)})
            return PlainTextResponse("try again", status_code=503)
        self._note()
        return Response()


def secret_of(token: str) -> str:
    """What Telegram is to send along where the settings name nothing; does not tell the token."""
    return sha256(f"webhook of {token}".encode()).hexdigest()


async def _read(request: Request) -> bytes | None:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY:
            return None
    return bytes(body)
