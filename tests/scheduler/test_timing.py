"""Due times: grids, lines of cron, time zones, clocks that are put forward and back."""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.scheduler.timing import (
    At,
    Cron,
    Every,
    ScheduleFault,
    Timing,
    check_timing,
    find_zone,
    next_after,
    say_moment,
    say_timing,
    whole_second,
)
from tests.scheduler.rig import NOON, moment

ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "Africa/Cairo"]
FIELDS = st.tuples(
    st.sampled_from(["*", "*/20", "0", "30", "15,45", "10-12"]),
    st.sampled_from(["*", "*/6", "0", "1", "2", "3", "22-23"]),
    st.sampled_from(["*", "29", "1,15", "L"]),
    st.sampled_from(["*", "3", "10", "2-4"]),
    st.sampled_from(["*", "SUN", "1-5"]),
)
# around the days on which clocks are put forward and back
MOMENTS = st.builds(
    lambda day, seconds: moment(day) + seconds,
    st.sampled_from(["2026-03-07", "2026-03-28", "2026-04-04", "2026-10-24", "2026-10-31", "2028-02-28"]),
    st.integers(0, 3 * 86_400),
)


def local(at: float | None, zone: str) -> str:
    """A time on the clocks of a zone, with its offset."""
    assert at is not None
    return datetime.fromtimestamp(at, ZoneInfo(zone)).isoformat(" ", "minutes")


@given(
    seconds=st.integers(60, 100_000),
    start=st.integers(0, 4_000_000_000),
    now=st.floats(0, 4_000_000_000),
)
def test_a_repetition_stays_on_its_grid_without_drift(seconds: int, start: int, now: float) -> None:
    found = next_after(Every(seconds=seconds, start=float(start)), now)

    assert found is not None
    assert now < found <= now + seconds
    assert (found - start) % seconds == 0


def test_a_single_time_comes_once() -> None:
    assert next_after(At(at=NOON), NOON - 0.5) == NOON
    assert next_after(At(at=NOON), NOON) is None


@given(fields=FIELDS, zone=st.sampled_from(ZONES), now=MOMENTS)
@settings(deadline=None)
def test_the_next_time_of_cron_is_always_later(fields: tuple[str, ...], zone: str, now: float) -> None:
    found = next_after(Cron(expression=" ".join(fields), zone=zone), now)

    assert found is not None
    assert found > now
    assert found % 60 == 0


@given(
    minute=st.integers(0, 59),
    hour=st.integers(0, 23),
    zone=st.sampled_from(ZONES),
    now=MOMENTS,
)
@settings(deadline=None)
def test_a_daily_time_comes_once_on_each_day_whatever_the_clocks_do(
    minute: int, hour: int, zone: str, now: float
) -> None:
    timing = Cron(expression=f"{minute} {hour} * * *", zone=zone)
    days, at = [], now
    for _ in range(5):
        found = next_after(timing, at)
        assert found is not None
        days.append(datetime.fromtimestamp(found, ZoneInfo(zone)).date())
        at = found

    assert days == [days[0] + timedelta(days=number) for number in range(5)]


@given(zone=st.sampled_from(ZONES), now=MOMENTS, step=st.sampled_from([10, 15, 20, 30]))
@settings(deadline=None)
def test_every_so_many_minutes_goes_on_in_real_time(zone: str, now: float, step: int) -> None:
    timing = Cron(expression=f"*/{step} * * * *", zone=zone)
    first = next_after(timing, now)
    assert first is not None

    assert next_after(timing, first) == first + step * 60


def test_a_time_that_does_not_exist_falls_on_the_first_that_does() -> None:
    found = next_after(Cron(expression="30 2 * * *", zone="Europe/Berlin"), moment("2026-03-29 00:30"))

    assert local(found, "Europe/Berlin") == "2026-03-29 03:00+02:00"


def test_a_time_that_comes_twice_counts_once() -> None:
    timing = Cron(expression="30 2 * * *", zone="Europe/Berlin")
    first = next_after(timing, moment("2026-10-24 22:00"))
    between = moment("2026-10-25 01:10")  # the second 02:10 in Berlin

    assert local(first, "Europe/Berlin") == "2026-10-25 02:30+02:00"
    assert local(next_after(timing, between), "Europe/Berlin") == "2026-10-26 02:30+01:00"


def test_the_29th_of_february_comes_in_leap_years() -> None:
    found = next_after(Cron(expression="0 9 29 2 *", zone="UTC"), moment("2026-11-21 12:00"))

    assert local(found, "UTC") == "2028-02-29 09:00+00:00"


@pytest.mark.parametrize(
    ("timing", "words"),
    [
        (At(at=NOON), "never come"),
        (At(at=NOON + 20 * 366 * 86_400), "ten years"),
        (Every(seconds=59, start=NOON), "every 60 seconds"),
        (Every(seconds=10**9, start=NOON), "every 60 seconds"),
        (Every(seconds=60, start=NOON + 20 * 366 * 86_400), "ten years"),
        (Cron(expression="0 30 2 * * *", zone="UTC"), "five fields"),
        (Cron(expression="0 9 * *", zone="UTC"), "five fields"),
        (Cron(expression="0 9 30 2 *", zone="UTC"), "no line of cron"),
        (Cron(expression="61 9 * * *", zone="UTC"), "no line of cron"),
        (Cron(expression="*/0 * * * *", zone="UTC"), "no line of cron"),
        (Cron(expression=f"{'1,' * 100}1 * * * *", zone="UTC"), "five fields"),
        (Cron(expression=f"{'9' * 80} * * * *", zone="UTC"), "no line of cron"),
        (Cron(expression="0 9 * * *", zone="Mars/Base"), "no time zone"),
    ],
)
def test_what_can_never_fire_is_refused(timing: Timing, words: str) -> None:
    with pytest.raises(ScheduleFault, match=words):
        check_timing(timing, now=NOON)


def test_a_repetition_begins_at_its_start() -> None:
    assert check_timing(Every(seconds=60, start=NOON + 86_400), now=NOON) == NOON + 86_400
    assert check_timing(Every(seconds=60, start=NOON - 30), now=NOON) == NOON + 30


@pytest.mark.parametrize(
    "name", ["", "Mars/Base", "../../etc/passwd", "/etc/passwd", "Europe", "x\0y", "a" * 999]
)
def test_only_time_zones_are_time_zones(name: str) -> None:
    with pytest.raises(ScheduleFault, match="no time zone"):
        find_zone(name)


def test_times_are_told_on_the_clocks_of_the_person() -> None:
    assert say_moment(NOON, "Europe/Berlin") == "Sat 21 Nov 2026, 13:00 (Europe/Berlin)"
    assert say_moment(NOON + 5, "UTC") == "Sat 21 Nov 2026, 12:00:05 (UTC)"
    assert say_moment(NOON, "Gone/Zone") == "Sat 21 Nov 2026, 12:00 (UTC)"


@pytest.mark.parametrize(
    ("timing", "said"),
    [
        (At(at=NOON), "once"),
        (Every(seconds=5_400, start=NOON), "every 1 hour 30 minutes"),
        (Cron(expression="0 9 * * 1-5", zone="UTC"), "cron 0 9 * * 1-5"),
    ],
)
def test_repetitions_are_told_in_words(timing: Timing, said: str) -> None:
    assert say_timing(timing) == said


def test_due_times_are_whole_seconds_that_have_not_passed() -> None:
    assert (whole_second(5.0), whole_second(5.1)) == (5.0, 6.0)
