"""Remembers what was made of objects that are costly to compare, by which object it is."""

from collections.abc import Callable
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class IdentityCache(Generic[K, V]):
    """Makes a value once for each of the last objects that it is asked for.

    Args:
        most: How many objects it keeps, and keeps alive.
        weigh: As how many an object counts.
    """

    def __init__(
        self, make: Callable[[K], V], *, most: int = 32, weigh: Callable[[K], int] = lambda _: 1
    ) -> None:
        self._make = make
        self._most = most
        self._weigh = weigh
        self._weight = 0
        self._kept: dict[int, tuple[K, V]] = {}

    def __call__(self, key: K) -> V:
        """The value for an object that does not change."""
        found = self._kept.get(id(key))
        if found is None:
            found = self._kept[id(key)] = (key, self._make(key))
            self._weight += self._weigh(key)
            while self._weight > self._most:
                first, _ = self._kept.pop(next(iter(self._kept)))
                self._weight -= self._weigh(first)
        return found[1]
