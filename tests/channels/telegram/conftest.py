"""A simulated Telegram, an adapter that hears it, and what an adapter is given."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass, field

import pytest
from pydantic import SecretStr

from bot.commands.spec import CommandSpec
from bot.errors import ChannelError, StoreError
from bot.messages import Address, InboundMessage
from bot.settings import TelegramSettings
from channels.base import Content, Setup
from channels.telegram.adapter import TelegramAdapter
from tests.simulators.telegram import TelegramSimulator

COMMANDS = (
    CommandSpec(name="help", help="What I can do.", native="help"),
    CommandSpec(name="admin info", help="About the bot.", native="admin_info", is_admin=True),
    CommandSpec(name="secret", help="Listed nowhere."),
)


class Ear:
    """An intake that keeps what it is given, each message once.

    Attributes:
        failures: How many takes fail from now on.
        gate: Takes wait until it is open.
    """

    def __init__(self) -> None:
        self.taken: dict[str, InboundMessage] = {}
        self.addressed: dict[str, bool] = {}
        self.takes = 0
        self.failures = 0
        self.gate = asyncio.Event()
        self.gate.set()
        self._news = asyncio.Condition()

    async def take(self, message: InboundMessage, *, is_addressed: bool) -> None:
        async with self._news:
            self.takes += 1
            self._news.notify_all()
        await self.gate.wait()
        async with self._news:
            if self.failures > 0:
                self.failures -= 1
                raise StoreError("the disk is full")
            self.taken.setdefault(message.dedupe_key, message)
            self.addressed.setdefault(message.platform_id, is_addressed)
            self._news.notify_all()

    async def heard(self, text: str) -> InboundMessage:
        """Wait for a message that says so."""
        await self.until(lambda: text in self.texts)
        return next(one for one in self.taken.values() if one.text == text)

    @property
    def texts(self) -> list[str]:
        return [one.text for one in self.taken.values()]

    async def until(self, claim: Callable[[], bool]) -> None:
        async with asyncio.timeout(10), self._news:
            await self._news.wait_for(claim)


class Memory:
    """A state that is kept as long as the test runs; `failures` counts the writes that will fail."""

    def __init__(self) -> None:
        self.kept: dict[str, str] = {}
        self.failures = 0

    async def get(self, name: str) -> str | None:
        return self.kept.get(name)

    async def put(self, name: str, value: str) -> None:
        if self.failures > 0:
            self.failures -= 1
            raise StoreError("the disk is full")
        self.kept[name] = value

    async def items(self, prefix: str) -> dict[str, str]:
        return {name: value for name, value in self.kept.items() if name.startswith(prefix)}


@dataclass(slots=True)
class Bench:
    """All that a test of the adapter needs."""

    telegram: TelegramSimulator
    ear: Ear
    memory: Memory
    adapters: list[TelegramAdapter] = field(default_factory=list)
    runs: list[asyncio.Task[None]] = field(default_factory=list)

    def adapter(
        self, *, patience: float = 5.0, public_url: str | None = None, **settings: object
    ) -> TelegramAdapter:
        """Make another adapter, as after a restart."""
        values: dict[str, object] = {
            "token": SecretStr(self.telegram.token),
            "base_url": self.telegram.url,
        }
        setup = Setup(
            account="default",
            settings=TelegramSettings.model_validate(values | settings),
            intake=self.ear,
            state=self.memory,
            commands=COMMANDS,
            public_url=public_url,
        )
        adapter = TelegramAdapter(setup, poll_seconds=3, patience=patience)
        self.adapters.append(adapter)
        return adapter

    def run(self, adapter: TelegramAdapter) -> asyncio.Task[None]:
        """Let an adapter hear, until the test ends."""
        task = asyncio.create_task(adapter.run(), name="telegram adapter runs")
        self.runs.append(task)
        return task

    async def running(self, **settings: object) -> TelegramAdapter:
        """Make an adapter, and wait until it polls."""
        adapter, before = self.adapter(**settings), self.telegram.push.polls  # type: ignore[arg-type]
        self.run(adapter)
        await self.telegram.until(lambda: self.telegram.push.polls > before)
        return adapter

    def place(self, chat: str, *, direct: bool = True, thread: str | None = None) -> Address:
        """The address of a chat, by the test's name of it."""
        found = self.telegram.world.chat(chat, is_direct=direct)
        topic = self.telegram.world.topic(found, thread)
        return Address(
            channel="telegram",
            chat=str(found.id),
            thread=str(topic) if topic is not None else None,
            is_direct=direct,
        )

    async def stop(self) -> None:
        """End all runs, and let go of the adapters."""
        for run in self.runs:
            run.cancel()
        for run in self.runs:
            with suppress(asyncio.CancelledError):
                await run
        for adapter in self.adapters:
            await adapter.aclose()
        self.runs.clear()
        self.adapters.clear()


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    async with TelegramSimulator(has_rates=False) as telegram:
        bench = Bench(telegram, Ear(), Memory())
        yield bench
        await bench.stop()


def final(text: str, **more: object) -> Content:
    return Content(text=text, **more)  # type: ignore[arg-type]  # passed on as they are


def growing(text: str, **more: object) -> Content:
    return Content(text=text, is_final=False, **more)  # type: ignore[arg-type]


async def failed(run: asyncio.Task[None]) -> ChannelError:
    """Wait for a run to fall."""
    async with asyncio.timeout(10):
        with pytest.raises(ChannelError) as caught:
            await run
    return caught.value
