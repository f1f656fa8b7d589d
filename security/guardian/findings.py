"""What rules say of one place in a text, and the verdict that many of them make."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from security.verdict import HARMLESS, Level, Span, Verdict

SCORES: Final = {Level.NONE: 0.0, Level.LOW: 0.3, Level.MEDIUM: 0.6, Level.HIGH: 0.9, Level.CRITICAL: 1.0}
MOST_SPANS: Final = 32


class Finding(NamedTuple):
    """A rule that holds, and where; `end` is behind its last character."""

    name: str
    level: Level
    start: int = 0
    end: int = 0


def sum_up(findings: Iterable[Finding]) -> Verdict:
    """The verdict: as bad as the worst of them."""
    ranked = sorted(findings, key=lambda one: -one.level)
    if not ranked:
        return HARMLESS
    level = ranked[0].level
    spans = dict.fromkeys(Span(one.start, one.end, one.name) for one in ranked[:MOST_SPANS])
    names = dict.fromkeys(one.name for one in ranked[:MOST_SPANS])
    return Verdict(level, SCORES[level], tuple(names), tuple(spans))
