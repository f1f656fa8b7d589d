"""A Feishu, and adapters that speak to it; beside them what they hand on, and what they keep."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

import pytest
from pydantic import SecretStr

from bot.errors import StoreError
from bot.messages import Address, InboundMessage
from bot.settings import FeishuSettings
from channels.base import Setup
from channels.feishu.adapter import FeishuAdapter
from tests.simulators.feishu import FeishuSimulator
from tests.simulators.feishu_world import APP_ID, APP_SECRET


@dataclass
class Collector:
    """An intake that keeps what it is given; the first `refusals` times it can't."""

    simulator: FeishuSimulator
    refusals: int = 0
    delay: float = 0.0
    taken: list[tuple[InboundMessage, bool]] = field(default_factory=list)

    async def take(self, message: InboundMessage, *, is_addressed: bool) -> None:
        if self.refusals > 0:
            self.refusals -= 1
            raise StoreError("the disk is full")
        await asyncio.sleep(self.delay)
        self.taken.append((message, is_addressed))
        await self.simulator.tell()

    async def heard(self, count: int = 1) -> InboundMessage:
        """Wait for so many messages; gives the last."""
        await self.simulator.until(lambda: len(self.taken) >= count)
        return self.taken[-1][0]


@dataclass
class Memory:
    """A state that survives its adapter."""

    values: dict[str, str] = field(default_factory=dict)

    async def get(self, name: str) -> str | None:
        return self.values.get(name)

    async def put(self, name: str, value: str) -> None:
        self.values[name] = value

    async def items(self, prefix: str) -> dict[str, str]:
        return {name: value for name, value in self.values.items() if name.startswith(prefix)}


@dataclass
class Bot:
    """An adapter with its surroundings."""

    adapter: FeishuAdapter
    adapter_settings: FeishuSettings
    intake: Collector
    state: Memory

    def address(self, chat: str = "ann", *, is_direct: bool = True, thread: str | None = None) -> Address:
        """The address of a chat of the simulator, which comes to be by it."""
        place = self.intake.simulator.world.chat(chat, is_direct=is_direct)
        return Address(channel="feishu", chat=place.id, is_direct=is_direct, thread=thread)


Open: TypeAlias = Callable[..., AbstractAsyncContextManager[Bot]]


def made(simulator: FeishuSimulator, state: Memory, *, account: str = "default", **changes: object) -> Bot:
    """An adapter that does nothing yet."""
    given = {"app_id": APP_ID, "app_secret": SecretStr(APP_SECRET), "domain": simulator.url}
    section = FeishuSettings.model_validate({**given, **changes})
    intake = Collector(simulator)
    setup = Setup(account=account, settings=section, intake=intake, state=state)
    return Bot(FeishuAdapter(setup), section, intake, state)


@pytest.fixture
async def simulator() -> AsyncIterator[FeishuSimulator]:
    async with FeishuSimulator() as opened:
        yield opened


@asynccontextmanager
async def hearing(
    simulator: FeishuSimulator, state: Memory | None = None, *, account: str = "default", **changes: object
) -> AsyncIterator[Bot]:
    """An adapter that runs, and is connected."""
    bot = made(simulator, state if state is not None else Memory(), account=account, **changes)
    count = len(simulator.push.sockets)
    running = asyncio.create_task(bot.adapter.run(), name="run")
    try:
        if not bot.adapter.routes:
            await simulator.until(lambda: len(simulator.push.sockets) > count or running.done())
        if running.done():
            running.result()
        yield bot
    finally:
        running.cancel()
        await asyncio.wait({running})
        await bot.adapter.aclose()


@pytest.fixture
async def bot(simulator: FeishuSimulator) -> AsyncIterator[Bot]:
    """An adapter that runs."""
    async with hearing(simulator) as opened:
        yield opened


@pytest.fixture
async def poster(simulator: FeishuSimulator) -> AsyncIterator[Bot]:
    """An adapter that only posts."""
    opened = made(simulator, Memory())
    yield opened
    await opened.adapter.aclose()
