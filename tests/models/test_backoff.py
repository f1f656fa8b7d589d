"""Waits between tries, and what servers say about them."""

import random
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.models.backoff import Backoff, parse_retry_after

NOW = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)


@given(failures=st.integers(0, 2000), seed=st.integers())
def test_a_wait_never_exceeds_its_ceiling(failures: int, seed: int) -> None:
    wait = Backoff(base=0.5, cap=30).wait(failures, None, random.Random(seed).uniform)

    assert 0 <= wait <= min(30, 0.5 * 2 ** min(failures, 10))


@given(asked=st.floats(0, 1e6), failures=st.integers(0, 20), seed=st.integers())
def test_the_servers_wish_is_never_undercut(asked: float, failures: int, seed: int) -> None:
    wait = Backoff().wait(failures, asked, random.Random(seed).uniform)

    assert asked <= wait <= asked + 0.5


@pytest.mark.parametrize(("base", "cap"), [(0, 1), (-1, 1), (2, 1), (1, float("inf"))])
def test_a_backoff_that_makes_no_sense_is_refused(base: float, cap: float) -> None:
    with pytest.raises(ValueError, match="base"):
        Backoff(base=base, cap=cap)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9.0),
        ({"retry-after": format_datetime(NOW + timedelta(seconds=90), usegmt=True)}, 90.0),
        ({"retry-after": "Sat, 21 Nov 2026 12:00:30 -0000"}, 30.0),
        ({"retry-after": format_datetime(NOW - timedelta(hours=1), usegmt=True)}, 0.0),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "tomorrow"}, None),
        ({"retry-after": ""}, None),
        ({}, None),
    ],
)
def test_both_forms_of_retry_after_are_read(headers: dict[str, str], seconds: float | None) -> None:
    assert parse_retry_after(headers, NOW) == seconds


@given(text=st.text(max_size=60))
def test_no_header_breaks_the_parser(text: str) -> None:
    wait = parse_retry_after({"retry-after": text}, NOW)

    assert wait is None or wait >= 0
