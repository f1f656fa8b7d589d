"""Requests that Feishu sends where no socket is used: checked, decrypted, confirmed once they are durable."""

import asyncio
import base64
import hashlib
import hmac
import logging
import re
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec
from Crypto.Cipher import AES
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from bot.errors import StoreError
from channels.feishu.wire import Wire

log = logging.getLogger(__name__)

MAX_BODY: Final = 2**20
SIGNATURE: Final = "x-lark-signature"
STAMP: Final = re.compile(r"[0-9]{1,12}")
ANSWER_SECONDS: Final = 2.7  # Feishu waits 3
# What was not confirmed comes again for up to 7 h 5 min, and nothing says that it is then signed anew.
# Source: open.feishu.cn, "Event overview": again after 15 s, 5 min, 1 h and 6 h.
REPLAY_SECONDS: Final = 8 * 3_600
CLOCK_SECONDS: Final = 300  # that Feishu's clock may be ahead of ours
MAX_TAKEN: Final = 10_000  # signatures that are remembered


class Hook(Wire, frozen=True, kw_only=True):
    """What a request may hold: an encrypted body; a challenge; or an event, whose token is in its header."""

    encrypt: str | None = None
    type: str = ""
    challenge: str = ""
    token: str = ""
    header: "HookHeader | None" = None


class HookHeader(Wire, frozen=True, kw_only=True):
    token: str = ""


class NotTheirs(Exception):  # a request, not a failure
    """A request that Feishu has not sent."""


class Gate:
    """Lets in what Feishu has sent.

    Args:
        token: What Feishu puts into every request.
        encrypt_key: Where there is one, everything comes encrypted, and all but challenges signed.
        clock: Seconds since 1970.
    """

    def __init__(
        self, *, token: str, encrypt_key: str | None, clock: Callable[[], float] = time.time
    ) -> None:
        self._token = token
        self._encrypt_key = encrypt_key
        self._clock = clock
        self._taken: OrderedDict[str, None] = OrderedDict()

    def open(self, body: bytes, headers: dict[str, str]) -> tuple[bytes, Hook]:
        """Give what a request says, decrypted.

        Raises:
            NotTheirs: It is not signed, not encrypted or not marked as it should be, or was signed long ago.
        """
        try:
            plain = self._decrypted(body)
            hook = msgspec.json.decode(plain, type=Hook)
        except (msgspec.DecodeError, UnicodeDecodeError, ValueError) as error:
            raise NotTheirs("it can't be read") from error
        if hook.type == "url_verification":
            self._check_token(hook.token)
            return plain, hook
        if self._encrypt_key is not None:
            self._check_signature(body, headers, self._encrypt_key)
        self._check_token(hook.header.token if hook.header is not None else hook.token)
        return plain, hook

    def _decrypted(self, body: bytes) -> bytes:
        """Decrypt a body, if there is a key: then nothing else is let in.

        Source: open.feishu.cn, "Configure Encrypt Key": AES-256-CBC under the SHA-256 of the key, the vector
        in the first 16 bytes, PKCS #7.
        """
        if self._encrypt_key is None:
            return body
        sealed = base64.b64decode(msgspec.json.decode(body, type=Hook).encrypt or "", validate=True)
        if len(sealed) < 32 or len(sealed) % 16:
            raise NotTheirs("it is not encrypted")
        key = hashlib.sha256(self._encrypt_key.encode()).digest()
        padded = AES.new(key, AES.MODE_CBC, sealed[:16]).decrypt(sealed[16:])
        length = padded[-1]
        if not 1 <= length <= 16 or padded[-length:] != bytes([length]) * length:
            raise NotTheirs("it is encrypted with another key")
        return padded[:-length]

    def was_taken(self, headers: dict[str, str]) -> bool:
        """Whether this very request was taken before: somebody has kept it, and sends it again."""
        return headers.get(SIGNATURE, "") in self._taken

    def note_taken(self, headers: dict[str, str]) -> None:
        """Remember a request that was taken; one that was not may come again."""
        if self._encrypt_key is None:
            return
        self._taken[headers.get(SIGNATURE, "")] = None
        if len(self._taken) > MAX_TAKEN:
            self._taken.popitem(last=False)

    def _check_signature(self, body: bytes, headers: dict[str, str], key: str) -> None:
        stamp = headers.get("x-lark-request-timestamp", "")
        begin = stamp + headers.get("x-lark-request-nonce", "") + key
        expected = hashlib.sha256(begin.encode() + body).hexdigest()
        if not hmac.compare_digest(expected.encode(), headers.get(SIGNATURE, "").encode()):
            raise NotTheirs("its signature is wrong")
        age = self._clock() - int(stamp) if STAMP.fullmatch(stamp) else REPLAY_SECONDS
        if not -CLOCK_SECONDS <= age < REPLAY_SECONDS:
            raise NotTheirs("it was signed long ago")

    def _check_token(self, token: str) -> None:
        if not hmac.compare_digest(self._token.encode(), token.encode()):
            raise NotTheirs("its token is wrong")


class Webhook:
    """Answers Feishu's requests.

    Args:
        hear: Takes an event; what it returns is the answer. While it can't, Feishu is told to come again.
    """

    def __init__(self, gate: Gate, hear: Callable[[bytes], Awaitable[object]]) -> None:
        self._gate = gate
        self._hear = hear

    async def answer(self, request: Request) -> Response:
        """Answer one request; where its errors stop."""
        body = await _body(request)
        if body is None:
            return JSONResponse({"msg": "too large"}, 413)
        try:
            plain, hook = self._gate.open(body, dict(request.headers))
        except NotTheirs as error:
            log.warning("request refused", extra={"cause": str(error)})
            return JSONResponse({"msg": "not let in"}, 401)
        if hook.type == "url_verification":
            return JSONResponse({"challenge": hook.challenge})
        headers = dict(request.headers)
        if self._gate.was_taken(headers):
            return JSONResponse({})
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                answer = await self._hear(plain)
            self._gate.note_taken(headers)
            return JSONResponse(answer or {})
        except (StoreError, TimeoutError) as error:
            log.error("event not taken", extra={"cause": str(error)})
        except Exception:
            log.exception("event not taken")
        return JSONResponse({"msg": "come again"}, 503)


async def _body(request: Request) -> bytes | None:
    """The body of a request; `None` where it is longer than any of Feishu's."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY:
            return None
    return bytes(body)
