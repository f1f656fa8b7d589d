"""What was done a moment ago, so that it is not done again: bounded, and forgotten with the process."""

import time
from collections import OrderedDict
from collections.abc import Hashable

from security.access.rules import Clock

MOST = 10_000


class Lately:
    """Remembers when something was done last.

    Args:
        seconds: For how long.
        most: Things; the one that was done longest ago is forgotten first.
    """

    def __init__(self, seconds: float, *, clock: Clock = time.monotonic, most: int = MOST) -> None:
        self._seconds = seconds
        self._clock = clock
        self._most = most
        self._done: OrderedDict[Hashable, float] = OrderedDict()

    def is_new(self, thing: Hashable) -> bool:
        """Whether it was not done lately; then it counts as done now."""
        if self.is_remembered(thing):
            return False
        self._done[thing] = self._clock()
        self._done.move_to_end(thing)
        if len(self._done) > self._most:
            self._done.popitem(last=False)
        return True

    def is_remembered(self, thing: Hashable) -> bool:
        """Whether it was done lately."""
        at = self._done.get(thing)
        return at is not None and self._clock() - at < self._seconds

    def forget(self, thing: Hashable) -> None:
        """Let it be new the next time."""
        self._done.pop(thing, None)

    def __len__(self) -> int:
        return len(self._done)
