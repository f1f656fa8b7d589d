"""The hours of a day in which the heartbeat may beat."""

import re
from datetime import datetime, time, timedelta
from typing import Self

from bot.messages import Frozen
from bot.scheduler.timing import ScheduleFault, find_zone

_HOURS = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-(?:([01]\d|2[0-3]):([0-5]\d)|(24):(00))")


class ActiveHours(Frozen, frozen=True, kw_only=True):
    """From one minute of the day up to another, over midnight where that is the earlier one.

    Attributes:
        start, end: Minutes since midnight on the clocks of `zone`; the same twice means the whole day.
    """

    start: int
    end: int
    zone: str

    @classmethod
    def read(cls, text: str, zone: str) -> Self:
        """Read `08:00-22:00`.

        Raises:
            ScheduleFault: It is not of that form, or there is no such zone.
        """
        match = _HOURS.fullmatch(text.replace(" ", ""))
        if match is None:
            raise ScheduleFault(f"{text!r} is not of the form 08:00-22:00")
        find_zone(zone)
        numbers = [int(part) for part in match.groups() if part is not None]
        return cls(start=numbers[0] * 60 + numbers[1], end=numbers[2] * 60 + numbers[3], zone=zone)

    def contains(self, moment: float) -> bool:
        """Whether a time, in seconds since 1970, is inside."""
        local = datetime.fromtimestamp(moment, find_zone(self.zone))
        minute = local.hour * 60 + local.minute
        if self.start < self.end:
            return self.start <= minute < self.end
        return self.start == self.end or not self.end <= minute < self.start

    def next_opening(self, moment: float) -> float:
        """When they begin next after a moment."""
        zone = find_zone(self.zone)
        day = datetime.fromtimestamp(moment, zone).date()
        opening = time(self.start // 60, self.start % 60)
        while (at := datetime.combine(day, opening, zone).timestamp()) <= moment:
            day += timedelta(days=1)
        return at
