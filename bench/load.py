"""The loads: one question at a time, many sessions at once, many sessions spread over time."""

import asyncio
import random
import time

from bench.model_server import SCHEDULE
from bench.speakers import Exchange, Speaker, answer

SECONDS = 90.0  # the most that one load may take


async def one_by_one(speaker: Speaker, sessions: int, turns: int) -> list[Exchange]:
    """Every session asks so many questions; one is in flight."""
    async with asyncio.timeout(SECONDS):
        return [await answer(speaker, f"chat{n}") for _ in range(turns) for n in range(sessions)]


async def at_once(speaker: Speaker, sessions: int, turns: int, *, name: str = "chat") -> float:
    """Every session asks one question after the other, all at the same time; gives turns a second."""

    async def talk(chat: str) -> None:
        for _ in range(turns):
            await answer(speaker, chat)

    began = time.perf_counter()
    async with asyncio.timeout(SECONDS), asyncio.TaskGroup() as group:
        for n in range(sessions):
            group.create_task(talk(f"{name}{n}"))
    return sessions * turns / (time.perf_counter() - began)


async def spread(speaker: Speaker, sessions: int, turns: int) -> list[Exchange]:
    """Like `at_once`, but the sessions begin at random moments of one answer's time."""
    exchanges: list[Exchange] = []
    chance = random.Random(sessions)

    async def talk(chat: str, wait: float) -> None:
        await asyncio.sleep(wait)
        for _ in range(turns):
            exchanges.append(await answer(speaker, chat))

    async with asyncio.timeout(SECONDS), asyncio.TaskGroup() as group:
        for n in range(sessions):
            group.create_task(talk(f"chat{n}", chance.uniform(0, SCHEDULE)))
    return exchanges
