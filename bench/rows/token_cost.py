"""Processor time a streamed token, all threads and the saving of the turn included, tokens 20 ms apart."""

import time
from statistics import median

from bench.load import spread
from bench.model_server import TOKENS
from bench.place import Effort, Place
from bench.results import Result, row
from bench.speakers import Speaker, bare, bot

SESSIONS: dict[Effort, int] = {"full": 200, "quick": 200, "tiny": 2}
ROUNDS: dict[Effort, int] = {"full": 3, "quick": 1, "tiny": 1}
TURNS: dict[Effort, int] = {"full": 2, "quick": 2, "tiny": 1}


async def measure(place: Place) -> list[Result]:
    """Rounds of the bot and of the limit take turns."""
    ours: list[float] = []
    least: list[float] = []
    sessions = SESSIONS[place.effort]
    async with bare(place.paced) as limit, bot(place.path / "home", place.paced) as speaker:
        await spread(limit, sessions, 1)  # warm-up
        await spread(speaker, sessions, 1)
        for _ in range(ROUNDS[place.effort]):
            least.append(await _cost(limit, place.effort))
            ours.append(await _cost(speaker, place.effort))
    name = f"processor time a streamed token, {sessions} sessions"
    return [row(name, median(ours), "µs", at_most=40, limit=median(least))]


async def _cost(speaker: Speaker, effort: Effort) -> float:
    """Microseconds a token."""
    began = time.process_time()
    exchanges = await spread(speaker, SESSIONS[effort], TURNS[effort])
    return (time.process_time() - began) / (len(exchanges) * len(TOKENS)) * 1e6
