"""The tools of a whole bot: which there are, who has to agree to a call, and what is left at the end."""

import asyncio
import shutil
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
import pytest

from bot.agent.control import is_operator
from bot.app.parts import workshop_settings
from bot.backends.base import ToolResultEvent
from bot.extension import Parts
from bot.hooks import BeforeToolCall, ChangeArguments, Deny, Hooks, RequireApproval
from bot.messages import End, Role, Sender, SessionKey
from bot.models.base import FunctionCall, ToolCall
from bot.plugins import Plugin
from bot.tools.base import Tool
from bot.tools.declare import declare
from bot.workshop import KEEP_RESULTS, Workshop
from security.bubblewrap import BubblewrapSandbox
from security.network import Network
from security.sandbox import NoSandbox
from tests.agent.rig import Rig, inbound, rig
from tests.bots import settings_for

ROUGH = Path(__file__).parent / "tools" / "mcp_servers" / "rough.py"
BUILT_IN = {"ask_question", "summary", "read_result", "read", "write", "send_message", "send_file"}
OWNER = Sender(id="ann", name="Ann", role=Role.OWNER)


class Works:
    """A workshop beside a running loop."""

    def __init__(self, workshop: Workshop, bot: Rig) -> None:
        self.workshop = workshop
        self.bot = bot

    @property
    def names(self) -> set[str]:
        return {tool.name for tool in self.workshop.registry.tools}

    async def call(self, name: str, arguments: str = "{}") -> ToolResultEvent:
        """What comes of a call that the owner's turn makes."""
        tools = self.workshop.box.tools_for(inbound("go", sender=OWNER), None)
        async with asyncio.timeout(10):
            return await tools.call(ToolCall(id="1", function=FunctionCall(name=name, arguments=arguments)))

    async def press(self, question: End, number: int) -> None:
        await self.bot.say(question.buttons[number].value, sender=OWNER)


@asynccontextmanager
async def works(
    home: Path, changes: Mapping[str, object] | None = None, *, hooks: Hooks | None = None
) -> AsyncIterator[Works]:
    """A furnished workshop."""
    settings = workshop_settings(settings_for(home, **(changes or {})))
    settings.workspace.mkdir(exist_ok=True)
    async with rig(home) as bot:
        workshop = Workshop(
            settings,
            questions=bot.loop.questions,
            permissions=bot.store.state("bot", "approvals"),
            audit=bot.audit,
            hooks=hooks or Hooks(),
            is_operator=lambda message: is_operator(message, ()),
        )
        async with workshop:
            workshop.furnish(bot.loop.speaker, bot.store.chats)
            yield Works(workshop, bot)


def own(name: str) -> Tool:
    """A tool that needs a permission."""

    async def echo(text: str = "") -> str:
        """Say it back."""
        return f"heard {text}"

    return declare(echo, name=name, risk="exec")


# --- what there is


async def test_a_workshop_has_the_tools_that_need_nothing(home: Path) -> None:
    async with works(home) as here:
        assert here.names >= BUILT_IN
        assert not here.names & {"exec", "process", "script", "web_fetch"}


async def test_a_furnished_workshop_is_not_furnished_twice(home: Path) -> None:
    async with works(home) as here:
        before = here.names
        with pytest.raises(ValueError, match="two tools named"):
            here.workshop.furnish(here.bot.loop.speaker, here.bot.store.chats)

        assert here.names == before


@pytest.mark.parametrize("url", [None, "http://127.0.0.1:1"])
async def test_tools_for_the_network_come_with_it(home: Path, url: str | None) -> None:
    search = {"search": {"url": url}} if url is not None else None
    async with Network() as network, works(home, search) as here:
        here.workshop.furnish_network(network, network)

        assert {"web_fetch", "web_search"} <= here.names


