"""Turns a second with 64 sessions at once, model without delay, every turn saved and synced (FULL)."""

from statistics import median

from bench.load import at_once
from bench.place import Effort, Place
from bench.results import Result, row
from bench.speakers import bare, bot

SESSIONS: dict[Effort, int] = {"full": 64, "quick": 64, "tiny": 4}
TURNS: dict[Effort, int] = {"full": 20, "quick": 10, "tiny": 1}
ROUNDS: dict[Effort, int] = {"full": 7, "quick": 3, "tiny": 1}


async def measure(place: Place) -> list[Result]:
    """Rounds of the bot and of the limit take turns."""
    sessions, turns = SESSIONS[place.effort], TURNS[place.effort]
    ours: list[float] = []
    least: list[float] = []
    async with bare(place.now) as limit, bot(place.path / "home", place.now) as speaker:
        await at_once(limit, sessions, 2)  # warm-up
        await at_once(speaker, sessions, 2)
        for _ in range(ROUNDS[place.effort]):
            least.append(await at_once(limit, sessions, turns))
            ours.append(await at_once(speaker, sessions, turns))
    name = f"turns a second, {sessions} sessions, saved (FULL)"
    return [row(name, median(ours), "1/s", at_least=1_000, limit=median(least))]
