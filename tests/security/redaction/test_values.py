"""The bot's own secrets: hidden by value, in every way in which they may be written."""

import json
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest

from bot.settings import Settings
from security.redaction import Policy, Redactor, secret_values
from tests.security.redaction.samples import CONFIGURED, KEY, redactor

WRITTEN: dict[str, Callable[[str], str]] = {
    "plain": str,
    "in an address": lambda value: quote(value, safe=""),
    "in a form": quote_plus,
    "in an address, small": lambda value: quote(value, safe="").replace("%2F", "%2f").replace("%2B", "%2b"),
    "in JSON": lambda value: json.dumps(value)[1:-1],
    "in JSON in JSON": lambda value: json.dumps(json.dumps(value)[1:-1])[1:-1],
    "in JSON with slashes": lambda value: json.dumps(value)[1:-1].replace("/", "\\/"),
}


@pytest.mark.parametrize("way", [way for way in WRITTEN if way != "in an address, small"])
@pytest.mark.parametrize("value", CONFIGURED)
@pytest.mark.parametrize("size", [1, 5, 1_000])
def test_a_configured_secret_is_hidden_however_it_is_written(value: str, way: str, size: int) -> None:
    stream = redactor(*CONFIGURED).open()
    text = f"look: {WRITTEN[way](value)} there"
    shown = "".join(stream.feed(text[place : place + size]) for place in range(0, len(text), size))

    assert shown + stream.flush() == "look: [REDACTED-SECRET] there"


def test_a_configured_secret_is_hidden_where_all_else_is_off() -> None:
    off = Redactor(Policy({}, key=KEY), ["hunter2-hunter2"])

    assert (
        off.redact("it is hunter2-hunter2, mail a@b.example") == "it is [REDACTED-SECRET], mail a@b.example"
    )


def test_a_configured_secret_that_breaks_off_is_hidden_too() -> None:
    assert (
        redactor("hunter2-hunter2-hunter2").redact("it is hunter2-hunter2-hun") == "it is [REDACTED-SECRET]"
    )


def test_a_short_value_is_left_alone() -> None:
    assert redactor("admin").redact("ask the admin") == "ask the admin"


def test_of_two_values_the_longer_one_is_hidden() -> None:
    guard = redactor("first-part", "first-part-and-more")

    assert guard.redact("first-part-and-more, first-part-and") == "[REDACTED-SECRET], [REDACTED-SECRET]-and"


def test_every_secret_of_the_settings_is_known() -> None:
    settings = Settings.model_validate(
        {
            "openai": {"api_key": "key-of-openai"},
            "telegram": {"token": "token-one", "accounts": {"two": {"token": "token-two"}}},
        }
    )

    assert {"key-of-openai", "token-one", "token-two"} <= set(secret_values(settings))
