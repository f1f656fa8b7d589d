"""How often something was done in the time just past: the memory behind `limits`, bounded, on our clock.

The library's own one looks at the system's clock and clears up on threads of its own.
"""

from collections import OrderedDict, deque
from typing import Final

import limits
from limits.storage.base import MovingWindowSupport, Storage
from limits.strategies import MovingWindowRateLimiter

from bot.settings.access import RatesSettings
from security.access.rules import Clock

MOST_KEYS: Final = 10_000


class Windows(Storage, MovingWindowSupport):
    """Times of what was done, by key; of the keys, the one that was used longest ago is forgotten first."""

    STORAGE_SCHEME = None

    def __init__(self, clock: Clock, most: int = MOST_KEYS) -> None:
        super().__init__()
        self.clock = clock
        self._most = most
        self._times: OrderedDict[str, deque[float]] = OrderedDict()

    @property
    def base_exceptions(self) -> type[Exception]:
        """What the library may wrap: none of ours."""
        return KeyError

    def acquire_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        """Note that it is done now, unless that is once too often; a refusal is not counted."""
        times, now = self._recent(key, expiry), self.clock()
        if len(times) + amount > limit:
            return False
        times.extend([now] * amount)
        return True

    def get_moving_window(self, key: str, limit: int, expiry: int) -> tuple[float, int]:
        """When the oldest that counts was done, and how many do."""
        times = self._recent(key, expiry)
        return (times[0] if times else self.clock()), len(times)

    def _recent(self, key: str, expiry: int) -> deque[float]:
        times = self._times.get(key)
        if times is None:
            times = self._times[key] = deque()
            if len(self._times) > self._most:
                self._times.popitem(last=False)
        else:
            self._times.move_to_end(key)
        since = self.clock() - expiry
        while times and times[0] <= since:
            times.popleft()
        return times

    def clear(self, key: str) -> None:
        """Forget a key."""
        self._times.pop(key, None)

    def reset(self) -> int:
        """Forget all; gives how many keys there were."""
        count = len(self._times)
        self._times.clear()
        return count

    def check(self) -> bool:
        """Whether it can be used."""
        return True

    def get(self, key: str) -> int:
        """How many times are kept of a key."""
        return len(self._times.get(key, ()))

    def get_expiry(self, key: str) -> float:
        """When the newest of a key was done."""
        times = self._times.get(key)
        return times[-1] if times else self.clock()

    def incr(self, key: str, expiry: int, amount: int = 1) -> int:
        """Note it without a limit; gives how many count now."""
        times = self._recent(key, expiry)
        times.extend([self.clock()] * amount)
        return len(times)


class Window:
    """A rate, as in `20/minute`, that holds for each name."""

    def __init__(self, rate: str, windows: Windows, *, scope: str, factor: int = 1) -> None:
        item = limits.parse(rate)
        self._item = type(item)(item.amount * factor, item.multiples, scope)
        self._limiter = MovingWindowRateLimiter(windows)
        self._clock = windows.clock

    def takes(self, name: str) -> bool:
        """Count one more, unless it is too many."""
        return self._limiter.hit(self._item, name)

    def wait(self, name: str) -> float:
        """Seconds until there is room for one more."""
        return max(0.0, self._limiter.get_window_stats(self._item, name).reset_time - self._clock())


def make_windows(settings: RatesSettings, refusals: int, clock: Clock) -> dict[str, Window]:
    """The rates of the settings by scope; `flood` counts what a person says that is refused.

    Args:
        refusals: How many times their rate that may be.
    """
    windows = Windows(clock)
    rates = {"person": settings.person, "chat": settings.chat, "channel": settings.channel}
    made = {scope: Window(rate, windows, scope=scope) for scope, rate in rates.items()}
    return {**made, "flood": Window(settings.person, windows, scope="flood", factor=refusals)}
