"""A time limit that begins where something waits."""

import asyncio
from types import coroutine
from typing import Any

import pytest

from bot.within import within


async def test_what_waits_for_nothing_needs_no_timer() -> None:
    loop = asyncio.get_running_loop()
    before = len(loop._scheduled)  # type: ignore[attr-defined]  # the only place that knows

    async def quick() -> tuple[int, int]:
        return 42, len(loop._scheduled)  # type: ignore[attr-defined]  # the same

    assert await within(5.0, quick()) == (42, before)


async def test_what_waits_gives_its_result_afterwards() -> None:
    event = asyncio.Event()

    async def slow() -> str:
        await event.wait()
        await asyncio.sleep(0)
        return "done"

    task = asyncio.create_task(within(5.0, slow()))
    await asyncio.sleep(0)
    event.set()

    assert await task == "done"


async def test_what_waits_for_too_long_is_cancelled_and_cleans_up() -> None:
    was_cleaned = False

    async def hanging() -> None:
        nonlocal was_cleaned
        try:
            await asyncio.Event().wait()
        finally:
            was_cleaned = True

    with pytest.raises(TimeoutError):
        await within(0.01, hanging())

    assert was_cleaned


async def test_the_limit_holds_for_all_waits_together() -> None:
    async def many() -> None:
        for _ in range(1_000):
            await asyncio.sleep(0.001)

    with pytest.raises(TimeoutError):
        await within(0.02, many())


@pytest.mark.parametrize("waits", [False, True])
async def test_errors_come_out_as_they_are(waits: bool) -> None:
    async def failing() -> None:
        if waits:
            await asyncio.sleep(0)
        raise LookupError("gone")

    with pytest.raises(LookupError, match="gone"):
        await within(5.0, failing())


async def test_a_caller_that_is_cancelled_cancels_the_work() -> None:
    seen: list[str] = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    task = asyncio.create_task(within(5.0, work()))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert seen == ["cancelled"]


async def test_work_that_takes_a_cancel_as_its_end_gives_its_result() -> None:
    async def stubborn() -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "kept"
        return "never"

    task = asyncio.create_task(within(5.0, stubborn()))
    await asyncio.sleep(0)
    task.cancel()

    assert await task == "kept"


async def test_work_that_is_thrown_away_is_closed() -> None:
    seen: list[str] = []

    @coroutine
    def forever() -> Any:
        while True:
            yield

    async def work() -> None:
        try:
            await forever()
        finally:
            seen.append("closed")

    awaiting = within(5.0, work())
    task = asyncio.ensure_future(awaiting)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert seen == ["closed"]
