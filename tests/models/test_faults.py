"""What a refusal is taken for, whatever a server puts into it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.errors import ContextOverflow, ModelError, ModelUnavailable
from bot.models.faults import http_fault, stream_fault
from bot.models.wire import ErrorBody

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
BODIES = st.binary(max_size=300) | st.fixed_dictionaries({"error": JSON}).map(
    lambda body: json.dumps(body).encode()
)


@given(status=st.integers(300, 599), body=BODIES)
def test_any_refusal_becomes_a_short_error_with_its_status(status: int, body: bytes) -> None:
    error = http_fault(status, {}, body, secret="sk-1")

    assert error.status == status
    assert 0 < len(str(error)) < 300
    assert "\n" not in str(error)


@given(
    before=st.text(max_size=300),
    after=st.text(max_size=20),
    status=st.sampled_from([400, 401, 404, 418, 422, 500]),
)
def test_no_refusal_repeats_the_key(before: str, after: str, status: int) -> None:
    secret = "sk-0123456789abcdef"
    body = json.dumps({"error": {"message": f"{before}{secret}{after}"}}).encode()

    assert secret[:12] not in str(http_fault(status, {}, body, secret=secret))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"error": {"message": "bad tool"}}', "bad tool"),
        (b'{"error": "bad tool"}', "bad tool"),
        (b'{"message": "bad tool"}', "bad tool"),
        (b'{"detail": "bad tool"}', "bad tool"),
        (b'{"detail": [{"msg": "bad tool"}]}', "bad tool"),
        (b"bad tool", "bad tool"),
        (b"<html>bad gateway</html>", "no reason given"),
    ],
)
def test_the_servers_words_are_found_wherever_they_are(body: bytes, words: str) -> None:
    assert words in str(http_fault(400, {}, body, secret=None))


@pytest.mark.parametrize(
    "text",
    [
        "This model's maximum context length is 8192 tokens",
        "the request exceeds the available context size. try increasing it",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "Input is too long for requested model.",
    ],
)
def test_overflow_is_known_by_the_words_of_many_servers(text: str) -> None:
    body = json.dumps({"error": {"message": text}}).encode()

    assert isinstance(http_fault(400, {}, body, secret=None), ContextOverflow)
    assert isinstance(stream_fault(text), ContextOverflow)


def test_a_busy_server_that_speaks_of_tokens_is_busy() -> None:
    body = b'{"error": {"message": "too many tokens per minute"}}'

    assert isinstance(http_fault(429, {"retry-after": "2"}, body, secret=None), ModelUnavailable)


@pytest.mark.parametrize(
    ("error", "kind", "status"),
    [
        (ErrorBody(message="overloaded", code=529), ModelUnavailable, 529),
        (ErrorBody(message="slow down", code="429"), ModelUnavailable, 429),
        (ErrorBody(message="no", code=403), ModelError, 403),
        (ErrorBody(message="odd", code="server_error"), ModelUnavailable, None),
        (ErrorBody(message="broke", code="insufficient_quota"), ModelError, None),
        ("something", ModelUnavailable, None),
    ],
)
def test_errors_inside_a_stream_are_sorted_like_others(
    error: ErrorBody | str, kind: type[ModelError], status: int | None
) -> None:
    fault = stream_fault(error)

    assert type(fault) is kind
    assert fault.status == status
