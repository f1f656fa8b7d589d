"""Every error of the SDK has a counterpart of ours."""

from collections.abc import Iterator
from datetime import timedelta

import httpx
import pytest
from telegram import error as sdk

from bot.errors import ChannelError, MarkupRefused, MessageGone, OutcomeUnknown, RateLimited
from channels.telegram.errors import ChatMoved, Unchanged, telegram_errors, translate

ARGUMENTS: dict[str, object] = {"RetryAfter": timedelta(seconds=7), "ChatMigrated": -100_500}


def walk(kind: type[sdk.TelegramError]) -> Iterator[type[sdk.TelegramError]]:
    yield kind
    for child in kind.__subclasses__():
        yield from walk(child)


@pytest.fixture(autouse=True)
def durations(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the client has it: the SDK gives durations as such, and does not warn."""
    monkeypatch.setenv("PTB_TIMEDELTA", "true")


@pytest.mark.parametrize("kind", list(walk(sdk.TelegramError)))
def test_an_error_of_the_sdk_becomes_one_of_ours(kind: type[sdk.TelegramError]) -> None:
    error = kind(ARGUMENTS.get(kind.__name__, "7:token was refused"))  # type: ignore[arg-type]

    with pytest.raises(ChannelError) as caught, telegram_errors("sendMessage"):
        raise error

    assert caught.value.__cause__ is error
    if kind is sdk.InvalidToken:
        assert "7:token" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "kind", "permanent"),
    [
        ("Bad Request: message is not modified: specified new message content", Unchanged, False),
        ("Bad Request: message to edit not found", MessageGone, False),
        ("Bad Request: message can't be edited", MessageGone, False),
        ("Bad Request: MESSAGE_ID_INVALID", MessageGone, False),
        ("Bad Request: can't parse entities: unexpected end tag", MarkupRefused, False),
        ("Bad Request: ENTITY_BOUNDS_INVALID", MarkupRefused, False),
        ("Bad Request: entity beginning at UTF-16 offset 0 ends after the end", MarkupRefused, False),
        ("Bad Request: chat not found", ChannelError, True),
        ("Bad Request: message thread not found", ChannelError, True),
        ("Bad Request: not enough rights to send text messages to the chat", ChannelError, True),
        ("Bad Request: wrong file_id or the file is temporarily unavailable", ChannelError, False),
    ],
)
def test_refusals_are_sorted_by_their_words(text: str, kind: type[ChannelError], permanent: bool) -> None:
    error = translate(sdk.BadRequest(text), "sendMessage")

    assert type(error) is kind
    assert error.permanent is permanent


@pytest.mark.parametrize(
    ("cause", "kind"),
    [
        (httpx.ConnectError("refused"), ChannelError),
        (httpx.ConnectTimeout("late"), ChannelError),
        (httpx.PoolTimeout("full"), ChannelError),
        (httpx.ReadTimeout("late"), OutcomeUnknown),
        (httpx.ReadError("cut"), OutcomeUnknown),
        (httpx.WriteError("cut"), OutcomeUnknown),
        (httpx.RemoteProtocolError("cut"), OutcomeUnknown),
    ],
)
def test_what_never_went_out_is_told_from_what_has_no_answer(
    cause: Exception, kind: type[ChannelError]
) -> None:
    error = sdk.TimedOut() if isinstance(cause, httpx.TimeoutException) else sdk.NetworkError("broken")
    error.__cause__ = cause

    assert type(translate(error, "sendMessage")) is kind


def test_what_an_error_knows_is_kept() -> None:
    waiting = translate(sdk.RetryAfter(timedelta(seconds=7.5)), "sendMessage")
    moved = translate(sdk.ChatMigrated(-100_500), "sendMessage")
    large = translate(sdk.NetworkError("Request Entity Too Large"), "sendDocument")

    assert isinstance(waiting, RateLimited)
    assert waiting.retry_after == 7.5
    assert isinstance(moved, ChatMoved)
    assert moved.chat == -100_500
    assert large.permanent
