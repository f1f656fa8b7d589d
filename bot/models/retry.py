"""The only place where model calls are tried again."""

import asyncio
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing

from msgspec.structs import replace

from bot.errors import ContextOverflow, ModelError, ModelUnavailable
from bot.models.backoff import Backoff
from bot.models.base import (
    ModelClient,
    ModelEvent,
    ModelProfile,
    ModelRequest,
    PromptMessage,
    Restart,
    Warmable,
)


class Resilient:
    """A model client around another: tries again what may pass, then turns to the fallback models.

    Every new try is announced by a `Restart`, which voids the text of the one before it. Not tried again:
    errors that will not pass (they go straight to the next model) and a prompt that is too long (raised).

    Args:
        fallback_models: Names at the same provider, in the order they are tried.
        max_retries: Tries after the first one, for each model.
        sleep: Waits between tries; with `uniform` and `clock`, what a test takes over.
        uniform: The source of chance.
        clock: What the deadline of a request is measured on.
    """

    def __init__(
        self,
        client: ModelClient,
        *,
        fallback_models: tuple[str, ...] = (),
        max_retries: int = 8,
        backoff: Backoff | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        uniform: Callable[[float, float], float] = random.uniform,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if max_retries < 0:
            raise ValueError(f"max_retries can't be {max_retries}")
        if not all(fallback_models):
            raise ValueError("a fallback model has no name")
        self._client = client
        self._fallback_models = fallback_models
        self._max_retries = max_retries
        self._backoff = backoff or Backoff()
        self._sleep = sleep
        self._uniform = uniform
        self._clock = clock

    @property
    def profile(self) -> ModelProfile:
        """See `ModelClient.profile`."""
        return self._client.profile

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """See `ModelClient.stream`; the error raised is that of the last try."""
        fallbacks = iter([name for name in self._fallback_models if name != request.model])
        attempt, failures = 1, 0
        while True:
            try:
                async with aclosing(self._client.stream(request)) as events:
                    async for event in events:
                        yield event
                return
            except ContextOverflow:
                raise
            except ModelError as error:
                cause, wait = error, self._wait(error, failures, request.deadline)
            failures += 1
            if wait is None:
                name = next(fallbacks, None)
                if name is None or self._left(request.deadline) <= 0:
                    raise self._give_up(cause, request.deadline)
                request, failures, wait = replace(request, model=name), 0, 0.0
            attempt += 1
            yield Restart(model=request.model, attempt=attempt, wait=wait, cause=str(cause))
            if wait:
                await self._sleep(wait)

    async def aclose(self) -> None:
        """See `ModelClient.aclose`."""
        await self._client.aclose()

    async def warm(self, messages: tuple[PromptMessage, ...]) -> None:
        """See `Warmable.warm`; nothing happens where the client has nothing to get ready."""
        if isinstance(self._client, Warmable):
            await self._client.warm(messages)

    def _left(self, deadline: float | None) -> float:
        return float("inf") if deadline is None else deadline - self._clock()

    def _give_up(self, cause: ModelError, deadline: float | None) -> ModelError:
        """The error of the last try, with the reason if it was time that ran out."""
        wait = cause.retry_after if isinstance(cause, ModelUnavailable) else None
        if wait is None or wait < self._left(deadline):
            return cause
        text = f"{cause} It asks to be left alone for {wait:.0f} s, longer than this turn may take."
        return ModelUnavailable(text, status=cause.status, retry_after=wait)

    def _wait(self, error: ModelError, failures: int, deadline: float | None) -> float | None:
        """Seconds until this model is worth another try; none if it is not, or not in time."""
        if not isinstance(error, ModelUnavailable) or failures >= self._max_retries:
            return None
        wait = self._backoff.wait(failures, error.retry_after, self._uniform)
        return wait if wait < self._left(deadline) else None
