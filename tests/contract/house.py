"""The whole bot on a simulated platform, with an agent that a test plays."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from bot.app import App
from bot.backends.base import AgentEvent, DoneEvent, MessageEvent, TurnInput
from bot.settings import Settings
from tests.agent.rig import Play, PlayedBackend, echo
from tests.bots import EVERYBODY
from tests.simulators.platform import PATIENCE, Simulator

SIMULATORS = {
    "telegram": "tests.simulators.telegram:TelegramSimulator",
    "discord": "tests.simulators.discord:DiscordSimulator",
    "slack": "tests.simulators.slack:SlackSimulator",
    "feishu": "tests.simulators.feishu:FeishuSimulator",
}
LOOK = 0.02  # seconds between two looks at what nobody tells of
PLATFORMS = tuple(SIMULATORS)


def new_simulator(name: str) -> Simulator:
    """A simulator of a platform, not started; only its own code is loaded."""
    module, _, attribute = SIMULATORS[name].partition(":")
    simulator: Simulator = getattr(import_module(module), attribute)()
    return simulator


def as_settings(home: Path, variables: Mapping[str, str], **changes: object) -> Settings:
    """Settings as these environment variables would make them."""
    given: dict[str, Any] = {  # `Any`: nested as deep as the settings are
        "home": home,
        "web": {"port": 0},
        "store": {"synchronous": "NORMAL"},
        "access": dict(EVERYBODY),
        "shutdown_grace": 5,
    }
    for name, value in variables.items():
        *path, last = name.removeprefix("BOT_").lower().split("__")
        place = given
        for part in path:
            place = place.setdefault(part, {})
        place[last] = value
    for name, change in changes.items():
        if isinstance(change, dict):
            given.setdefault(name, {}).update(change)
        else:
            given[name] = change
    return Settings(**given)


@dataclass(slots=True)
class House:
    """A simulator and the bot that lives on it."""

    simulator: Simulator
    app: App
    backend: PlayedBackend

    @property
    def prompts(self) -> list[str]:
        """What the agent was asked, turn by turn: the person's part."""
        return [turn.messages[-1].content for turn in self.backend.turns]


@asynccontextmanager
async def living(
    simulator: Simulator, home: Path, play: Play = echo, **changes: object
) -> AsyncIterator[House]:
    """A bot that lives on a platform; it may be let in and out several times."""
    backend = PlayedBackend(play)
    section = {simulator.name: changes.pop("channel", {})}
    settings = as_settings(home, simulator.settings, **section, **changes)
    async with App(settings, backend=backend) as app:
        await connected(app)
        yield House(simulator, app, backend)


async def connected(app: App) -> None:
    """Wait until the bot hears its platforms; an SDK tells nobody when that is, so it is looked at."""
    async with asyncio.timeout(PATIENCE):
        while not all(state.is_connected for state in app.platforms.states()):  # noqa: ASYNC110
            await asyncio.sleep(LOOK)


async def until(claim: Callable[[], bool]) -> None:
    """Wait until something about the bot itself is true."""
    async with asyncio.timeout(PATIENCE):
        while not claim():  # noqa: ASYNC110
            await asyncio.sleep(LOOK)


def says(*pieces: str) -> Play:
    """An agent that always answers with these pieces."""

    async def answer(turn: TurnInput) -> AsyncIterator[AgentEvent]:
        for piece in pieces:
            yield MessageEvent(content=piece)
        yield DoneEvent()

    return answer
