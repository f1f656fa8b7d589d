"""How long to wait before the next try: the server's wish first, our own guess otherwise."""

import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from bot.messages import Frozen


class Backoff(Frozen, frozen=True, kw_only=True):
    """Waits that grow with each failure, at random below a ceiling, so that many clients don't come at once.

    Attributes:
        base: The most seconds after the first failure; doubles with each further one.
        cap: The most seconds after any.

    Source: AWS Architecture Blog, "Exponential Backoff and Jitter", variant "full jitter".
    """

    base: float = 0.5
    cap: float = 30.0

    def __post_init__(self) -> None:
        if not 0 < self.base <= self.cap < math.inf:
            raise ValueError(f"a backoff needs 0 < base <= cap, not base={self.base}, cap={self.cap}")

    def wait(
        self, failures: int, retry_after: float | None, uniform: Callable[[float, float], float]
    ) -> float:
        """Seconds until the next try.

        Args:
            failures: How many tries have failed before this one did.
            retry_after: Seconds the server asked for; never undercut.
            uniform: The source of chance, like `random.uniform`.
        """
        if retry_after is not None:
            return retry_after + uniform(0.0, self.base)
        return uniform(0.0, min(self.cap, self.base * 2.0 ** min(failures, 64)))


def parse_retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds that a server asks us to stay away, if it says so in a way that can be read.

    Args:
        headers: Looked up by `retry-after-ms` and `retry-after`; the mapping ignores case.
        now: Aware; what a date is compared with.

    Source: RFC 9110, section 10.2.3; `retry-after-ms` is OpenAI's and Azure's addition.
    """
    millis = _number(headers.get("retry-after-ms"))
    if millis is not None:
        return millis / 1000
    text = headers.get("retry-after")
    seconds = _number(text)
    return seconds if seconds is not None or text is None else _seconds_until(text, now)


def _number(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value < math.inf else None


def _seconds_until(date: str, now: datetime) -> float | None:
    try:
        when = parsedate_to_datetime(date)
    except ValueError:
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return max(0.0, (when - now).total_seconds())
