"""The model on this machine: the real one in its process, started, killed, orphaned and ended."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from bot.backends.base import DoneEvent, MessageEvent, NoTools, TurnInput
from bot.backends.registry import BackendSetup
from bot.backends.router import Router
from bot.errors import ModelUnavailable
from bot.messages import RunId, SessionKey
from bot.models.base import Finish, ModelEvent, ModelProfile, ModelRequest, PromptMessage, TextDelta, Usage
from bot.models.download import get_model
from bot.models.local import MAX_DEATHS, LocalClient, LocalModel
from bot.models.providers import ModelSetup
from bot.settings import LocalSettings, OpenAISettings

ROOT = Path(__file__).parents[2]
CACHE = Path("~/.cache/switchboard-tests").expanduser()
PROFILE = ModelProfile(window=2048, max_output=64, compact=True)
SYSTEM = PromptMessage(role="system", content="You are a helpful assistant. " * 20)
QUESTION = (SYSTEM, PromptMessage(role="user", content="What is two plus two?"))
REQUEST = ModelRequest(model="demo", messages=QUESTION, max_completion_tokens=16)
PARENT = """
import asyncio, sys
from pathlib import Path
from bot.models.base import ModelProfile
from bot.models.local import LocalClient, LocalModel

async def main():
    profile = ModelProfile(window=2048, max_output=64)
    client = LocalClient(LocalModel(path=Path(sys.argv[1]), profile=profile))
    await client.warm(())
    sys.stdout.write(f"{client.pid}\\n")
    sys.stdout.flush()
    await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.fixture(scope="module")
def gguf() -> Path:
    return get_model(CACHE)


@pytest.fixture
async def client(gguf: Path) -> AsyncIterator[LocalClient]:
    made = LocalClient(LocalModel(path=gguf, profile=PROFILE))
    yield made
    await made.aclose()


async def ask(client: LocalClient) -> list[ModelEvent]:
    return [event async for event in client.stream(REQUEST)]


async def gone(pid: int) -> None:
    """Wait until a process is over."""
    if psutil.pid_exists(pid):
        await asyncio.to_thread(psutil.wait_procs, [psutil.Process(pid)], 10)
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


@pytest.mark.model
async def test_the_real_model_streams_an_answer_through_the_router(gguf: Path) -> None:
    models = ModelSetup(
        provider="local",
        model=None,
        fallback_models=(),
        data_dir=CACHE,
        openai=OpenAISettings(),
        local=LocalSettings(),
    )
    router = Router("native", BackendSetup(models=models, turn_seconds=50))

    async def preamble(profile: ModelProfile) -> PromptMessage:
        return SYSTEM

    await router.warm_up(preamble)
    session = SessionKey("web:default:main")
    turn = TurnInput(session=session, run=RunId("r"), messages=QUESTION, prompt_tokens=150, tools=NoTools())
    backend = await router.backend(session)
    events = [event async for event in backend.run(turn)]
    await router.aclose()

    pieces = [event.content for event in events if isinstance(event, MessageEvent)]
    assert len(pieces) > 1
    assert "".join(pieces).strip()
    assert isinstance(events[-1], DoneEvent)


@pytest.mark.model
async def test_a_warm_model_has_the_system_message_in_its_cache(client: LocalClient) -> None:
    await client.warm((SYSTEM,))
    events = await ask(client)

    (usage,) = [event for event in events if isinstance(event, Usage)]
    assert usage.cached > 100
    assert any(isinstance(event, TextDelta) for event in events)


@pytest.mark.model
async def test_a_child_that_was_killed_is_started_again(client: LocalClient) -> None:
    await client.warm(())
    first = client.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    await gone(first)
    events: list[ModelEvent] = []
    try:
        events = await ask(client)
    except ModelUnavailable:  # the death was not noticed yet: that is what retries are for
        events = await ask(client)

    assert isinstance(events[-1], Finish)
    assert client.pid not in (None, first)


@pytest.mark.model
async def test_the_child_is_gone_after_closing(client: LocalClient) -> None:
    await client.warm(())
    pid = client.pid
    assert pid is not None
    assert psutil.Process(pid).nice() == 10
    listening = [one.laddr for one in psutil.Process(pid).net_connections() if one.status == "LISTEN"]
    assert [address.ip for address in listening if address] == ["127.0.0.1"]

    await client.aclose()

    assert not psutil.pid_exists(pid)


@pytest.mark.model
async def test_the_child_does_not_outlive_a_parent_that_was_killed(gguf: Path) -> None:
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PARENT, str(gguf), stdout=asyncio.subprocess.PIPE, cwd=ROOT
    )
    assert parent.stdout is not None
    child = int(await parent.stdout.readline())
    parent.kill()
    await parent.wait()

    await gone(child)


async def test_a_file_that_is_no_model_is_told_and_not_tried_for_ever(tmp_path: Path) -> None:
    path = tmp_path / "broken.gguf"
    path.write_bytes(b"this is no model")
    client = LocalClient(LocalModel(path=path, profile=PROFILE), clock=lambda: 100.0)
    for _ in range(MAX_DEATHS):
        with pytest.raises(ModelUnavailable, match=r"broken\.gguf did not start"):
            await ask(client)

    with pytest.raises(ModelUnavailable, match="keeps stopping") as caught:
        await ask(client)

    assert caught.value.retry_after == 60
    await client.aclose()
