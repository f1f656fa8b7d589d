"""How many sessions the bot streams to at once, as models do it: 300 ms, then 50 tokens 20 ms apart.

A number of sessions holds if the 99th percentile of the time that a turn takes beyond the model's own
schedule stays below 100 ms.
"""

from bench.load import spread
from bench.model_server import SCHEDULE
from bench.place import Effort, Place
from bench.results import Result, percentile, row
from bench.speakers import Speaker, bare, bot

MOST = 100.0  # ms of own time
STEPS: dict[Effort, tuple[int, ...]] = {
    "full": (100, 250, 500, 750, 1000, 1250, 1500),
    "quick": (250, 500, 750),
    "tiny": (2,),
}
LIMIT_STEPS: dict[Effort, tuple[int, ...]] = {
    "full": (500, 750, 1000, 1250, 1500, 1750, 2000),
    "quick": (500, 1000, 1500),
    "tiny": (2,),
}
TURNS: dict[Effort, int] = {"full": 2, "quick": 2, "tiny": 1}
TRIES = 2  # a step that another process has disturbed is taken again


async def measure(place: Place) -> list[Result]:
    """Climb until it breaks: first the bot, then the limit."""
    async with bot(place.path / "home", place.paced) as speaker:
        holds, own = await _climb(speaker, STEPS[place.effort], TURNS[place.effort])
    async with bare(place.paced) as limit:
        most, _ = await _climb(limit, LIMIT_STEPS[place.effort], TURNS[place.effort])
    return [
        row("sessions at once, own p99 < 100 ms", holds, "sessions", at_least=500, limit=most),
        row(f"own time with {holds} sessions, p99", own, "ms"),
    ]


async def _climb(speaker: Speaker, steps: tuple[int, ...], turns: int) -> tuple[int, float]:
    """The largest step that holds, and its own time; 0 where none does."""
    best, own_best = 0, 0.0
    for sessions in steps:
        own = await _try(speaker, sessions, turns)
        if own >= MOST:
            break
        best, own_best = sessions, own
    return best, own_best


async def _try(speaker: Speaker, sessions: int, turns: int) -> float:
    """Own time of a step, the 99th percentile in ms."""
    own = MOST
    for _ in range(TRIES):
        await spread(speaker, sessions, 1)  # warm-up: opens the connections
        exchanges = await spread(speaker, sessions, turns)
        own = percentile([(exchange.seconds - SCHEDULE) * 1e3 for exchange in exchanges], 99)
        if own < MOST:
            break
    return own
