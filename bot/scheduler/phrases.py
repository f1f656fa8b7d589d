"""Reads when something is to happen, as people and models write it."""

import re
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from typing import Final, TypeAlias

from bot.lazy_pattern import lazy_pattern
from bot.scheduler.timing import (
    CRON_FIELDS,
    At,
    Cron,
    Every,
    ScheduleFault,
    Timing,
    find_zone,
    say_moment,
    whole_second,
)

FORMS: Final = (
    '"in 2 hours", "9:00", "tomorrow 9:00", "friday 6:30 pm", "2026-12-24 18:00", "2026-12-24T18:00+01:00", '
    '"every 2 hours", "every day 9:00", "every weekday 9:00", "every monday 9:00", or cron like "0 9 * * 1-5"'
)
MAX_PHRASE: Final = 100  # characters
SECONDS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
DAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
NOON: Final = 12
WEEK: Final = 7

_PART = lazy_pattern(
    r"(\d{1,6} ?|an? )(s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|weeks?)"
    r"(?:, (?:and )?| and | |$)",
    re.ASCII,
)
_DAY = rf"(?P<day>today|tomorrow|{'|'.join(f'{name[:3]}(?:{name[3:]})?' for name in DAYS)})"
_CLOCK = r"(?P<hour>\d{1,2})(?:[:.](?P<minute>[0-5]\d))?(?: ?(?P<half>am|pm))?"
_TIME = lazy_pattern(rf"(?:{_DAY} )?(?:at )?{_CLOCK}", re.ASCII)
_CYCLE = lazy_pattern(rf"(?P<cycle>day|weekday|{'|'.join(DAYS)}) (?:at )?{_CLOCK}", re.ASCII)
_ISO = lazy_pattern(r"\d{4}-\d\d-\d\d[t ]\d\d:\d\d(:\d\d)?(z|[+-]\d\d(:?\d\d)?)?", re.ASCII)
_CRON = lazy_pattern(r"[\d*]\S* \S+ \S+ \S+ \S+", re.ASCII)

Match: TypeAlias = re.Match[str]


def read_when(text: str, *, now: float, zone: str) -> Timing:
    """Read a time or a repetition; times without a zone of their own are on the clocks of `zone`.

    Raises:
        ScheduleFault: It is neither, or the time has passed; says which forms there are, and what time it is.
    """
    words = " ".join(text.split())
    phrase = words.lower()
    clock = f"Now it is {say_moment(whole_second(now), zone)}."
    if len(phrase) > MAX_PHRASE:
        raise ScheduleFault(f"that is too long for a time. Use {FORMS}. {clock}")
    try:
        found = _read(phrase, now, zone)
    except (ValueError, OverflowError):  # the 30th of February
        found = None
    if found is None:
        raise ScheduleFault(f"{words!r} is no time that I can read. Use {FORMS}. {clock}")
    if isinstance(found, At) and found.at <= now:
        raise ScheduleFault(f"{say_moment(found.at, zone)} has passed. {clock}")
    return found


def _read(phrase: str, now: float, zone: str) -> Timing | None:
    if phrase.startswith("in "):
        seconds = _span(phrase.removeprefix("in "))
        return At(at=whole_second(now) + seconds) if seconds else None
    if phrase.startswith("every "):
        return _read_cycle(phrase.removeprefix("every "), now, zone)
    readers: tuple[tuple[re.Pattern[str], Callable[[Match, float, str], Timing | None]], ...] = (
        (_ISO, _iso),
        (_TIME, _day_and_time),
        (_CRON, _cron),
    )
    for pattern, reader in readers:
        if match := pattern.fullmatch(phrase):
            return reader(match, now, zone)
    return None


def _read_cycle(phrase: str, now: float, zone: str) -> Timing | None:
    if match := _CYCLE.fullmatch(phrase):
        at, cycle = _clock(match), match["cycle"]
        days = {"day": "*", "weekday": "1-5"}.get(cycle) or str((DAYS.index(cycle) + 1) % WEEK)
        if at is None:
            return None
        return Cron(expression=f"{at.minute} {at.hour} * * {days}", zone=zone)
    seconds = _span(phrase) or _span(f"1 {phrase}")
    return Every(seconds=seconds, start=whole_second(now) + seconds) if seconds else None


def _span(text: str) -> int:
    """Seconds of `1 hour 30 minutes`; 0 where it is no span."""
    seconds = position = 0
    while position < len(text):
        match = _PART.match(text, position)
        if match is None:
            return 0
        seconds += (1 if match[1].startswith("a") else int(match[1])) * SECONDS[match[2][0]]
        position = match.end()
    return seconds


def _iso(match: Match, now: float, zone: str) -> At:
    moment = datetime.fromisoformat(match[0].upper())
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=find_zone(zone))
    return At(at=moment.timestamp())


def _day_and_time(match: Match, now: float, zone: str) -> At | None:
    at = _clock(match)
    if at is None:
        return None
    day = datetime.fromtimestamp(now, find_zone(zone)).date()
    match match["day"]:
        case None:
            return _coming(day, at, zone, now, step=1)
        case "today":
            return _local(day, at, zone)
        case "tomorrow":
            return _local(day + timedelta(days=1), at, zone)
        case name:
            weekday = next(number for number, full in enumerate(DAYS) if full.startswith(name))
            ahead = timedelta(days=(weekday - day.weekday()) % WEEK)
            return _coming(day + ahead, at, zone, now, step=WEEK)


def _coming(day: date, at: time, zone: str, now: float, *, step: int) -> At:
    """The time on a day, or `step` days later where it has passed."""
    found = _local(day, at, zone)
    return found if found.at > now else _local(day + timedelta(days=step), at, zone)


def _local(day: date, at: time, zone: str) -> At:
    """A time on the clocks of a zone; one that is skipped there is as much later as the clocks are put on."""
    return At(at=datetime.combine(day, at, find_zone(zone)).timestamp())


def _clock(match: Match) -> time | None:
    hour, half = int(match["hour"]), match["half"]
    if half is None and match["minute"] is None:
        return None  # `9` alone may mean anything
    if half is not None:
        if not 1 <= hour <= NOON:
            return None
        hour = hour % NOON + (NOON if half == "pm" else 0)
    return time(hour, int(match["minute"] or 0))


def _cron(match: Match, now: float, zone: str) -> Cron:
    expression = match[0].upper()
    assert len(expression.split()) == CRON_FIELDS
    return Cron(expression=expression, zone=zone)
