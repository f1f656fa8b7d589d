"""What is special about the backend on the OpenAI Agents SDK: when it is loaded, and what it leaves alone."""

import asyncio
import subprocess
import sys
from pathlib import Path

from pydantic import SecretStr

from bot.agent.choice import Choice
from bot.backends.base import ErrorEvent, MessageEvent
from bot.backends.openai_agents.backend import OpenAIAgentsBackend
from bot.backends.openai_agents.pipe import MOST_WAITING, Pipe
from bot.backends.registry import BackendSetup
from bot.backends.router import Router
from bot.messages import SessionKey
from bot.models.providers import ModelSetup
from bot.settings import LocalSettings, OpenAISettings
from tests.backends.conformance.rig import PlayedTools, shown, turn_of
from tests.simulators.model import ModelServer

ROOT = Path(__file__).parents[2]
NATIVE, OTHER = SessionKey("web:default:native"), SessionKey("web:default:other")


def setup(server: ModelServer | None, data_dir: Path) -> BackendSetup:
    """Settings that name a server, or nothing."""
    openai = (
        OpenAISettings() if server is None else OpenAISettings(base_url=server.url, api_key=SecretStr("k"))
    )
    models = ModelSetup(
        provider="openai",
        model="sim-1",
        fallback_models=(),
        data_dir=data_dir,
        openai=openai,
        local=LocalSettings(),
    )
    return BackendSetup(models=models, turn_seconds=30)


class OneChoice:
    """One session has chosen a backend."""

    def __init__(self, backend: str) -> None:
        self._backend = backend

    def of(self, session: SessionKey) -> Choice:
        return Choice(backend=self._backend if session == OTHER else None)


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    """Run code in a fresh interpreter."""
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT, timeout=30
    )


async def test_one_session_changes_over_and_the_others_stay(tmp_path: Path) -> None:
    async with ModelServer(key="k") as server:
        router = Router("native", setup(server, tmp_path), choices=OneChoice("openai_agents"))
        backend = await router.backend(OTHER)
        events = [event async for event in backend.run(turn_of(tools=PlayedTools()))]
        native = await router.backend(NATIVE)
        await router.aclose()

    assert isinstance(backend, OpenAIAgentsBackend)
    assert not isinstance(native, OpenAIAgentsBackend)
    assert shown(events) == "echo: hi"
    assert server.requests[0].body["model"] == "sim-1"


async def test_a_choice_that_cannot_be_loaded_is_told_to_the_person(tmp_path: Path) -> None:
    async with ModelServer() as server:
        router = Router("native", setup(server, tmp_path), choices=OneChoice("gone"))
        backend = await router.backend(OTHER)
        (event,) = [event async for event in backend.run(turn_of(tools=PlayedTools()))]
        await router.aclose()

    assert isinstance(event, ErrorEvent)
    assert "no backend 'gone'" in event.content
    assert "/backend default" in event.content


async def test_without_a_key_the_answer_says_which_to_set(tmp_path: Path) -> None:
    router = Router("openai_agents", setup(None, tmp_path))
    backend = await router.backend(OTHER)
    (event,) = [event async for event in backend.run(turn_of(tools=PlayedTools()))]
    await router.aclose()

    assert isinstance(event, ErrorEvent)
    assert "OPENAI_API_KEY" in event.content


def test_nothing_of_it_is_loaded_before_a_session_wants_it() -> None:
    done = run_python(
        "import sys, bot.backends.router, bot.backends.native, bot.commands.models\n"
        "from bot.backends.registry import resolve_backend\n"
        "resolve_backend('openai_agents')\n"
        "raise SystemExit(', '.join({'agents', 'openai', 'mcp'} & set(sys.modules)) or 0)"
    )

    assert (done.returncode, done.stderr) == (0, "")


def test_a_missing_package_is_an_error_that_names_the_extra() -> None:
    done = run_python(
        "import sys\nsys.modules['agents'] = None\n"
        "from bot.backends.registry import load_factory, resolve_backend\n"
        "load_factory(resolve_backend('openai_agents'))"
    )

    assert "ConfigError" in done.stderr
    assert "pip install 'switchboard-bot[agents]'" in done.stderr


def test_a_turn_is_not_traced_so_no_thread_begins_that_would_send_traces_away() -> None:
    done = run_python(
        "import asyncio, threading\n"
        "from bot.backends.openai_agents.backend import OpenAIAgentsBackend\n"
        "from tests.backends.conformance.rig import PlayedTools, turn_of\n"
        "from tests.backends.conformance.test_client import STOP, PlayedClient, TextDelta\n"
        "async def main():\n"
        "    backend = OpenAIAgentsBackend(PlayedClient((TextDelta(text='ok'), STOP)), model='m')\n"
        "    print(*[event.type async for event in backend.run(turn_of(tools=PlayedTools()))])\n"
        "asyncio.run(main())\n"
        "print(threading.active_count())"
    )

    assert (done.stdout, done.stderr) == ("message done\n1\n", "")


async def test_a_reader_who_is_slow_holds_the_work_up(tmp_path: Path) -> None:
    pipe, put = Pipe(), 0

    async def work() -> None:
        nonlocal put
        for _ in range(3 * MOST_WAITING):
            await pipe.put(MessageEvent(content="a"))
            put += 1
        pipe.close()

    task = asyncio.create_task(work())
    await asyncio.sleep(0)
    ahead = put
    read = [event async for event in pipe.read()]
    await task

    assert ahead == MOST_WAITING
    assert len(read) == 3 * MOST_WAITING
