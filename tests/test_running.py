"""The running bot as commands steer it: its name, its settings, what it tells to many chats."""

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from bot.agent.prompt import PromptBuilder
from bot.agent.workspace import Workspace
from bot.bus import LocalBus
from bot.commands.engine import Activity, ChannelState
from bot.errors import ConfigError, StoreError
from bot.messages import Address, End, RunId, SessionKey
from bot.models.base import ModelProfile
from bot.running import RunningBot
from bot.settings import load_settings
from memory.store import Store
from tests.agent.rig import Gate, Rig, rig


class TwoAccounts:
    """Platforms with one account that is up and one that is down."""

    def __init__(self) -> None:
        self.presence: list[tuple[str, str | None]] = []

    def states(self) -> Sequence[ChannelState]:
        return [
            ChannelState(channel="telegram", account="default"),
            ChannelState(channel="telegram", account="two", is_connected=False, cause="down"),
        ]

    async def set_presence(self, status: str, activity: str | None) -> list[str]:
        self.presence.append((status, activity))
        return ["discord"]


class Shown:
    bot_name = "Rosie"


@pytest.fixture(autouse=True)
def level() -> Iterator[None]:
    """Reloading changes the level of the root logger."""
    before = logging.getLogger().level
    yield
    logging.getLogger().setLevel(before)


def running(store: Store, bus: LocalBus | None = None) -> RunningBot:
    bot = RunningBot(
        load_settings(),
        model="sim-1",
        bus=bus or LocalBus(),
        outbox=store.outbox,
        journal=store.journal,
        on_restart=lambda: None,
        live_channels=("web", "terminal"),
    )
    bot.platforms = TwoAccounts()
    return bot


def in_rig(place: Rig, tmp_path: Path) -> RunningBot:
    bot = running(place.store, place.bus)
    bot.loop = place.loop
    bot.prompts = PromptBuilder(
        name=bot.name, workspace=Workspace(tmp_path / "workspace"), top_k=3, max_tokens=100
    )
    return bot


def write_dotenv(text: str) -> None:
    Path(".env").write_text(text, "utf-8")


async def test_a_new_name_is_used_everywhere_at_once(tmp_path: Path) -> None:
    write_dotenv("BOT_NAME=Rosie")
    shown = Shown()
    async with rig(tmp_path) as place:
        bot = in_rig(place, tmp_path)
        bot.named.append(shown)
        name = await bot.rename("Ada")
        preamble = await bot.prompts.preamble(ModelProfile(window=8_000, max_output=1_000))
        await place.say("hello")
        await place.ended(1)
        speakers = [line.speaker for line in await place.history()]

        assert (name, bot.name, shown.bot_name) == ("Ada", "Ada", "Ada")
        assert bot.names() == ("Ada", "Rosie")
        assert "You are Ada" in preamble.content
        assert speakers == ["Ann", "Ada"]
        assert await bot.rename(None) == "Rosie"
        assert bot.names() == ("Rosie",)


async def test_what_goes_on_is_told(tmp_path: Path) -> None:
    gate = Gate()
    async with rig(tmp_path, gate.play()) as place:
        bot = in_rig(place, tmp_path)
        session = SessionKey("web:default:main")
        idle = bot.activity(session)
        await place.say("one")
        await place.say("two")
        await gate.reached()
        busy, running_now = bot.activity(session), bot.running
        gate.open()
        await place.ended(2)

        assert idle == Activity(waiting=0)
        assert (busy.stage, busy.waiting, running_now) == ("model", 1, 1)
        assert bot.uptime >= 0


async def test_every_channel_is_listed_with_its_state(store: Store) -> None:
    states = running(store).channels()

    assert [(state.channel, state.is_connected) for state in states] == [
        ("terminal", True),
        ("web", True),
        ("telegram", True),
        ("telegram", False),
    ]


async def test_presence_is_passed_on(store: Store) -> None:
    assert await running(store).set_presence("idle", None) == ["discord"]


async def test_the_log_level_changes_until_it_is_taken_back(store: Store) -> None:
    write_dotenv("BOT_LOG__LEVEL=ERROR")
    bot = running(store)

    assert bot.set_log_level("DEBUG") == "DEBUG"
    assert logging.getLogger().level == logging.DEBUG
    assert bot.set_log_level(None) == "ERROR"
    assert logging.getLogger().level == logging.ERROR


async def test_reloading_changes_admins_and_log_level_at_once(store: Store) -> None:
    write_dotenv("BOT_ADMINS=telegram:1")
    bot = running(store)
    admins = bot.admins
    write_dotenv("BOT_ADMINS=telegram:2,discord:3\nBOT_LOG__LEVEL=ERROR")
    lines = await bot.reload()

    assert lines == ["admins: telegram:2, discord:3", "log level: ERROR"]
    assert admins == {"telegram:2", "discord:3"}
    assert logging.getLogger().level == logging.ERROR


async def test_what_can_not_change_now_is_told_at_every_reload_until_the_next_start(store: Store) -> None:
    bot = running(store)
    write_dotenv("BOT_NAME=Ada\nBOT_WEB__PORT=9\nBOT_LOG__FORMAT=json")
    first, second = await bot.reload(), await bot.reload()

    assert "at the next start: log, name, web" in first
    assert second == first
    assert bot.name == "Switchboard"


async def test_reloading_twice_tells_of_nothing_new(store: Store) -> None:
    bot = running(store)
    write_dotenv("BOT_ADMINS=telegram:2")
    first, second = await bot.reload(), await bot.reload()

    assert (first, second) == (["admins: telegram:2"], [])


async def test_settings_that_can_not_be_used_change_nothing(store: Store) -> None:
    write_dotenv("BOT_ADMINS=telegram:1")
    bot = running(store)
    write_dotenv("BOT_ADMINS=nobody\nBOT_LOG__LEVEL=ERROR")
    with pytest.raises(ConfigError):
        await bot.reload()

    assert bot.admins == {"telegram:1"}


async def test_a_broadcast_goes_into_the_outbox_of_every_platform_but_not_to_the_page(store: Store) -> None:
    bus = LocalBus()
    heard = bus.outbound()
    addresses = [Address(channel=channel, chat="main") for channel in ("telegram", "web", "discord")]
    count = await running(store, bus).broadcast("Back soon.", addresses)

    sent = [heard.take(), heard.take(), heard.take()]
    assert count == 2
    assert [message.address.channel for message in sent if message is not None] == ["telegram", "discord"]
    assert all(isinstance(message, End) for message in sent[:2])
    assert len(await store.outbox.pending("telegram")) == len(await store.outbox.pending("discord")) == 1


async def test_a_message_that_is_not_parked_can_not_be_tried_again(tmp_path: Path) -> None:
    async with rig(tmp_path) as place:
        with pytest.raises(StoreError, match="no parked message"):
            await in_rig(place, tmp_path).retry(RunId("0199"))
