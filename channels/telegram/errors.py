"""Telegram's errors, as ours."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Final

import httpx
from telegram.error import (
    BadRequest,
    ChatMigrated,
    Conflict,
    EndPointNotFound,
    Forbidden,
    InvalidToken,
    NetworkError,
    RetryAfter,
    TelegramError,
    TimedOut,
)

from bot.errors import ChannelError, MarkupRefused, MessageGone, OutcomeUnknown, RateLimited

# Telegram has no codes for these; the texts are those of its server (tdlib/telegram-bot-api), in lower case.
MARKUP: Final = ("entities", "entity")  # cannot be parsed, has an incorrect offset, begins in a symbol
GONE: Final = (
    "message to edit not found",
    "message to delete not found",
    "message to react not found",
    "message can't be edited",
    "message can't be deleted",
    "message_id_invalid",
    "message_edit_time_expired",
)
UNCHANGED: Final = "message is not modified"
MAY_PASS: Final = ("temporarily", "try again")
NEVER_SENT: Final = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol)
LONGEST: Final = 200  # characters of Telegram's words in ours; a front end's page may be long


class Unchanged(ChannelError):
    """A message looks already as it was to look."""


class ChatMoved(ChannelError):
    """A group has become a supergroup.

    Attributes:
        chat: The new id.
    """

    def __init__(self, message: str, *, chat: int) -> None:
        super().__init__(message, permanent=True)
        self.chat = chat


@contextmanager
def telegram_errors(method: str) -> Iterator[None]:
    """Turn the SDK's errors into ours; every call to Telegram stands inside this."""
    try:
        yield
    except TelegramError as error:
        raise translate(error, method) from error


def translate(error: TelegramError, method: str) -> ChannelError:
    """Name what an error of the SDK means for whoever called `method`.

    The SDK's words about a token hold the token: they are never passed on.
    """
    match error:
        case RetryAfter():
            return RateLimited(f"telegram {method}: asked too often", retry_after=_seconds(error))
        case ChatMigrated():
            return ChatMoved(
                f"telegram {method}: the group is a supergroup now, {error.new_chat_id}",
                chat=error.new_chat_id,
            )
        case InvalidToken():
            return ChannelError("telegram: the token was refused", permanent=True)
        case EndPointNotFound():
            return ChannelError(f"telegram {method}: there is no such method", permanent=True)
        case Forbidden():
            return ChannelError(_told(error, method), permanent=True)
        case Conflict():
            return _conflict(error, method)
        case BadRequest():
            return _refusal(error, method)
        case NetworkError():
            return _network(error, method)
        case _:
            return OutcomeUnknown(_told(error, method))


def _refusal(error: BadRequest, method: str) -> ChannelError:
    """Sort the answers with status 400; the same call would get the same answer again."""
    text, told = error.message.lower(), _told(error, method)
    if UNCHANGED in text:
        return Unchanged(told)
    if any(part in text for part in MARKUP):
        return MarkupRefused(told)
    if any(part in text for part in GONE):
        return MessageGone(told)
    return ChannelError(told, permanent=not any(part in text for part in MAY_PASS))


def _conflict(error: Conflict, method: str) -> ChannelError:
    if "webhook" in error.message.lower():
        return ChannelError(f"telegram {method}: a webhook is set for this token")
    return ChannelError(f"telegram {method}: another process polls with the same token")


def _network(error: NetworkError, method: str) -> ChannelError:
    """Tell calls that never went out from those whose answer is missing."""
    cause = error.__cause__
    if "too many requests" in error.message.lower():
        return RateLimited(f"telegram {method}: asked too often", retry_after=1.0)
    if "too large" in error.message.lower():
        return ChannelError(_told(error, method), permanent=True)
    if isinstance(cause, NEVER_SENT):
        return ChannelError(f"telegram {method}: can't be reached ({type(cause).__name__})")
    if isinstance(error, TimedOut):
        return OutcomeUnknown(f"telegram {method}: no answer in time")
    return OutcomeUnknown(_told(error, method))


def _seconds(error: RetryAfter) -> float:
    wait = error.retry_after
    return wait.total_seconds() if isinstance(wait, timedelta) else float(wait)


def _told(error: TelegramError, method: str) -> str:
    return f"telegram {method}: {error.message[:LONGEST]}"