async def test_commands_are_there_only_with_a_sandbox(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    async with works(home) as here:
        await here.workshop.add_commands(NoSandbox("there is no bubblewrap"))

        assert "exec" not in here.names
        assert "no commands can be run" in caplog.text


async def test_a_plugin_whose_names_are_taken_brings_nothing_and_the_next_one_does(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    plugins = [
        Plugin(name="bad", place="bad.py", parts=Parts(tools=(own("fresh"), own("read")))),
        Plugin(name="good", place="good.py", parts=Parts(tools=(own("useful"),))),
    ]
    async with works(home) as here:
        here.workshop.add_plugins(plugins)

        assert "useful" in here.names
        assert "fresh" not in here.names
        assert "tools of a plugin left out" in caplog.text


# --- MCP servers


def rough() -> dict[str, object]:
    return {"mcp": {"one": {"command": sys.executable, "args": ("-S", str(ROUGH))}}}


async def test_tools_of_servers_come_when_they_are_connected_and_go_with_the_bot(home: Path) -> None:
    before = children()
    async with works(home, rough()) as here:
        await here.workshop.open_mcp()
        await until(here, "one__")
        started = children() - before

    assert started
    assert not started & children()


def children() -> set[psutil.Process]:
    """The processes of ours that run."""
    found = psutil.Process().children(recursive=True)
    return {child for child in found if child.is_running() and child.status() != psutil.STATUS_ZOMBIE}


async def until(here: Works, prefix: str) -> None:
    async with asyncio.timeout(20):
        while not any(name.startswith(prefix) for name in here.names):  # noqa: ASYNC110  # nothing tells
            await asyncio.sleep(0.005)


async def test_a_server_whose_tools_have_names_of_ours_is_left_out(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with works(home, rough()) as here:
        await here.workshop.open_mcp()
        await until(here, "one__")
        theirs = {name for name in here.names if name.startswith("one__")}
    async with works(home, rough()) as here:
        mine = own(min(theirs))
        here.workshop.registry.add([mine])
        await here.workshop.open_mcp()
        async with asyncio.timeout(20):
            while "tools of MCP servers left out" not in caplog.text:  # noqa: ASYNC110
                await asyncio.sleep(0.005)

        assert {tool for tool in here.workshop.registry.tools if tool.name.startswith("one__")} == {mine}


# --- who has to agree


async def test_a_hook_is_asked_before_the_approval_which_shows_what_will_run(home: Path) -> None:
    hooks = Hooks()
    hooks.on(BeforeToolCall, lambda event: ChangeArguments(arguments={"text": "changed"}))
    async with works(home, hooks=hooks) as here, asyncio.TaskGroup() as group:
        here.workshop.registry.add([own("shout")])
        called = group.create_task(here.call("shout", '{"text": "given"}'))
        (question,) = await here.bot.ended(1)
        await here.press(question, 0)

        assert '{"text":"changed"}' in question.text
        assert (await called).content == "heard changed"


async def test_what_a_hook_denies_is_asked_of_nobody(home: Path) -> None:
    hooks = Hooks()
    hooks.on(BeforeToolCall, lambda event: Deny(reason="not today"))
    async with works(home, hooks=hooks) as here:
        here.workshop.registry.add([own("shout")])
        result = await here.call("shout")

        assert (result.status, result.content) == ("error", "Not allowed: not today")
        assert here.bot.ends == []


async def test_what_a_hook_wants_approved_is_not_approved_by_the_rules(home: Path) -> None:
    hooks = Hooks()
    hooks.on(BeforeToolCall, lambda event: RequireApproval(title="Really?", seconds=5))
    rules = {"approvals": {"rules": {"shout": {"mode": "auto"}}}}
    async with works(home, rules, hooks=hooks) as here, asyncio.TaskGroup() as group:
        here.workshop.registry.add([own("shout")])
        called = group.create_task(here.call("shout"))
        (question,) = await here.bot.ended(1)
        await here.press(question, 1)

        assert "Really?" in question.text
        assert (await called).status == "error"


@pytest.mark.parametrize("chat", ["web:default:admins", "web:default:-100:5"])
async def test_both_ask_in_the_chat_of_the_setting(home: Path, chat: str) -> None:
    hooks = Hooks()
    hooks.on(BeforeToolCall, lambda event: RequireApproval(title="Really?", seconds=5))
    async with works(home, {"approvals": {"chat": chat}}, hooks=hooks) as here, asyncio.TaskGroup() as group:
        here.workshop.registry.add([own("shout")])
        called = group.create_task(here.call("shout"))
        (first,) = await here.bot.ended(1)
        await here.press(first, 0)
        await here.bot.until(lambda: sum(bool(end.buttons) for end in here.bot.ends) == 2)
        second = here.bot.ends[-1] if here.bot.ends[-1].buttons else here.bot.ends[-2]
        await here.press(second, 0)

        assert (await called).content == "heard "
    assert [question.address.session() for question in (first, second)] == [chat, chat]


async def test_nobody_answers_within_the_time_of_the_setting(home: Path) -> None:
    async with works(home, {"approvals": {"timeout": 0.02}}) as here:
        here.workshop.registry.add([own("shout")])
        result = await here.call("shout")

    assert result.status == "error"
    assert "did not answer within 0.02 s" in result.content


# --- what is kept, and what is left


async def test_results_that_are_too_long_are_kept_until_their_session_goes(home: Path) -> None:
    async def long(text: str = "") -> str:
        """Say a lot."""
        return "word " * 1_000

    async with works(home, {"tools": {"result_limit": 1_000}}) as here:
        here.workshop.registry.add([declare(long)])
        result = await here.call("long")
        kept = files(home / "artifacts")
        await here.workshop.sweep()
        after_sweep = files(home / "artifacts")
        await here.workshop.forget(SessionKey("web:default:other"))
        after_other = files(home / "artifacts")
        await here.workshop.forget(SessionKey("web:default:main"))

    assert len(result.content) <= 1_100
    assert kept == after_sweep == after_other != []
    assert files(home / "artifacts") == []
    assert KEEP_RESULTS == 30 * 24 * 3_600


def files(directory: Path) -> list[Path]:
    return sorted(path for path in directory.rglob("*") if path.is_file())


@pytest.fixture
def bubblewrap() -> None:
    if shutil.which("bwrap") is None:
        pytest.fail("this test needs bubblewrap: apt-get install bubblewrap")


@pytest.mark.usefixtures("bubblewrap")
async def test_programs_end_with_their_session_or_with_the_bot(home: Path) -> None:
    def running() -> int:
        return sum(child.name() == "sleep" for child in children())

    rules = {"approvals": {"rules": {"*": {"mode": "auto"}}}}
    async with works(home, rules) as here:
        await here.workshop.add_commands(BubblewrapSandbox(home / "workspace"))
        started = await here.call("process", '{"action": "start", "command": "sleep 300"}')
        at_first = running()
        await here.workshop.forget(SessionKey("web:default:main"))
        forgotten = running()
        await here.call("process", '{"action": "start", "command": "sleep 300"}')
        again = running()

    assert started.status == "ok"
    assert (at_first > 0, forgotten, again > 0) == (True, 0, True)
    assert running() == 0


async def test_a_tool_that_hangs_is_stopped_with_the_bot(home: Path) -> None:
    reached = asyncio.Event()

    async def hang() -> str:
        """Never end."""
        reached.set()
        await asyncio.Event().wait()
        return "never"

    async with works(home) as here:
        here.workshop.registry.add([declare(hang)])
        called = asyncio.create_task(here.call("hang"))
        await reached.wait()

    assert (await called).status == "error"
