"""One benchmark in a process of its own: `python -m bench.worker NAME EFFORT` writes its rows as JSON."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import TypeAlias, get_args

import msgspec

from bench.machine import log_as_in_production, pin, run_loop
from bench.place import Effort, Place, open_place
from bench.results import Result

Measure: TypeAlias = Callable[[Place], Awaitable[list[Result]]]

BENCHMARKS = {
    "turn": "bench.rows.turn",
    "tools": "bench.rows.tools",
    "saturation": "bench.rows.saturation",
    "sessions": "bench.rows.sessions",
    "token_cost": "bench.rows.token_cost",
    "memory": "bench.rows.memory",
    "startup": "bench.rows.startup",
    "bus": "bench.rows.bus",
    "redaction": "bench.rows.redaction",
    "recall": "bench.rows.recall",
    "growth": "bench.rows.growth",
    "kill": "bench.rows.kill",
    "inbox": "bench.rows.inbox",
    "platforms": "bench.rows.platforms",
    "channels": "bench.rows.channels",
}
SECONDS = 240.0  # the most that one benchmark may take


def load(name: str) -> Measure:
    """The benchmark of a name."""
    measure: Measure = import_module(BENCHMARKS[name]).measure
    return measure


async def run(name: str, effort: Effort) -> list[Result]:
    """Measure one benchmark."""
    measure = load(name)
    async with asyncio.timeout(SECONDS), open_place(effort) as place:
        return await measure(place)


def main() -> None:
    """Measure one benchmark as the arguments say."""
    name, effort = sys.argv[1:]
    assert effort in get_args(Effort)
    pin("bot")
    log_as_in_production()
    rows = run_loop(run(name, effort))  # type: ignore[arg-type]  # checked two lines above
    sys.stdout.buffer.write(msgspec.json.encode(rows))


if __name__ == "__main__":
    main()
