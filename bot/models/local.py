"""The model that runs on this machine, in a child process that is started when it is needed."""

import asyncio
import logging
import os
import secrets
import sys
import tempfile
import time
from asyncio.subprocess import PIPE, Process
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from pathlib import Path
from typing import IO

import msgspec

from bot.errors import ModelError, ModelUnavailable
from bot.messages import Frozen
from bot.models.base import ModelEvent, ModelProfile, ModelRequest, PromptMessage
from bot.models.openai import OpenAIClient, Timeouts
from bot.models.providers import ModelSetup

log = logging.getLogger(__name__)

SERVER = Path(__file__).with_name("local_server.py")
START_SECONDS = 60.0
STOP_SECONDS = 5.0
MAX_DEATHS = 5  # within DEATH_WINDOW; more, and starting again waits until the oldest is forgotten
NEWS_SECONDS = 1.0
DEATH_WINDOW = 60.0
OPENING = PromptMessage(role="user", content="Hello")  # chat templates want a person's message
TIMEOUTS = Timeouts(connect=5, first_token=300, silence=120, call=540)  # calls queue for the only slot


class LocalModel(Frozen, frozen=True, kw_only=True):
    """Which model runs, and how.

    Attributes:
        path: The GGUF file.
        threads: One less than the cores if not given: the bot needs one itself.
    """

    path: Path
    profile: ModelProfile
    threads: int | None = None

    @property
    def name(self) -> str:
        """What the model is called over the API."""
        return self.path.stem


class LocalClient:
    """Streams answers from the child process, which it starts, restarts when it has died, and ends.

    Args:
        clock: Measures how often the child dies.
    """

    def __init__(self, model: LocalModel, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._model = model
        self._clock = clock
        self._lock = asyncio.Lock()
        self._server: LocalServer | None = None
        self._deaths: deque[float] = deque(maxlen=MAX_DEATHS)

    @property
    def profile(self) -> ModelProfile:
        """See `ModelClient.profile`."""
        return self._model.profile

    @property
    def pid(self) -> int | None:
        """The child's process id, while it runs."""
        return self._server.pid if self._server is not None and self._server.is_alive else None

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """See `ModelClient.stream`; starts the child if it does not run."""
        server = await self._running()
        try:
            async with aclosing(server.client.stream(request)) as events:
                async for event in events:
                    yield event
        except ModelUnavailable:
            await server.notice_death()
            raise

    async def warm(self, messages: tuple[PromptMessage, ...]) -> None:
        """See `Warmable.warm`: the engine keeps what it has computed for `messages`."""
        request = ModelRequest(model=self._model.name, messages=(*messages, OPENING), max_completion_tokens=1)
        async with aclosing(self.stream(request)) as events:
            async for _ in events:
                continue

    async def aclose(self) -> None:
        """See `ModelClient.aclose`."""
        async with self._lock:
            if self._server is not None:
                await self._server.stop()
                self._server = None

    async def _running(self) -> "LocalServer":
        async with self._lock:
            if self._server is not None and self._server.is_alive:
                return self._server
            if self._server is not None:
                await self._server.stop()
                self._server = None
                self._deaths.append(self._clock())
            self._check_deaths()
            try:
                self._server = await LocalServer.start(self._model)
            except ModelError:
                self._deaths.append(self._clock())
                raise
            return self._server

    def _check_deaths(self) -> None:
        """Refuse to start a child again that keeps dying."""
        if len(self._deaths) < MAX_DEATHS:
            return
        wait = self._deaths[0] + DEATH_WINDOW - self._clock()
        if wait > 0:
            raise ModelUnavailable("The local model keeps stopping.", retry_after=wait)


class LocalServer:
    """A child process that is ready, and the client that talks to it."""

    def __init__(self, process: Process, client: OpenAIClient, errors: IO[bytes]) -> None:
        self._process = process
        self._errors = errors
        self.client = client

    @classmethod
    async def start(cls, model: LocalModel) -> "LocalServer":
        """Start a child and wait until it is ready.

        Raises:
            ModelUnavailable: It ended or was not ready in time.
        """
        errors = tempfile.TemporaryFile()  # noqa: SIM115  # closed by `stop`
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-P", str(SERVER), stdin=PIPE, stdout=PIPE, stderr=errors
            )
        except BaseException:
            errors.close()
            raise
        key = secrets.token_urlsafe()
        try:
            port = await _hand_over(process, model, key)
        except BaseException:
            await _end(process)
            errors.close()
            raise
        url = f"http://127.0.0.1:{port}/v1"
        client = OpenAIClient(url, key, profile=model.profile, timeouts=TIMEOUTS, keeps_connections=False)
        return cls(process, client, errors)

    @property
    def pid(self) -> int:
        """The child's process id."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether the child runs."""
        return self._process.returncode is None

    async def notice_death(self) -> None:
        """Give the news of a child's death the time to arrive, so that the next call starts another."""
        with suppress(TimeoutError):
            async with asyncio.timeout(NEWS_SECONDS):
                await self._process.wait()

    async def stop(self) -> None:
        """End the child."""
        try:
            await self.client.aclose()
            await _end(self._process)
        finally:
            self._errors.close()


async def _hand_over(process: Process, model: LocalModel, key: str) -> int:
    """Give the child its job and wait for the port it listens on."""
    cores = os.cpu_count() or 1
    job = {
        "model": str(model.path),
        "name": model.name,
        "window": model.profile.window,
        "threads": model.threads or max(1, cores - 1),
        "batch_threads": model.threads or cores,
        "key": key,
    }
    stdin, stdout = process.stdin, process.stdout
    if stdin is None or stdout is None:
        raise RuntimeError("the child was started without pipes")
    try:
        async with asyncio.timeout(START_SECONDS):
            stdin.write(msgspec.json.encode(job) + b"\n")
            line = await stdout.readline()
    except TimeoutError as error:
        raise ModelUnavailable(f"The local model was not ready within {START_SECONDS:.0f} s.") from error
    if not line.strip().isdigit():
        log.error("local model did not start", extra={"model": model.name})
        raise ModelUnavailable(f"The local model {model.path.name} did not start.")
    return int(line)


async def _end(process: Process) -> None:
    """End the child: it leaves by itself when its standard input ends, or is killed."""
    if process.stdin is not None:
        process.stdin.close()
    try:
        async with asyncio.timeout(STOP_SECONDS):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()


def open_local(setup: ModelSetup) -> LocalClient:
    """Make the client that the settings ask for."""
    model = LocalModel(path=setup.model_path, profile=setup.profile, threads=setup.local.threads)
    return LocalClient(model)
