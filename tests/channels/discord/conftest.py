"""A simulated server, an adapter that hears it, and what an adapter is given."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass, field

import pytest
from pydantic import SecretStr

from bot.commands.spec import Argument, CommandSpec
from bot.errors import ChannelError, StoreError
from bot.messages import Address, InboundMessage
from bot.settings import DiscordSettings
from channels.base import Content, Setup
from channels.discord.adapter import DiscordAdapter
from tests.simulators.discord import DiscordSimulator

LOOK = 0.01  # seconds between two looks at what nobody tells of
STATES = Argument(name="status", help="How I am shown", choices=("online", "dnd"), is_required=True)
ACTIVITY = Argument(name="activity", help="What I do", kind="rest")
COMMANDS = (
    CommandSpec(name="help", help="What I can do.", native="help"),
    CommandSpec(name="switch", help="Go on.", native="switch", arguments=(ACTIVITY,)),
    CommandSpec(
        name="admin setstatus",
        help="How I am shown.",
        native="setstatus",
        is_admin=True,
        arguments=(STATES, ACTIVITY),
    ),
    CommandSpec(name="hidden", help="Listed nowhere."),
)


class Ear:
    """An intake that keeps what it is given, each message once.

    Attributes:
        failures: How many takes fail from now on.
        delay: Seconds that a take lasts.
    """

    def __init__(self) -> None:
        self.taken: dict[str, InboundMessage] = {}
        self.addressed: dict[str, bool] = {}
        self.takes = 0
        self.failures = 0
        self.delay = 0.0
        self._news = asyncio.Condition()

    async def take(self, message: InboundMessage, *, is_addressed: bool) -> None:
        await asyncio.sleep(self.delay)
        async with self._news:
            self.takes += 1
            self._news.notify_all()
            if self.failures > 0:
                self.failures -= 1
                raise StoreError("the disk is full")
            self.taken.setdefault(message.dedupe_key, message)
            self.addressed.setdefault(message.platform_id, is_addressed)

    @property
    def texts(self) -> list[str]:
        return [one.text for one in self.taken.values()]

    async def heard(self, text: str) -> InboundMessage:
        """Wait for a message that says so."""
        await self.until(lambda: text in self.texts)
        return next(one for one in self.taken.values() if one.text == text)

    async def until(self, claim: Callable[[], bool]) -> None:
        async with asyncio.timeout(15), self._news:
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

    discord: DiscordSimulator
    ear: Ear
    memory: Memory
    adapters: list[DiscordAdapter] = field(default_factory=list)
    runs: list[asyncio.Task[None]] = field(default_factory=list)

    def adapter(
        self,
        *,
        account: str = "default",
        presence: tuple[str, str | None] | None = None,
        patience: float = 10.0,
        silence: float = 20.0,
        **settings: object,
    ) -> DiscordAdapter:
        """Make another adapter, as after a restart."""
        values: dict[str, object] = {
            "token": SecretStr(self.discord.token),
            "api_url": self.discord.settings["BOT_DISCORD__API_URL"],
            "gateway_url": self.discord.settings["BOT_DISCORD__GATEWAY_URL"],
        }
        setup = Setup(
            account=account,
            settings=DiscordSettings.model_validate(values | settings),
            intake=self.ear,
            state=self.memory,
            commands=COMMANDS,
            presence=presence,
        )
        adapter = DiscordAdapter(setup, patience=patience, silence=silence)
        self.adapters.append(adapter)
        return adapter

    async def running(self, adapter: DiscordAdapter | None = None) -> DiscordAdapter:
        """Let an adapter run, and wait until it hears."""
        adapter = adapter or self.adapter()
        self.runs.append(asyncio.create_task(adapter.run(), name="discord adapter runs"))
        await until(lambda: adapter.liveness.is_connected)
        return adapter

    def place(self, chat: str, *, direct: bool = True, thread: str | None = None) -> Address:
        """An address; a thread is named by the message that it began with."""
        world = self.discord.world
        channel = world.direct(chat, world.person(chat)) if direct else world.channel(chat)
        place = world.thread(channel, thread).id if thread is not None else None
        return Address(channel="discord", chat=channel.id, thread=place, is_direct=direct)

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


async def until(claim: Callable[[], bool]) -> None:
    """Wait until something about an adapter is true."""
    async with asyncio.timeout(15):
        while not claim():  # noqa: ASYNC110
            await asyncio.sleep(LOOK)


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    async with DiscordSimulator() as discord:
        bench = Bench(discord, Ear(), Memory())
        yield bench
        await bench.stop()


def final(text: str, **more: object) -> Content:
    return Content(text=text, **more)  # type: ignore[arg-type]  # passed on as they are


def growing(text: str, **more: object) -> Content:
    return Content(text=text, is_final=False, **more)  # type: ignore[arg-type]
