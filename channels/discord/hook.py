"""Interactions that Discord posts to a URL, signed, in place of telling them on the gateway."""

import logging
import re
import time
from collections.abc import Callable
from typing import Any, Final

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from bot.errors import ChannelError, ConfigError

log = logging.getLogger(__name__)

MAX_BODY: Final = 2**20
PING, PONG = 1, 1  # kinds of a request, and of its answer
STAMP: Final = re.compile(r"[0-9]{1,12}")
ACCEPTED: Final = 202  # the answer proper goes to the callback, as on the gateway
REPLAY_SECONDS: Final = 300  # an interaction that was not answered within 3 seconds is over


class Seal:
    """Tells what Discord has signed, and lately.

    Args:
        public_key: Of the application, as the developer portal shows it: 64 hexadecimal digits.
        clock: Seconds since 1970.

    Raises:
        ConfigError: The key can't be one.

    Source: Discord API reference, "Interactions", Validating Security Request Headers: Ed25519 over the time
    stamp and the body as they came.
    """

    def __init__(self, public_key: str, *, clock: Callable[[], float] = time.time) -> None:
        try:
            self._key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public_key))
        except ValueError as error:
            raise ConfigError("discord: BOT_DISCORD__PUBLIC_KEY has 64 hexadecimal digits") from error
        self._clock = clock

    def is_whole(self, body: bytes, *, stamp: str, signature: str) -> bool:
        """Whether a request is theirs, unchanged, and no older than some minutes."""
        if STAMP.fullmatch(stamp) is None or not signature.isascii():
            return False
        try:
            self._key.verify(bytes.fromhex(signature), stamp.encode() + body)
        except (InvalidSignature, ValueError):
            return False
        return abs(self._clock() - int(stamp)) <= REPLAY_SECONDS


class Hook:
    """Serves the URL.

    Args:
        take: Takes an interaction as JSON, as the gateway tells it.
    """

    def __init__(self, account: str, seal: Seal, *, take: Callable[[Any], None]) -> None:  # `Any`: the SDK's
        self._seal = seal
        self._take = take
        self.route = Route(f"/hooks/discord/{account}", self._serve, methods=["POST"])

    async def _serve(self, request: Request) -> Response:
        body = await _read(request)
        if body is None:
            return PlainTextResponse("too large", status_code=413)
        stamp = request.headers.get("x-signature-timestamp", "")
        if not self._seal.is_whole(
            body, stamp=stamp, signature=request.headers.get("x-signature-ed25519", "")
        ):
            return PlainTextResponse("signature is wrong", status_code=401)
        try:
            interaction = msgspec.json.decode(body, type=dict[str, Any])
        except (msgspec.DecodeError, UnicodeDecodeError):
            return PlainTextResponse("not understood", status_code=400)
        if interaction.get("type") == PING:
            return JSONResponse({"type": PONG})
        try:
            self._take(interaction)
        except ChannelError as error:
            log.warning("interaction not taken", extra={"channel": "discord", "cause": str(error)})
            return PlainTextResponse("try again", status_code=503)
        return Response(status_code=ACCEPTED)


async def _read(request: Request) -> bytes | None:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY:
            return None
    return bytes(body)
