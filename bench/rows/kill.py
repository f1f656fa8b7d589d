"""How long `/kill` takes to be confirmed while many sessions stream."""

import asyncio
import random
import time

from bench.load import SECONDS
from bench.model_server import SCHEDULE
from bench.place import Effort, Place
from bench.results import Result, percentile, row
from bench.speakers import Exchange, Speaker, bare, bot

SESSIONS: dict[Effort, int] = {"full": 1_000, "quick": 500, "tiny": 3}
MOST = 25.0  # seconds of killing: a bot that is overloaded is judged by fewer kills
KILLS: dict[Effort, int] = {"full": 150, "quick": 50, "tiny": 2}


async def measure(place: Place) -> list[Result]:
    """First the bot; the limit is the cancelling of a task."""
    sessions = SESSIONS[place.effort]
    async with bot(place.path / "home", place.paced) as speaker:
        ours = await _kill_some(speaker, place.effort)
    async with bare(place.paced) as limit:
        least = await _kill_some(limit, place.effort)
    return [
        row(
            f"/kill confirmed while {sessions} sessions stream, {len(ours)} kills, p99",
            percentile(ours, 99),
            "ms",
            at_most=100,
            limit=percentile(least, 99),
        ),
        row("the same, p50", percentile(ours, 50), "ms", limit=percentile(least, 50)),
    ]


async def _kill_some(speaker: Speaker, effort: Effort) -> list[float]:
    """Kill one random session after another; each that was killed asks again."""
    crowd = Crowd(speaker, SESSIONS[effort])
    times: list[float] = []
    async with asyncio.timeout(SECONDS), asyncio.TaskGroup() as group:
        tasks = [group.create_task(crowd.talk(n)) for n in range(SESSIONS[effort])]
        await asyncio.sleep(2 * SCHEDULE)  # warm-up: by now all of them have begun and go on
        end = time.monotonic() + MOST
        while len(times) < KILLS[effort] and time.monotonic() < end:
            try:
                times.append(await speaker.kill(crowd.pick()) * 1e3)
            except LookupError:
                await asyncio.sleep(0)  # its answer had come to an end by itself meanwhile
        for task in tasks:
            task.cancel()
    if not times:
        raise TimeoutError(f"no /kill was confirmed within {MOST:g} s")
    return times


class Crowd:
    """Sessions that ask one question after another."""

    def __init__(self, speaker: Speaker, count: int) -> None:
        self._speaker = speaker
        self._chance = random.Random(count)
        self._streaming: dict[str, Exchange] = {}

    def pick(self) -> str:
        """A chat whose answer is growing.

        Raises:
            LookupError: None is, at this moment.
        """
        growing = [chat for chat, exchange in self._streaming.items() if exchange.first.done()]
        if not growing:
            raise LookupError("no answer is growing")
        return self._chance.choice(growing)

    async def talk(self, number: int) -> None:
        """Ask until cancelled, beginning at a random moment of one answer's time."""
        chat = f"chat{number}"
        await asyncio.sleep(self._chance.uniform(0, SCHEDULE))
        while True:
            exchange = self._streaming[chat] = await self._speaker.ask(chat)
            await exchange.last
            del self._streaming[chat]
