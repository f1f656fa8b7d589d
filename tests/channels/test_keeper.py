"""An adapter that falls is run again after a pause; one that is refused for good is not."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from bot.errors import ChannelError
from bot.messages import utc_now
from channels.base import Liveness
from channels.keeper import FIRST_PAUSE, LONGEST_PAUSE, STEADY, Keeper
from tests.channels.delivery.platform import Clock, Platform, PlatformAdapter


class Falling(PlatformAdapter):
    """Falls as a test says, one fall a run; after the last it stays up."""

    liveness = Liveness(is_connected=False)

    def __init__(self, *falls: Exception | Callable[[], Awaitable[None]]) -> None:
        super().__init__(Platform(Clock()))
        self.falls = list(falls)
        self.runs = 0
        self.is_up = asyncio.Event()

    async def run(self) -> None:
        self.runs += 1
        fall = self.falls.pop(0) if self.falls else self._stay
        if isinstance(fall, Exception):
            raise fall
        await fall()

    async def _stay(self) -> None:
        self.is_up.set()
        await asyncio.Event().wait()


async def test_an_adapter_that_falls_is_run_again_after_longer_and_longer_pauses() -> None:
    clock = Clock()
    adapter = Falling(*(ChannelError("down") for _ in range(10)))
    async with Keeper(adapter, sleep=clock.sleep, clock=clock):
        await asyncio.wait_for(adapter.is_up.wait(), 5)

    for number, pause in enumerate(clock.waits):
        longest = min(LONGEST_PAUSE, FIRST_PAUSE * 2**number)
        assert longest / 2 <= pause <= longest
    assert len(clock.waits) == 10


async def test_the_pauses_begin_anew_once_it_has_run_for_a_while() -> None:
    clock = Clock()

    async def run_long() -> None:
        clock.now += STEADY + 1
        raise ChannelError("down again")

    adapter = Falling(*(ChannelError("down") for _ in range(5)), run_long)
    async with Keeper(adapter, sleep=clock.sleep, clock=clock):
        await asyncio.wait_for(adapter.is_up.wait(), 5)

    assert clock.waits[-2] > FIRST_PAUSE
    assert clock.waits[-1] <= FIRST_PAUSE


async def test_a_pause_that_the_platform_asks_for_is_kept() -> None:
    clock = Clock()
    adapter = Falling(ChannelError("slow down", retry_after=17.0))
    async with Keeper(adapter, sleep=clock.sleep, clock=clock):
        await asyncio.wait_for(adapter.is_up.wait(), 5)

    assert clock.waits == [17.0]


async def test_a_wrong_token_is_not_tried_again_and_is_told() -> None:
    clock = Clock()
    refused = asyncio.Event()

    async def refuse() -> None:
        refused.set()
        raise ChannelError("the token is wrong", permanent=True)

    adapter = Falling(refuse)
    async with Keeper(adapter, sleep=clock.sleep, clock=clock) as keeper:
        await asyncio.wait_for(refused.wait(), 5)
        await asyncio.sleep(0)

        assert (keeper.liveness.is_connected, keeper.liveness.cause) == (False, "the token is wrong")
    assert (adapter.runs, clock.waits) == (1, [])


@pytest.mark.parametrize("fall", [RuntimeError("a bug"), asyncio.sleep])
async def test_a_bug_or_a_run_that_just_ends_is_a_fall(fall: object) -> None:
    async def end() -> None:
        """The connection ends without an error."""

    clock = Clock()
    adapter = Falling(fall if isinstance(fall, Exception) else end)
    async with Keeper(adapter, sleep=clock.sleep, clock=clock) as keeper:
        await asyncio.wait_for(adapter.is_up.wait(), 5)

        assert keeper.liveness.cause in ("a bug", "the connection ended")
    assert adapter.runs == 2


async def test_an_adapter_that_fails_while_it_closes_is_not_run_again() -> None:
    up = asyncio.Event()

    async def close_badly() -> None:
        up.set()
        try:
            await asyncio.Event().wait()
        finally:
            raise ChannelError("the socket was gone already")

    adapter = Falling(close_badly)
    async with asyncio.timeout(5), Keeper(adapter, sleep=Clock().sleep):
        await up.wait()

    assert adapter.runs == 1


async def test_what_the_adapter_says_of_its_connection_goes_before_our_own_knowledge() -> None:
    adapter = Falling()
    keeper = Keeper(adapter)
    seen = []
    for own in (
        Liveness(is_connected=True, last_event_at=utc_now()),
        Liveness(is_connected=False, cause="no network"),
    ):
        adapter.liveness = own
        seen.append(keeper.liveness == own)

    assert seen == [True, True]
