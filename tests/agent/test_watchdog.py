"""The guard of the event loop names what blocked it."""

import asyncio
import logging
import threading
import time

import pytest

from bot.agent.watchdog import LagGuard


def block_the_loop(seconds: float) -> None:
    time.sleep(seconds)


@pytest.mark.parametrize("attempt", range(3))
async def test_a_function_that_blocks_the_loop_is_named(
    attempt: int, caplog: pytest.LogCaptureFixture
) -> None:
    with LagGuard():
        await asyncio.sleep(attempt * 0.03)  # blocks at another moment between two beats
        block_the_loop(0.4)

    (record,) = caplog.records
    assert (record.levelno, record.getMessage()) == (logging.WARNING, "event loop blocked")
    assert "block_the_loop" in vars(record)["stack"]
    assert vars(record)["seconds"] >= 0.25


async def test_a_blockage_is_told_once_and_the_next_one_again(caplog: pytest.LogCaptureFixture) -> None:
    with LagGuard(max_lag=0.05):
        block_the_loop(0.5)
        await asyncio.sleep(0.12)  # the loop lives, and beats
        block_the_loop(0.3)

    assert len(caplog.records) == 2


async def test_a_loop_that_works_is_left_in_peace(caplog: pytest.LogCaptureFixture) -> None:
    with LagGuard():
        for _ in range(30):
            await asyncio.sleep(0.02)

    assert caplog.records == []


async def test_the_guard_leaves_with_its_thread() -> None:
    before = threading.active_count()
    with LagGuard():
        assert threading.active_count() == before + 1

    assert threading.active_count() == before
