"""Remembers what was made of objects that are costly to compare, by which object it is."""

from collections.abc import Callable
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class IdentityCache(Generic[K, V]):
    """Makes a value once for each of the last few objects that it is asked for.

    Args:
        most: How many objects it keeps, and keeps alive.
    """

    def __init__(self, make: Callable[[K], V], *, most: int = 32) -> None:
        self._make = make
        self._most = most
        self._kept: dict[int, tuple[K, V]] = {}

    def __call__(self, key: K) -> V:
        """The value for an object that does not change."""
        found = self._kept.get(id(key))
        if found is None:
            if len(self._kept) >= self._most:
                del self._kept[next(iter(self._kept))]
            found = self._kept[id(key)] = (key, self._make(key))
        return found[1]
