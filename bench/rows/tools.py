"""What tools cost a turn: 20 are declared, the model calls 3 of them at once and then answers."""

from statistics import median

from bench.load import at_once, one_by_one
from bench.place import Effort, Place
from bench.results import Result, middle, row
from bench.rows.turn import Rounds
from bench.speakers import Speaker, bare, bot
from bot.tools import declare
from bot.tools.base import Tool

DECLARED = 20
SESSIONS: dict[Effort, int] = {"full": 20, "quick": 20, "tiny": 2}
MANY: dict[Effort, int] = {"full": 64, "quick": 64, "tiny": 4}
TURNS: dict[Effort, int] = {"full": 20, "quick": 10, "tiny": 1}
ROUNDS: dict[Effort, int] = {"full": 7, "quick": 3, "tiny": 1}


async def measure(place: Place) -> list[Result]:
    """Rounds of turns with tools, of plain turns and of the limit take turns."""
    plain, tooled, limit = Rounds(), Rounds(), Rounds()
    rates: list[float] = []
    least: list[float] = []
    async with (
        bare(place.calling) as theirs,
        bot(place.path / "plain", place.now, synchronous="NORMAL") as without,
        bot(place.path / "tooled", place.calling, synchronous="NORMAL", tools=tools()) as ours,
        bot(place.path / "safe", place.calling, tools=tools()) as safe,
    ):
        sides: list[tuple[Speaker, Rounds]] = [(theirs, limit), (without, plain), (ours, tooled)]
        for speaker, _ in sides:
            await one_by_one(speaker, SESSIONS[place.effort], 2)  # warm-up
        for _ in range(ROUNDS[place.effort]):
            for speaker, rounds in sides:
                await rounds.add(speaker, place.effort)
        for _ in range(ROUNDS[place.effort]):
            least.append(await at_once(theirs, MANY[place.effort], TURNS[place.effort], name="many"))
            rates.append(await at_once(safe, MANY[place.effort], TURNS[place.effort], name="many"))
    to_plain = [middle([a], 50) / middle([b], 50) for a, b in zip(tooled.whole, plain.whole, strict=True)]
    return [
        row(
            f"turn with {DECLARED} tools and 3 calls (NORMAL), p50",
            middle(tooled.whole, 50),
            "ms",
            limit=middle(limit.whole, 50),
        ),
        row("the same to a plain turn", median(to_plain), "x", at_most=3.0),
        row(
            f"turns a second with 3 calls each, {MANY[place.effort]} sessions, saved (FULL)",
            median(rates),
            "1/s",
            at_least=400,
            limit=median(least),
        ),
    ]


def tools() -> tuple[Tool, ...]:
    """Tools that do next to nothing."""

    async def look_up(place: str, day: int = 0) -> str:
        """Look something up.

        Args:
            place: Where.
            day: How many days ahead.
        """
        return f"Sunny in {place} in {day} days."

    return tuple(
        declare(look_up, name=f"look_up_{number:02d}", is_idempotent=True) for number in range(DECLARED)
    )
