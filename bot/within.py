"""A time limit that costs nothing where there is nothing to wait for.

A timer is set up and taken down again for some ten microseconds, which is more than most of what a turn asks
within a time limit takes: a guard that lets a message pass mostly does so without waiting.
"""

import asyncio
from collections.abc import Coroutine, Generator
from types import coroutine
from typing import Any, TypeVar

T = TypeVar("T")

Steps = Generator[Any, Any, T]  # `Any`: what a coroutine and its task say to each other


async def within(seconds: float, work: Coroutine[Any, Any, T]) -> T:
    """Await something; the limit holds from where it first waits on.

    Raises:
        TimeoutError: It has waited for longer.
    """
    steps = work.__await__()
    try:
        waits_for = steps.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    async with asyncio.timeout(seconds):
        return await _go_on(steps, waits_for)


@coroutine
def _go_on(steps: Steps[T], waits_for: object) -> Generator[object, Any, T]:
    """The rest of what waits for something already."""
    while True:
        try:
            yield waits_for
        except GeneratorExit:
            steps.close()
            raise
        except BaseException as error:  # noqa: BLE001 - it is for those steps to deal with
            try:
                waits_for = steps.throw(error)
            except StopIteration as end:
                result: T = end.value
                return result
        else:
            return (yield from steps)
