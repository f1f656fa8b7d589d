"""HTTP mode: Slack posts events, presses and commands to one signed URL."""

import logging
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias
from urllib.parse import parse_qsl

import msgspec
from slack_sdk.signature import SignatureVerifier
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from bot.errors import ChannelError, StoreError
from channels.slack.wire import AnyCallback

log = logging.getLogger(__name__)

MAX_BODY: Final = 2**20
Take: TypeAlias = Callable[[str, object], Awaitable[None]]


class Hook:
    """Serves the URL; answers 200 when what came is durable.

    Source: docs.slack.dev, "Verifying requests from Slack": a signature over time stamp and body, which holds
    for five minutes; "Events API": what is not answered with 200 in 3 seconds comes again.
    """

    def __init__(self, account: str, secret: str, *, take: Take) -> None:
        self._verifier = SignatureVerifier(secret)
        self._take = take
        self.route = Route(f"/hooks/slack/{account}", self._serve, methods=["POST"])

    async def _serve(self, request: Request) -> Response:
        body = await _read(request)
        if body is None:
            return PlainTextResponse("too large", status_code=413)
        if not self._is_signed(body, request):
            return PlainTextResponse("signature is wrong", status_code=401)
        try:
            kind, payload = read_body(body, request.headers.get("content-type", ""))
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return PlainTextResponse("not understood", status_code=400)
        if isinstance(payload, dict) and payload.get("type") == "url_verification":
            return PlainTextResponse(msgspec.convert(payload, AnyCallback).challenge or "")
        try:
            await self._take(kind, payload)
        except (StoreError, ChannelError) as error:
            log.warning("event not taken", extra={"kind": kind, "cause": str(error)})
            return PlainTextResponse("try again", status_code=503)
        return Response()

    def _is_signed(self, body: bytes, request: Request) -> bool:
        try:
            return bool(self._verifier.is_valid_request(body, dict(request.headers)))
        except (ValueError, TypeError, OverflowError):  # a time stamp that is no time, a body that is no text
            return False


def read_body(body: bytes, content_type: str) -> tuple[str, object]:
    """Tell what was posted, in the words of Socket Mode, and its payload.

    Raises:
        msgspec.MsgspecError: It is no JSON where it should be.
    """
    if content_type.startswith("application/json"):
        return "events_api", msgspec.json.decode(body)
    fields = dict(parse_qsl(body.decode(), keep_blank_values=True))
    if "payload" in fields:
        return "interactive", msgspec.json.decode(fields["payload"])
    return ("slash_commands" if "command" in fields else "nothing"), fields


async def _read(request: Request) -> bytes | None:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY:
            return None
    return bytes(body)
