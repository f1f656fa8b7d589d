"""What a benchmark gives: rows, and the figures they are made of."""

from collections.abc import Sequence
from math import ceil
from statistics import median

import msgspec


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the table.

    Attributes:
        goal: Like `<= 1`, in the same unit; none for rows that stand beside another for comparison.
        limit: What asyncio and aiohttp alone need, measured in the same run.
        met: Whether the value keeps the goal, where there is one.
    """

    name: str
    value: float
    unit: str
    goal: str | None = None
    limit: float | None = None
    ratio_to_limit: float | None = None
    met: bool | None = None


def row(
    name: str,
    value: float,
    unit: str,
    *,
    at_most: float | None = None,
    at_least: float | None = None,
    limit: float | None = None,
) -> Result:
    """Make a row; a goal is `at_most` or `at_least`, not both."""
    goal, met = None, None
    if at_most is not None:
        goal, met = f"<= {at_most:,g}", value <= at_most
    elif at_least is not None:
        goal, met = f">= {at_least:,g}", value >= at_least
    return Result(
        name=name,
        value=value,
        unit=unit,
        goal=goal,
        limit=limit,
        ratio_to_limit=value / limit if limit else None,
        met=met,
    )


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that at least `percent` of all do not exceed (nearest rank)."""
    ordered = sorted(values)
    return ordered[max(0, ceil(len(ordered) * percent / 100) - 1)]


def middle(rounds: Sequence[Sequence[float]], percent: float) -> float:
    """The median, over the rounds, of the percentile in each."""
    return median(percentile(values, percent) for values in rounds)
