"""A simulated workspace, an adapter that hears it, and what an adapter is given."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass, field

import pytest
from pydantic import SecretStr

from bot.commands.spec import CommandSpec
from bot.errors import ChannelError, StoreError
from bot.messages import Address, InboundMessage
from bot.settings import SlackSettings
from channels.base import Content, Setup
from channels.slack.adapter import SlackAdapter
from tests.simulators.slack import SlackSimulator
from tests.simulators.slack_world import digest

COMMANDS = (
    CommandSpec(name="help", help="What I can do."),
    CommandSpec(name="admin info", help="About the bot.", is_admin=True),
)


class Ear:
    """An intake that keeps what it is given, each message once.

    Attributes:
        failures: How many takes fail from now on.
    """

    def __init__(self) -> None:
        self.taken: dict[str, InboundMessage] = {}
        self.addressed: dict[str, bool] = {}
        self.takes = 0
        self.failures = 0
        self._news = asyncio.Condition()

    async def take(self, message: InboundMessage, *, is_addressed: bool) -> None:
        async with self._news:
            self.takes += 1
            self._news.notify_all()
            if self.failures > 0:
                self.failures -= 1
                raise StoreError("the disk is full")
            self.taken.setdefault(message.dedupe_key, message)
            self.addressed.setdefault(message.platform_id, is_addressed)

    async def heard(self, text: str) -> InboundMessage:
        """Wait for a message that says so."""
        await self.until(lambda: any(one.text == text for one in self.taken.values()))
        return next(one for one in self.taken.values() if one.text == text)

    async def until(self, claim: Callable[[], bool]) -> None:
        async with asyncio.timeout(10), self._news:
            await self._news.wait_for(claim)


class Memory(dict[str, str]):
    """A state that forgets at the end of the test."""

    async def get(self, name: str) -> str | None:  # type: ignore[override]  # a dict is all it needs to be
        return dict.get(self, name)

    async def put(self, name: str, value: str) -> None:
        self[name] = value

    async def items(self, prefix: str) -> dict[str, str]:  # type: ignore[override]
        return {name: self[name] for name in self if name.startswith(prefix)}


@dataclass(slots=True)
class Bench:
    """All that a test of the adapter needs."""

    slack: SlackSimulator
    ear: Ear
    memory: Memory
    adapters: list[SlackAdapter] = field(default_factory=list)
    runs: list[asyncio.Task[None]] = field(default_factory=list)

    def adapter(self, **settings: object) -> SlackAdapter:
        """Make another adapter, as after a restart."""
        values: dict[str, object] = {
            "bot_token": SecretStr(self.slack.bot_token),
            "app_token": SecretStr(self.slack.app_token),
            "base_url": f"{self.slack.url}/api/",
        }
        setup = Setup(
            account="default",
            settings=SlackSettings.model_validate(values | settings),
            intake=self.ear,
            state=self.memory,
            commands=COMMANDS,
        )
        adapter = SlackAdapter(setup, ping_interval=1.5, patience=6.0)
        self.adapters.append(adapter)
        return adapter

    async def running(self, **settings: object) -> SlackAdapter:
        """Make an adapter, and wait until it hears."""
        adapter, before = self.adapter(**settings), self.slack.push.greeted
        self.runs.append(asyncio.create_task(adapter.run(), name="slack adapter runs"))
        await self.slack.until(lambda: self.slack.push.greeted > before)
        return adapter

    def place(self, chat: str, *, direct: bool = True, thread: str | None = None) -> Address:
        """An address; a thread is named by a message in it, or by any word."""
        found = self.slack.world.chat(chat, is_direct=direct)
        root = self.slack.world.root(found, thread) if thread is not None else None
        return Address(channel="slack", chat=found.id, thread=root, is_direct=direct)

    async def stop(self) -> None:
        """End all runs, and let go of the adapters."""
        for run in self.runs:
            run.cancel()
        for run in self.runs:
            with suppress(asyncio.CancelledError, ChannelError):
                await run
        for adapter in self.adapters:
            await adapter.aclose()
        self.runs.clear()
        self.adapters.clear()


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    async with SlackSimulator() as slack:
        bench = Bench(slack, Ear(), Memory())
        yield bench
        await bench.stop()


def user_id(name: str) -> str:
    return "U" + digest(name)


def final(text: str, **more: object) -> Content:
    return Content(text=text, **more)  # type: ignore[arg-type]  # passed on as they are


def growing(text: str, **more: object) -> Content:
    return Content(text=text, is_final=False, **more)  # type: ignore[arg-type]
