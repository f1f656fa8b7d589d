"""Finds what is most like a text, by the groups of three letters that both have.

Not by `difflib`, whose time grows with the product of the lengths.
"""

import heapq
from collections.abc import Iterable

COMPARED = 200  # characters of a text
ALIKE = 0.3  # of 1, below which two texts have nothing to do with each other


def nearest(wanted: str, candidates: Iterable[str], count: int) -> list[int]:
    """The positions of the candidates that are most like a text, best first."""
    groups = _groups(wanted)
    scores = ((_likeness(groups, _groups(text)), -position) for position, text in enumerate(candidates))
    return [-position for score, position in heapq.nlargest(count, scores) if score >= ALIKE]


def _groups(text: str) -> set[str]:
    plain = f" {' '.join(text[:COMPARED].casefold().split())} "
    return {plain[begin : begin + 3] for begin in range(len(plain) - 2)}


def _likeness(one: set[str], other: set[str]) -> float:
    return len(one & other) / len(one | other) if one and other else 0.0
