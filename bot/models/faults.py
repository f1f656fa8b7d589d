"""What a server's refusals mean: errors of ours, in words that say what to do."""

from collections.abc import Mapping

import msgspec

from bot.errors import ContextOverflow, ModelError, ModelUnavailable
from bot.messages import utc_now
from bot.models.backoff import parse_retry_after
from bot.models.wire import ErrorBody, ErrorLike, decode_error

PASSING = frozenset({408, 409, 425, 429})
MAX_WORDS = 200  # characters of the server's own words in a message of ours
OVERFLOWS = (
    "context_length_exceeded",
    "exceed_context_size",
    "maximum context length",
    "exceeds the context",
    "exceeds the available context",
    "context window",
    "prompt is too long",
    "input is too long",
    "too many tokens",
)
ADVICE = {
    401: "The model server refuses the key: check BOT_OPENAI__API_KEY.",
    402: "The model server wants to be paid: check the account's balance.",
    403: "The model server refuses access: check BOT_OPENAI__API_KEY and what it is allowed.",
    404: "The model server does not know this model or address: check BOT_MODEL and BOT_OPENAI__BASE_URL.",
}
QUOTA = "The account at the model server is used up: check its plan and billing."
NO_ROOM = "The conversation is longer than the model's context window."


def http_fault(status: int, headers: Mapping[str, str], body: bytes, *, secret: str | None) -> ModelError:
    """The error for an HTTP answer that is not a success.

    Args:
        body: As much of it as was read.
        secret: The key, which the server may quote and we may not.
    """
    text = body.decode(errors="replace")
    if status not in ADVICE and status != 429 and _is_overflow(text):
        return ContextOverflow(NO_ROOM, status=status)
    if status == 429 and "insufficient_quota" in text:
        return ModelError(QUOTA, status=status)
    if status in PASSING or status >= 500:
        wait = parse_retry_after(headers, utc_now())
        busy = "is busy" if status == 429 else "has a problem"
        return ModelUnavailable(f"The model server {busy} (HTTP {status}).", status=status, retry_after=wait)
    if status in ADVICE:
        return ModelError(ADVICE[status], status=status)
    if 300 <= status < 400:
        return ModelError("The model server has moved: check BOT_OPENAI__BASE_URL.", status=status)
    words = _words(body.replace(secret.encode(), "…".encode()) if secret else body)
    return ModelError(f"The model server refuses the request (HTTP {status}): {words}", status=status)


def stream_fault(error: ErrorLike) -> ModelError:
    """The error for an `error` object inside an answer that began well."""
    body = ErrorBody(message=error) if isinstance(error, str) else error
    text = f"{body.code} {body.type} {body.message}"
    if _is_overflow(text):
        return ContextOverflow(NO_ROOM)
    if "insufficient_quota" in text:
        return ModelError(QUOTA)
    status = _status(body.code)
    if status is not None and status not in PASSING and 400 <= status < 500:
        return ModelError(ADVICE.get(status, f"The model server gave up (code {status})."), status=status)
    return ModelUnavailable("The model server gave up in the middle of the answer.", status=status)


def _status(code: str | int | None) -> int | None:
    if isinstance(code, str):
        return int(code) if code.isdecimal() and len(code) == 3 else None
    return code


def _is_overflow(text: str) -> bool:
    lower = text.lower()
    return any(mark in lower for mark in OVERFLOWS)


def _words(body: bytes) -> str:
    """What the server says, short, on one line; nothing of a web page."""
    try:
        answer = decode_error(body)
    except msgspec.DecodeError:
        text = body.decode(errors="replace")
        return "no reason given" if text.lstrip().startswith("<") else _short(text)
    error = answer.error.message if isinstance(answer.error, ErrorBody) else answer.error
    return _short(error or answer.message or answer.detail or body.decode(errors="replace"))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_WORDS else line[: MAX_WORDS - 1] + "…"
