"""How often growth may be shown, so that calls are left for last words."""

import time
from collections.abc import Callable


class Allowance:
    """Calls that come back evenly; a sliding window would let one second use up a minute.

    Args:
        per_minute: How many come back in a minute.
        burst: How many may be saved up.
    """

    def __init__(
        self, per_minute: float, burst: float, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._per_second = per_minute / 60.0
        self._burst = burst
        self._clock = clock
        self._left = burst
        self._at = clock()

    def take(self) -> bool:
        """Use a call, if there is one."""
        self._refill()
        if self._left < 1:
            return False
        self._left -= 1
        return True

    def spend(self) -> None:
        """Use a call that can't be put off; growth waits the longer, but no longer than a minute."""
        self._refill()
        self._left = max(self._left - 1, -self._per_second * 60.0)

    def _refill(self) -> None:
        now = self._clock()
        self._left = min(self._burst, self._left + (now - self._at) * self._per_second)
        self._at = now
