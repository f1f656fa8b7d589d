"""From a session to its backend: names, what is missing, what is loaded and when."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import SecretStr

from bot.backends.base import (
    AgentEvent,
    Capability,
    DoneEvent,
    ErrorEvent,
    MessageEvent,
    NoTools,
    RetryEvent,
    TurnInput,
)
from bot.backends.native import NativeBackend
from bot.backends.registry import BACKENDS, LEGACY, BackendSetup, load_factory, resolve_backend
from bot.backends.router import Router
from bot.backends.unready import UnreadyBackend
from bot.errors import ConfigError
from bot.messages import RunId, SessionKey
from bot.models.base import ModelProfile, PromptMessage
from bot.models.demo import demo_model_path
from bot.models.providers import DEFAULT_MODEL, ModelSetup, Provider, find_fault
from bot.settings import LocalSettings, OpenAISettings
from tests.simulators.model import ModelServer, Reply, fail, say

ROOT = Path(__file__).parents[2]
SESSION = SessionKey("web:default:main")


def setup(
    data_dir: Path,
    openai: OpenAISettings | None = None,
    *,
    provider: Provider = "openai",
    fallback_models: tuple[str, ...] = (),
) -> BackendSetup:
    models = ModelSetup(
        provider=provider,
        model=None,
        fallback_models=fallback_models,
        data_dir=data_dir,
        openai=openai or OpenAISettings(),
        local=LocalSettings(),
    )
    return BackendSetup(models=models, turn_seconds=30)


async def ask(router: Router, text: str = "hello") -> list[AgentEvent]:
    backend = await router.backend(SESSION)
    message = PromptMessage(role="user", content=text)
    turn = TurnInput(session=SESSION, run=RunId("r"), messages=(message,), prompt_tokens=5, tools=NoTools())
    return [event async for event in backend.run(turn)]


def text_of(events: list[AgentEvent]) -> str:
    text = ""
    for event in events:
        if isinstance(event, MessageEvent):
            text = event.content if event.replaces else text + event.content
    return text


@pytest.mark.parametrize("name", [*BACKENDS, *LEGACY])
def test_every_known_name_leads_to_a_factory(name: str) -> None:
    assert callable(load_factory(resolve_backend(name)))


def test_an_unknown_name_is_refused_with_those_that_are_known(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"'nativ'.*native"):
        Router("nativ", setup(tmp_path))


def test_a_backend_that_cannot_be_loaded_says_what_it_needs() -> None:
    with pytest.raises(ConfigError, match="needs no_such_sdk"):
        load_factory("no_such_sdk:open")
    with pytest.raises(ConfigError, match="no function 'missing'"):
        load_factory("bot.backends.native:missing")


async def test_a_turn_goes_through_to_the_server(tmp_path: Path) -> None:
    async with ModelServer(key="k") as server:
        openai = OpenAISettings(base_url=server.url, api_key=SecretStr("k"), max_output=100)
        router = Router("native", setup(tmp_path, openai))
        await router.warm_up()
        events = await ask(router)
        await router.aclose()

    assert text_of(events) == "echo: hello"
    assert events[-1] == DoneEvent(reason="stop")
    assert server.requests[0].body["model"] == DEFAULT_MODEL
    assert server.requests[0].body["max_completion_tokens"] == 100


async def test_faults_of_the_server_do_not_reach_the_answer(tmp_path: Path) -> None:
    async with ModelServer() as server:
        server.script(
            fail(429, retry_after_ms="1"),
            fail(500, retry_after_ms="1"),
            Reply(tokens=("half an", " ans"), cut_after=1),
            say("whole answer"),
        )
        router = Router("native", setup(tmp_path, OpenAISettings(base_url=server.url)))
        events = await ask(router)
        await router.aclose()

    assert text_of(events) == "whole answer"
    assert sum(isinstance(event, RetryEvent) for event in events) == 3


async def test_fallback_models_of_the_settings_are_used(tmp_path: Path) -> None:
    async with ModelServer() as server:
        server.script(fail(404), say("from the other"))
        openai = OpenAISettings(base_url=server.url)
        router = Router("native", setup(tmp_path, openai, fallback_models=("other",)))
        events = await ask(router)
        await router.aclose()

    assert text_of(events) == "from the other"
    assert server.requests[1].body["model"] == "other"


async def test_all_first_turns_share_one_backend(tmp_path: Path) -> None:
    router = Router("native", setup(tmp_path, OpenAISettings(api_key=SecretStr("k"))))
    backends = await asyncio.gather(*(router.backend(SESSION) for _ in range(20)))
    await router.aclose()

    assert len({id(backend) for backend in backends}) == 1
    assert isinstance(backends[0], NativeBackend)


async def test_without_a_key_the_answer_says_which_to_set(tmp_path: Path) -> None:
    router = Router("native", setup(tmp_path))
    await router.warm_up()
    (event,) = await ask(router)

    assert isinstance(event, ErrorEvent)
    assert "OPENAI_API_KEY" in event.content
    assert (await router.backend(SESSION)).capabilities == Capability(0)


async def test_a_model_file_that_appears_is_noticed(tmp_path: Path) -> None:
    router = Router("native", setup(tmp_path, provider="local"))
    (event,) = await ask(router)
    before = await router.backend(SESSION)
    path = demo_model_path(tmp_path)
    path.parent.mkdir()
    path.write_bytes(b"GGUF")
    after = await router.backend(SESSION)
    await router.aclose()

    assert isinstance(event, ErrorEvent)
    assert "python -m bot model get" in event.content
    assert isinstance(before, UnreadyBackend)
    assert before.profile.compact
    assert isinstance(after, NativeBackend)


def test_a_server_without_keys_lacks_nothing(tmp_path: Path) -> None:
    assert find_fault(setup(tmp_path, OpenAISettings(base_url="http://127.0.0.1:1/v1")).models) is None


async def test_a_model_that_does_not_start_is_no_reason_to_stop(tmp_path: Path) -> None:
    path = demo_model_path(tmp_path)
    path.parent.mkdir()
    path.write_bytes(b"this is no model")
    router = Router("native", setup(tmp_path, provider="local"))

    async def preamble(profile: ModelProfile) -> PromptMessage:
        return PromptMessage(role="system", content="Be brief.")

    await router.warm_up(preamble)
    await router.aclose()


def test_nothing_heavy_is_imported_before_it_is_needed() -> None:
    code = (
        "import sys, bot.backends.router, bot.models.providers\n"
        "heavy = {'aiohttp', 'openai', 'xllamacpp', 'urllib.request', 'rich'} & set(sys.modules)\n"
        "raise SystemExit(', '.join(sorted(heavy)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, cwd=ROOT)

    assert (done.returncode, done.stderr) == (0, b"")
