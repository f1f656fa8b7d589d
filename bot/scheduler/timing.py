"""When a schedule is due: once, every so many seconds, or by a line of cron in a time zone."""

import math
from datetime import UTC, datetime, tzinfo
from typing import Final, TypeAlias, assert_never
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from bot.errors import BotError
from bot.messages import Frozen

MIN_PERIOD: Final = 60  # seconds
MAX_PERIOD: Final = 366 * 86_400
MAX_AHEAD: Final = 10 * 366 * 86_400.0  # seconds that a first time may lie ahead
MAX_CRON: Final = 100  # characters
CRON_FIELDS: Final = 5
UNITS: Final = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))


class ScheduleFault(BotError):
    """A schedule can't be what was asked for; the text says what can be."""


class At(Frozen, frozen=True, kw_only=True, tag="at"):
    """Once, at a whole second since 1970."""

    at: float


class Every(Frozen, frozen=True, kw_only=True, tag="every"):
    """Again and again; `start` is one of its times, and so lays down all of them."""

    seconds: int
    start: float


class Cron(Frozen, frozen=True, kw_only=True, tag="cron"):
    """By a line of cron with five fields, on the clocks of a time zone."""

    expression: str
    zone: str


Timing: TypeAlias = At | Every | Cron


def next_after(timing: Timing, moment: float) -> float | None:
    """The first time after a moment, in seconds since 1970; `None` where there is none any more.

    Where clocks are put forward, a time of cron that does not exist falls on the first minute that does;
    where they are put back, a fixed time counts once, and `*` goes on in real time.

    Raises:
        ScheduleFault: The line of cron or its zone mean nothing.
    """
    match timing:
        case At(at=at):
            return at if at > moment else None
        case Every(seconds=seconds, start=start):
            found = start + seconds * ((moment - start) // seconds)
            return found if found > moment else found + seconds
        case Cron(expression=expression, zone=zone):
            return _next_of_cron(expression, zone, moment)
        case _:
            assert_never(timing)


def _next_of_cron(expression: str, zone: str, moment: float) -> float | None:
    try:
        for found in CronSim(expression, datetime.fromtimestamp(moment, find_zone(zone))):
            # a fixed time in an hour that comes twice is always its first coming, which may lie behind us
            if (at := found.timestamp()) > moment:
                return at
    except (CronSimError, ValueError, OverflowError) as error:
        raise ScheduleFault(f"{expression!r} is no line of cron: {error}") from error
    return None


def check_timing(timing: Timing, *, now: float) -> float:
    """See that a new schedule has a time to come, within bounds; gives the first.

    Raises:
        ScheduleFault: It has not.
    """
    match timing:
        case Every(seconds=seconds) if not MIN_PERIOD <= seconds <= MAX_PERIOD:
            raise ScheduleFault("a schedule repeats every 60 seconds to every 366 days")
        case Cron(expression=expression) if (
            len(expression) > MAX_CRON or len(expression.split()) != CRON_FIELDS
        ):
            raise ScheduleFault("a line of cron has five fields: minute hour day month weekday")
        case Every(start=start) if start > now:
            first: float | None = start
        case _:
            first = next_after(timing, now)
    if first is None:
        raise ScheduleFault("that time will never come")
    if first - now > MAX_AHEAD:
        raise ScheduleFault("a schedule begins within ten years")
    return first


def find_zone(name: str) -> tzinfo:
    """A time zone by its name, like `Europe/Berlin`.

    Raises:
        ScheduleFault: There is none.
    """
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:  # unknown; a path; a directory of zones
        raise ScheduleFault(f"{name[:60]!r} is no time zone: use a name like Europe/Berlin or UTC") from error


def say_moment(at: float, zone: str) -> str:
    """A time on the clocks of a zone, for people: `Sat 21 Nov 2026, 09:00 (Europe/Berlin)`."""
    try:
        local = datetime.fromtimestamp(at, find_zone(zone))
    except ScheduleFault:  # known when it was given, and on this machine no more
        local, zone = datetime.fromtimestamp(at, UTC), "UTC"
    clock = f"{local:%H:%M:%S}" if local.second else f"{local:%H:%M}"
    return f"{local:%a %d %b %Y}, {clock} ({zone})"


def say_timing(timing: Timing) -> str:
    """How often, for people: `once`, `every 2 hours`, `cron 0 9 * * 1-5`."""
    match timing:
        case At():
            return "once"
        case Every(seconds=seconds):
            return f"every {_say_span(seconds)}"
        case Cron(expression=expression):
            return f"cron {expression}"
        case _:
            assert_never(timing)


def whole_second(moment: float) -> float:
    """The moment, or the first whole second after it: what due times are made of."""
    return float(math.ceil(moment))


def _say_span(seconds: int) -> str:
    parts = []
    for size, unit in UNITS:
        number, seconds = divmod(seconds, size)
        if number:
            parts.append(f"{number} {unit}{'' if number == 1 else 's'}")
    return " ".join(parts)
