"""A bot on the real SDK that only listens, for the tests of the simulated Discord itself."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import discord
import pytest
import yarl

from tests.simulators.discord import DiscordSimulator


class Listener(discord.Client):
    """A bot that writes down what it hears."""

    def __init__(self, simulator: DiscordSimulator) -> None:
        intents = discord.Intents(guilds=True, messages=True, message_content=True)
        super().__init__(intents=intents, guild_ready_timeout=0.1, max_ratelimit_timeout=30)
        self.simulator = simulator
        self.heard: list[discord.Message] = []
        self.edited: list[str] = []
        self.deleted: list[int] = []
        self.used: list[discord.Interaction[Any]] = []
        self.resumes = 0
        self.readies = 0

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        """Wait for nothing; the SDK would wait five seconds."""

    async def on_ready(self) -> None:
        self.readies += 1
        await self.simulator.tell()

    async def on_message(self, message: discord.Message) -> None:
        if message.author != self.user:
            self.heard.append(message)
            await self.simulator.tell()

    async def on_raw_message_edit(self, event: discord.RawMessageUpdateEvent) -> None:
        self.edited.append(event.data["content"])
        await self.simulator.tell()

    async def on_raw_message_delete(self, event: discord.RawMessageDeleteEvent) -> None:
        self.deleted.append(event.message_id)
        await self.simulator.tell()

    async def on_raw_bulk_message_delete(self, event: discord.RawBulkMessageDeleteEvent) -> None:
        self.deleted.extend(event.message_ids)
        await self.simulator.tell()

    async def on_interaction(self, interaction: discord.Interaction[Any]) -> None:
        self.used.append(interaction)
        await self.simulator.tell()

    async def on_resumed(self) -> None:
        self.resumes += 1
        await self.simulator.tell()

    @property
    def texts(self) -> list[str]:
        """What was heard."""
        return [message.content for message in self.heard]


def point(monkeypatch: pytest.MonkeyPatch, platform: DiscordSimulator) -> None:
    """Point the SDK at the simulator; it has no public way for that."""
    monkeypatch.setattr(discord.http.Route, "BASE", f"{platform.url}/api/v10")
    gateway = yarl.URL(platform.settings["BOT_DISCORD__GATEWAY_URL"])
    monkeypatch.setattr(discord.gateway.DiscordWebSocket, "DEFAULT_GATEWAY", gateway)


@asynccontextmanager
async def listening(platform: DiscordSimulator) -> AsyncIterator[Listener]:
    """A bot that is connected."""
    client = Listener(platform)
    running = asyncio.create_task(client.start(platform.token))
    try:
        await platform.until(lambda: client.readies == 1)
        yield client
    finally:
        await client.close()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def spoken_to(platform: DiscordSimulator, bot: Listener, text: str = "hello") -> discord.Message:
    """The message that begins a direct chat."""
    await platform.user_says("ann", text)
    await platform.until(lambda: text in bot.texts)
    return bot.heard[-1]


async def call(
    platform: DiscordSimulator, path: str, body: object, *, method: str = "POST", token: str | None = None
) -> tuple[int, dict[str, Any]]:
    """A call without the SDK."""
    headers = {"Authorization": f"Bot {token or platform.token}"}
    async with (
        aiohttp.ClientSession(headers=headers) as session,
        session.request(method, f"{platform.url}/api/v10{path}", json=body) as response,
    ):
        return response.status, await response.json() if response.status != 204 else {}
