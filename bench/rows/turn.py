"""One turn at a time, model without delay: from publishing a message to its saved answer on the bus."""

from dataclasses import dataclass, field
from statistics import median

from bench.load import one_by_one
from bench.place import Effort, Place
from bench.results import Result, middle, row
from bench.speakers import Speaker, bare, bot

SESSIONS: dict[Effort, int] = {"full": 20, "quick": 20, "tiny": 2}
TURNS: dict[Effort, int] = {"full": 25, "quick": 10, "tiny": 1}
ROUNDS: dict[Effort, int] = {"full": 7, "quick": 3, "tiny": 1}


@dataclass(slots=True)
class Rounds:
    """Milliseconds of all turns, a list a round."""

    whole: list[list[float]] = field(default_factory=list)
    first: list[list[float]] = field(default_factory=list)

    async def add(self, speaker: Speaker, effort: Effort) -> None:
        """Measure one round."""
        exchanges = await one_by_one(speaker, SESSIONS[effort], TURNS[effort])
        self.whole.append([exchange.seconds * 1e3 for exchange in exchanges])
        self.first.append([exchange.seconds_to_first * 1e3 for exchange in exchanges])


async def measure(place: Place) -> list[Result]:
    """Rounds of the bot with both durabilities and of the limit take turns."""
    limit, normal, full = Rounds(), Rounds(), Rounds()
    async with (
        bare(place.now) as least,
        bot(place.path / "normal", place.now, synchronous="NORMAL") as fast,
        bot(place.path / "full", place.now, synchronous="FULL") as safe,
    ):
        pairs: list[tuple[Speaker, Rounds]] = [(least, limit), (fast, normal), (safe, full)]
        for speaker, _ in pairs:
            await one_by_one(speaker, SESSIONS[place.effort], 2)  # warm-up
        for _ in range(ROUNDS[place.effort]):
            for speaker, rounds in pairs:
                await rounds.add(speaker, place.effort)
    return _rows(limit, normal, full)


def _rows(limit: Rounds, normal: Rounds, full: Rounds) -> list[Result]:
    least = middle(limit.whole, 50)
    ratios = [
        middle([ours], 50) / middle([theirs], 50)
        for ours, theirs in zip(normal.whole, limit.whole, strict=True)
    ]
    least_p99 = middle(limit.whole, 99)
    return [
        row("turn, saved (NORMAL), p50", middle(normal.whole, 50), "ms", at_most=1.0, limit=least),
        row("turn, saved (NORMAL), p50 to the limit's", median(ratios), "x", at_most=5.0),
        row("turn, saved (NORMAL), p99", middle(normal.whole, 99), "ms", at_most=3.0, limit=least_p99),
        row("turn, saved (FULL), p50", middle(full.whole, 50), "ms", limit=least),
        row("turn, saved (FULL), p99", middle(full.whole, 99), "ms", limit=least_p99),
        row(
            "first chunk (NORMAL), p50",
            middle(normal.first, 50),
            "ms",
            at_most=0.7,
            limit=middle(limit.first, 50),
        ),
        row("first chunk (FULL), p50", middle(full.first, 50), "ms", limit=middle(limit.first, 50)),
    ]
