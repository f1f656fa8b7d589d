"""Slack's errors, as ours."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import aiohttp
import msgspec
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.errors import ChannelError, MarkupRefused, MessageGone, OutcomeUnknown, RateLimited

DEFAULT_WAIT: Final = 30.0  # seconds, where a refusal does not say when to come again
LIMITED: Final = frozenset({"ratelimited", "rate_limited", "message_limit_exceeded"})
UNKNOWN: Final = frozenset({"internal_error", "fatal_error", "request_timeout"})  # "may have succeeded"
MARKUP: Final = frozenset({"invalid_blocks", "invalid_blocks_format", "markdown_text_conflict"})
GONE: Final = frozenset({"message_not_found", "cant_update_message", "edit_window_closed"})
PERMANENT: Final = frozenset(
    {
        "access_denied",
        "account_inactive",
        "as_user_not_supported",
        "bad_timestamp",
        "cannot_reply_to_message",
        "channel_is_archived",
        "channel_not_found",
        "channel_type_not_supported",
        "file_deleted",
        "file_not_found",
        "invalid_arguments",
        "invalid_auth",
        "invalid_name",
        "is_archived",
        "missing_recipient_team_id",
        "missing_recipient_user_id",
        "missing_scope",
        "msg_blocks_too_long",
        "msg_too_long",
        "no_permission",
        "no_text",
        "not_allowed_token_type",
        "not_authed",
        "not_in_channel",
        "org_login_required",
        "restricted_action",
        "team_access_not_granted",
        "thread_not_found",
        "token_expired",
        "token_revoked",
        "too_many_reactions",
        "unknown_method",
        "user_not_found",
        "user_not_in_channel",
    }
)


class Refused(ChannelError):
    """Slack said no, for a reason that some callers take for an answer.

    Attributes:
        code: Slack's word for it.
    """

    def __init__(self, message: str, *, code: str, permanent: bool = False) -> None:
        super().__init__(message, permanent=permanent)
        self.code = code


class StreamOpen(ChannelError):
    """A message can't be changed before its stream is stopped."""


class StreamOver(ChannelError):
    """A stream takes no more: it was stopped, by us or a person, or is older than five minutes."""


@contextmanager
def slack_errors(method: str) -> Iterator[None]:
    """Turn the errors of the SDK and its HTTP client into ours; every call to Slack stands inside this.

    Args:
        method: Slack's name of what is called, for the message.
    """
    try:
        yield
    except SlackApiError as error:
        raise translate(error, method) from error
    except SlackClientError as error:  # the SDK found the request wrong, and sent nothing
        raise ChannelError(f"slack {method}: {type(error).__name__}", permanent=True) from error
    except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
        raise ChannelError(f"slack {method}: can't be reached ({type(error).__name__})") from error
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise OutcomeUnknown(f"slack {method}: no answer ({type(error).__name__})") from error
    except msgspec.ValidationError as error:
        raise OutcomeUnknown(f"slack {method}: an answer that makes no sense ({error})") from error


def translate(error: SlackApiError, method: str) -> ChannelError:
    """Name what Slack's answer means; an answer that is none (a front end's page) may hide a success."""
    response = error.response
    if not isinstance(response, AsyncSlackResponse):
        return OutcomeUnknown(f"slack {method}: status {getattr(response, 'status', 0)} without an answer")
    data = response.data if isinstance(response.data, dict) else {}
    code = str(data.get("error", ""))
    if response.status_code == 429 or code in LIMITED:
        return RateLimited(
            f"slack {method}: asked too often",
            retry_after=_wait(response),
            scope="chat" if method == "chat.postMessage" else "account",
        )
    if response.status_code >= 500 or not code:
        return OutcomeUnknown(f"slack {method}: status {response.status_code}")
    return refusal(code, f"slack {method}: {code}")


def refusal(code: str, message: str) -> ChannelError:
    """Sort Slack's words for "no" by what can be done about them."""
    if code in UNKNOWN:
        return OutcomeUnknown(message)
    if code in MARKUP:
        return MarkupRefused(message)
    if code in GONE:
        return MessageGone(message)
    if code == "streaming_state_conflict":
        return StreamOpen(message)
    if code in ("message_not_in_streaming_state", "stopped_by_user"):
        return StreamOver(message)
    return Refused(message, code=code, permanent=code in PERMANENT)


def _wait(response: AsyncSlackResponse) -> float:
    headers = {str(name).lower(): value for name, value in response.headers.items()}
    try:
        return float(headers.get("retry-after", DEFAULT_WAIT))
    except ValueError:
        return DEFAULT_WAIT
