"""What is hidden and what is left alone, kind by kind."""

import pytest

from security.redaction import Policy, Redactor
from security.redaction.formats import FORMATS
from tests.security.redaction.samples import ASSIGNED, CLEAN, KEY, PERSONAL, SECRETS, redactor

ALL = redactor()
ONLY_SECRETS = Redactor(Policy({"secrets": "mask"}, key=KEY))
PLACES = (
    "{}",
    "TOKEN={}",
    "密钥是{}，",
    '{{"k": "{}"}}',
    "in `{}` here",
    "a\\n{}\\nb",
    "https://x.example/?k={}&z=1",
)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", SECRETS)
@pytest.mark.parametrize("guard", [ALL, ONLY_SECRETS], ids=["all kinds", "secrets"])
def test_a_secret_is_hidden_whole_wherever_it_stands(guard: Redactor, kind: str, place: str) -> None:
    value = SECRETS[kind]

    shown = guard.inspect(place.format(value))

    assert shown.text == place.format(f"[REDACTED-{kind.upper().replace('_', '-')}]")
    assert [match.kind for match in shown.matches] == [kind]


def test_at_least_thirty_formats_are_known() -> None:
    assert len(FORMATS) >= 30


@pytest.mark.parametrize(("place", "value"), ASSIGNED)
@pytest.mark.parametrize("guard", [ALL, ONLY_SECRETS], ids=["all kinds", "secrets"])
def test_a_value_behind_a_name_for_secrets_is_hidden(guard: Redactor, place: str, value: str) -> None:
    text = place.format(value)
    shown = guard.inspect(text)

    assert value not in shown.text
    (match,) = shown.matches
    assert value in text[match.start : match.end]
    assert text[: match.start] == shown.text[: match.start]


@pytest.mark.parametrize(("kind", "place", "value"), PERSONAL)
def test_personal_data_are_found_exactly(kind: str, place: str, value: str) -> None:
    text = place.format(value)
    shown = redactor().inspect(text)

    (match,) = shown.matches
    assert (match.kind, text[match.start : match.end]) == (kind, value)


@pytest.mark.parametrize("text", CLEAN)
def test_what_only_looks_like_a_secret_is_shown(text: str) -> None:
    assert redactor().redact(text) == text


@pytest.mark.parametrize(
    "cut", ["-----END RSA PRIVATE KEY-----", "==\n-----END RSA PRIVATE KEY-----", "\n-----END"]
)
def test_a_private_key_without_its_end_stays_hidden(cut: str) -> None:
    text = SECRETS["private_key"]

    assert redactor().redact(text[: text.index(cut)]) == "[REDACTED-PRIVATE-KEY]"


def test_what_stands_behind_a_private_key_is_shown() -> None:
    text = f"{SECRETS['private_key']}\nKeep it safe."

    assert redactor().redact(text) == "[REDACTED-PRIVATE-KEY]\nKeep it safe."


def test_a_private_key_with_headers_or_in_json_is_hidden() -> None:
    pem = SECRETS["private_key"]
    with_header = pem.replace(
        "KEY-----\n", "KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,8A1F\n\n", 1
    )

    assert redactor().redact(f"a {with_header} b") == "a [REDACTED-PRIVATE-KEY] b"
    assert (
        redactor().redact('{"key": "' + pem.replace("\n", "\\n") + '"}')
        == '{"key": "[REDACTED-PRIVATE-KEY]"}'
    )
