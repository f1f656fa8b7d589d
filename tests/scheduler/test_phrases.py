"""Times as people and models write them."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.scheduler.phrases import FORMS, MAX_PHRASE, read_when
from bot.scheduler.timing import At, Cron, Every, ScheduleFault, Timing
from tests.scheduler.rig import NOON, moment

BERLIN = "Europe/Berlin"  # there it is 13:00, on a Saturday


@pytest.mark.parametrize(
    ("phrase", "expected"),
    [
        ("in 2 hours", "2026-11-21 15:00"),
        ("In  90 Minutes", "2026-11-21 14:30"),
        ("in an hour and 5 min", "2026-11-21 14:05"),
        ("in 1 day, 2 h", "2026-11-22 15:00"),
        ("in 1w", "2026-11-28 13:00"),
        ("18:30", "2026-11-21 18:30"),
        ("9:00", "2026-11-22 09:00"),
        ("at 6 pm", "2026-11-21 18:00"),
        ("12 am", "2026-11-22 00:00"),
        ("12:15pm", "2026-11-22 12:15"),
        ("today 14.15", "2026-11-21 14:15"),
        ("tomorrow 9:00", "2026-11-22 09:00"),
        ("Tomorrow at 7am", "2026-11-22 07:00"),
        ("saturday 14:00", "2026-11-21 14:00"),
        ("sat 9:00", "2026-11-28 09:00"),
        ("friday 6:30 pm", "2026-11-27 18:30"),
        ("2026-12-24 18:00", "2026-12-24 18:00"),
        ("2026-12-24T18:00", "2026-12-24 18:00"),
        ("2026-12-24T18:00:30", "2026-12-24 18:00:30"),
        ("2026-12-24T18:00Z", "2026-12-24 19:00"),
        ("2026-12-24t18:00-05:00", "2026-12-25 00:00"),
        ("2028-02-29 08:00", "2028-02-29 08:00"),
    ],
)
def test_a_single_time_is_on_the_clocks_of_the_person(phrase: str, expected: str) -> None:
    assert read_when(phrase, now=NOON, zone=BERLIN) == At(at=moment(expected, BERLIN))


@pytest.mark.parametrize(
    ("phrase", "expected"),
    [
        ("every 2 hours", Every(seconds=7_200, start=NOON + 7_200)),
        ("every day", Every(seconds=86_400, start=NOON + 86_400)),
        ("every hour", Every(seconds=3_600, start=NOON + 3_600)),
        ("every 1 hour 30 minutes", Every(seconds=5_400, start=NOON + 5_400)),
        ("every day 9:00", Cron(expression="0 9 * * *", zone=BERLIN)),
        ("every day at 9:05 pm", Cron(expression="5 21 * * *", zone=BERLIN)),
        ("every weekday 8:00", Cron(expression="0 8 * * 1-5", zone=BERLIN)),
        ("every monday 9:00", Cron(expression="0 9 * * 1", zone=BERLIN)),
        ("every sunday 9:00", Cron(expression="0 9 * * 0", zone=BERLIN)),
        ("0 9 * * mon-fri", Cron(expression="0 9 * * MON-FRI", zone=BERLIN)),
        ("*/15 * * * *", Cron(expression="*/15 * * * *", zone=BERLIN)),
    ],
)
def test_a_repetition_is_a_grid_or_a_line_of_cron(phrase: str, expected: Timing) -> None:
    assert read_when(phrase, now=NOON, zone=BERLIN) == expected


@pytest.mark.parametrize(
    "phrase",
    [
        *(
            "",
            "soon",
            "9",
            "25:00",
            "13:00 pm",
            "0 am",
            "9:75",
            "9:00 tomorrow",
            "tomorrow",
            "yesterday 9:00",
        ),
        *("in", "in 0 minutes", "in 2", "in 2 fortnights", "in -5 minutes", "in 2 hours and", "in \u0669 h"),
        *("2026-12-24", "2026-02-30 09:00", "2026-13-01T09:00", "2026-W01-1", "2026-12-24T18:00+99:00"),
        *(
            "every",
            "every 0 h",
            "every blue moon",
            "every day 25:00",
            "every monday 9",
            "x" * (MAX_PHRASE + 1),
        ),
    ],
)
def test_what_is_no_time_is_told_with_the_forms_and_the_time(phrase: str) -> None:
    with pytest.raises(ScheduleFault) as caught:
        read_when(phrase, now=NOON, zone="UTC")

    assert FORMS in str(caught.value)
    assert "Now it is Sat 21 Nov 2026, 12:00 (UTC)." in str(caught.value)


@pytest.mark.parametrize("phrase", ["today 9:00", "2026-11-21T11:59Z", "0001-01-01 00:00"])
def test_a_time_that_has_passed_is_told(phrase: str) -> None:
    with pytest.raises(ScheduleFault, match="has passed"):
        read_when(phrase, now=NOON, zone="UTC")


def test_a_time_that_is_skipped_is_as_much_later() -> None:
    found = read_when("2027-03-28 02:30", now=NOON, zone=BERLIN)

    assert isinstance(found, At)
    assert f"{datetime.fromtimestamp(found.at, ZoneInfo(BERLIN)):%H:%M}" == "03:30"


@given(
    text=st.text(max_size=120) | st.from_regex(r"(in|every|at|[0-9: ./*-]|pm|z|monday| )+", fullmatch=True)
)
def test_any_text_is_a_time_to_come_or_a_fault(text: str) -> None:
    try:
        found = read_when(text, now=NOON + 0.5, zone=BERLIN)
    except ScheduleFault:
        return

    assert isinstance(found, Every | Cron) or found.at > NOON
