"""Feishu's errors, as ours."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final, Literal, TypeAlias

import aiohttp
import msgspec

from bot.errors import ChannelError, MarkupRefused, MessageGone, OutcomeUnknown, RateLimited

Scope: TypeAlias = Literal["message", "chat", "account"]

DEFAULT_WAIT: Final = (
    1.0  # seconds, where a refusal does not say when to come again; most rates are a second's
)
RESET: Final = "x-ogw-ratelimit-reset"

# Sources: open.feishu.cn, the error tables of im-v1 message (create, reply, patch, delete), reactions,
# images, files and resources, cardkit-v1 (card, card-element), and "Generic error codes".
STALE_TOKEN: Final = frozenset({99991661, 99991663, 99991664, 99991668, 99991671, 99991677})
METHOD_LIMITED: Final = frozenset({99991400})
LIMITED: Final = frozenset({11232, 11233, 11247, 230020, 231006})
BUSY: Final = frozenset({200810})  # somebody presses a button of the card at this moment
UNDER_WAY: Final = frozenset({230049})  # a message with the same uuid is just being sent
GONE: Final = frozenset(
    {200740, 200750, 230011, 230031, 230050, 230071, 230072, 230110, 231003, 300305, 300311}
)
MARKUP: Final = frozenset({200220, 200621, 200860, 230025, 230099, 300303, 300307, 300314})
BEHIND: Final = frozenset({300317})
CLOSED_STREAM: Final = frozenset({300309, 300313, 300315})
PERMANENT: Final = frozenset(
    {
        9499,
        10003,
        10012,
        10014,
        10015,
        99991401,
        99991672,
        99991679,
        230001,
        230002,
        230006,
        230013,
        230015,
        230017,
        230018,
        230019,
        230022,
        230026,
        230027,
        230028,
        230029,
        230034,
        230035,
        230038,
        230053,
        230054,
        230055,
        231001,
        232009,
        234001,
        234003,
        234004,
        234006,
        234008,
        234010,
        234011,
        234019,
        234037,
        234038,
        234041,
        234042,
        1000040344,
        1000040345,
        1000040346,
    }
)


class StaleToken(ChannelError):
    """The access token is not valid any more; nothing was done."""


class OutOfOrder(ChannelError):
    """The number of an operation on a card is not above the one before; nothing was done."""


class StreamClosed(ChannelError):
    """A card takes no growing text: its ten minutes are over, or it was given its last look."""


@contextmanager
def feishu_errors(method: str) -> Iterator[None]:
    """Turn the errors of the HTTP client into ours; every call to Feishu stands inside this.

    Args:
        method: What is called, for the message; without ids.
    """
    try:
        yield
    except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
        raise ChannelError(f"feishu {method}: can't be reached ({type(error).__name__})") from error
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise OutcomeUnknown(f"feishu {method}: no answer ({type(error).__name__})") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise OutcomeUnknown(f"feishu {method}: an answer that makes no sense ({error})") from error


def refusal(code: int, said: str, *, method: str, headers: Mapping[str, str], scope: Scope) -> ChannelError:
    """Sort Feishu's code of a refusal by what can be done about it.

    Args:
        scope: What shares the budget of this call, where its own rate is exceeded.
    """
    message = f"feishu {method}: {said} ({code})"
    if code in METHOD_LIMITED:
        own: Scope = scope if scope == "message" else "account"
        return RateLimited(message, retry_after=wait_of(headers), scope=own)
    if code in LIMITED:
        return RateLimited(message, retry_after=wait_of(headers), scope=scope)
    if code in BUSY:
        return RateLimited(message, retry_after=DEFAULT_WAIT, scope="message")
    for codes, kind in (
        (STALE_TOKEN, StaleToken),
        (GONE, MessageGone),
        (MARKUP, MarkupRefused),
        (CLOSED_STREAM, StreamClosed),
        (BEHIND, OutOfOrder),
        (UNDER_WAY, OutcomeUnknown),
    ):
        if code in codes:
            return kind(message)
    return ChannelError(message, permanent=code in PERMANENT)


def no_envelope(status: int, *, method: str, headers: Mapping[str, str]) -> ChannelError:
    """Tell what an answer without a code means: a front end's page, which may hide a success."""
    message = f"feishu {method}: status {status} without an answer"
    if status == 429:
        return RateLimited(message, retry_after=wait_of(headers), scope="account")
    return OutcomeUnknown(message) if status >= 500 or status < 400 else ChannelError(message)


def wait_of(headers: Mapping[str, str]) -> float:
    """The seconds that the platform asks to wait."""
    try:
        return float(headers.get(RESET, DEFAULT_WAIT))
    except ValueError:
        return DEFAULT_WAIT
