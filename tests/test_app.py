"""The bot as a whole: it opens in order, refuses what can't work, drains, and comes back."""

import asyncio
import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from websockets.asyncio.client import connect

from bot import App, Settings
from bot.bus import Subscription
from bot.errors import ConfigError, HomeInUse, StoreError
from bot.messages import Address, End, OutboundMessage, encoder
from bot.settings import ChannelSettings
from channels.base import Capabilities, ChannelAdapter, Content, Liveness, Setup
from channels.frames import Hello, Over, Send, Welcome, decode_server
from memory.database import DATABASE
from tests.agent.rig import Gate, PlayedBackend, inbound
from tests.bots import settings_for


def get(url: str) -> tuple[int, str]:
    """Fetch a page of the bot; blocks, so call it in a thread."""
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


async def test_a_started_bot_is_ready_and_answers_on_the_page(tmp_path: Path) -> None:
    async with App(settings_for(tmp_path), backend=PlayedBackend()) as app:
        assert app.url is not None
        ready = await asyncio.to_thread(get, f"{app.url}/readyz")
        async with connect(app.url.replace("http", "ws") + "/chat/ws") as socket:
            await socket.send(encoder.encode(Hello()), text=True)
            welcome = decode_server(await socket.recv())
            await socket.send(encoder.encode(Send(id="1", text="hello")), text=True)
            over = None
            while not isinstance(over, Over):
                over = decode_server(await socket.recv())

    assert ready == (200, '{"status":"ready"}')
    assert isinstance(welcome, Welcome)
    assert over.text == "echo: hello "


async def test_a_second_bot_on_the_same_home_is_refused(tmp_path: Path) -> None:
    async with App(settings_for(tmp_path), backend=PlayedBackend()):
        with pytest.raises(HomeInUse, match="is in use by process"):
            async with App(settings_for(tmp_path), backend=PlayedBackend()):
                pass


async def test_a_port_that_is_taken_is_a_clear_error_and_frees_the_home(tmp_path: Path) -> None:
    async with App(settings_for(tmp_path), backend=PlayedBackend()) as app:
        assert app.url is not None
        port = int(app.url.rsplit(":", 1)[1])
        other = tmp_path / "other"
        with pytest.raises(ConfigError, match=f"{port} is in use"):
            async with App(settings_for(other, web={"port": port}), backend=PlayedBackend()):
                pass

        async with App(settings_for(other), backend=PlayedBackend()) as second:
            assert second.url is not None


async def test_a_damaged_database_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / DATABASE).write_bytes(b"this is no database at all, only some bytes" * 100)

    with pytest.raises(StoreError, match="restore"):
        async with App(settings_for(tmp_path), backend=PlayedBackend()):
            pass


async def test_while_it_drains_the_bot_is_not_ready_but_accepts(tmp_path: Path) -> None:
    gate = Gate()
    async with App(settings_for(tmp_path), backend=PlayedBackend(gate.play("a ", "b"))) as app:
        await app.bus.publish(inbound("first"))
        await gate.reached()
        draining = asyncio.create_task(app.drain())
        await asyncio.sleep(0)
        code, text = await asyncio.to_thread(get, f"{app.url}/readyz")
        await app.bus.publish(inbound("second"))
        gate.open()
        await draining
        (left,) = await app.unfinished()

    assert code == 503
    assert "shutting down" in text
    assert left.state == "queued"


async def test_what_was_accepted_while_draining_is_answered_after_the_next_start(tmp_path: Path) -> None:
    async with App(settings_for(tmp_path), backend=PlayedBackend()) as app:
        await app.drain()
        await app.bus.publish(inbound("late"))

    gate = Gate()
    async with App(settings_for(tmp_path), backend=PlayedBackend(gate.play(after="at last"))) as app:
        with app.bus.outbound() as answers:
            gate.open()
            async with asyncio.timeout(10):
                ends = [part async for part in ended(answers)]

    assert [end.text for end in ends] == ["at last"]


async def ended(answers: Subscription[OutboundMessage]) -> AsyncIterator[End]:
    """The next end of a run, and no more."""
    async for part in answers:
        if isinstance(part, End):
            yield part
            return


async def test_the_status_shows_what_runs(tmp_path: Path) -> None:
    gate = Gate()
    async with App(settings_for(tmp_path), backend=PlayedBackend(gate.play("a"))) as app:
        await app.bus.publish(inbound("go"))
        await gate.reached()
        _, text = await asyncio.to_thread(get, f"{app.url}/api/status")
        gate.open()

    status = json.loads(text)
    assert [(turn["session"], turn["stage"]) for turn in status["running"]] == [("web:default:main", "model")]


class Board(ChannelAdapter):
    """A platform of the test's own: a list of messages that can be changed."""

    name = "board"
    liveness = Liveness(is_connected=True)

    def __init__(self, setup: Setup[ChannelSettings]) -> None:
        self._account = setup.account
        self.intake = setup.intake
        self.messages: list[str] = []
        self.changed = asyncio.Condition()

    @property
    def account(self) -> str:
        """See `ChannelAdapter.account`."""
        return self._account

    def capabilities_in(self, address: Address) -> Capabilities:
        """See `ChannelAdapter.capabilities_in`."""
        return Capabilities(edits=True, rates=())

    async def run(self) -> None:
        """See `ChannelAdapter.run`."""
        await asyncio.Event().wait()

    async def post(self, address: Address, content: Content, *, key: str) -> str:
        """See `ChannelAdapter.post`."""
        self.messages.append(content.text)
        await self._tell()
        return str(len(self.messages) - 1)

    async def edit(self, address: Address, platform_id: str, content: Content) -> None:
        """See `ChannelAdapter.edit`."""
        self.messages[int(platform_id)] = content.text
        await self._tell()

    async def _tell(self) -> None:
        async with self.changed:
            self.changed.notify_all()


async def test_a_channel_of_ones_own_gets_each_answer_once(tmp_path: Path) -> None:
    made: asyncio.Future[Board] = asyncio.get_running_loop().create_future()

    def make(setup: Setup[ChannelSettings]) -> Board:
        made.set_result(Board(setup))
        return made.result()

    address = Address(channel="board", chat="1")
    async with App(settings_for(tmp_path), backend=PlayedBackend(), adapters={"board": make}) as app:
        board = await made
        for text in ("one", "two"):
            message = inbound(text, address=address, session=address.session())
            await board.intake.take(message, is_addressed=True)
        async with asyncio.timeout(10), board.changed:
            await board.changed.wait_for(lambda: board.messages == ["echo: one", "echo: two"])

    async with App(settings_for(tmp_path), backend=PlayedBackend(), adapters={"board": Board}) as app:
        assert await app.store.outbox.pending("board") == []


def test_settings_of_a_bot_made_in_code_need_no_environment(tmp_path: Path) -> None:
    assert Settings(home=tmp_path).data_dir == tmp_path


def test_the_collector_that_is_off_until_the_bot_is_ready_works_from_then_on() -> None:
    """In a process of its own, as it holds for a whole one."""
    code = (
        "import gc; gc.disable(); from bot.app import calm_collector; calm_collector();"
        " print(gc.isenabled(), gc.get_freeze_count() > 0)"
    )

    done = subprocess.run((sys.executable, "-c", code), check=True, capture_output=True, timeout=60)

    assert done.stdout.split() == [b"True", b"True"]
