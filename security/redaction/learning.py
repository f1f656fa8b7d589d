"""Redacts what is remembered for long, before the memory gets to see it."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Final, Self

from msgspec.structs import replace

from bot.agent.seams import Learner
from bot.messages import InboundMessage

log = logging.getLogger(__name__)

MAX_WAITING: Final = 200  # turns; past it a turn is not learnt from, rather than held in the process
CLOSE_SECONDS: Final = 10.0  # that the end of the process waits for what is being redacted


class RedactedLearner:
    """Fulfils `bot.agent.seams.Learner`; the owner of its tasks from `__aenter__` to `__aexit__`.

    Args:
        redact_soon: Hides what must not be remembered; may take long, as looking for names does.
    """

    def __init__(self, learner: Learner, redact_soon: Callable[[str], Awaitable[str]]) -> None:
        self._learner = learner
        self._redact_soon = redact_soon
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._tasks:
            return
        _, late = await asyncio.wait(set(self._tasks), timeout=CLOSE_SECONDS)
        for task in late:
            task.cancel()
        if late:
            log.warning("turns not learnt from", extra={"count": len(late)})

    def learn(self, message: InboundMessage, answer: str) -> None:
        """See the protocol."""
        if len(self._tasks) >= MAX_WAITING:
            log.warning("turn not learnt from", extra={"waiting": len(self._tasks)})
            return
        task = asyncio.create_task(self._learn(message, answer), name="redact what is learnt")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _learn(self, message: InboundMessage, answer: str) -> None:
        try:
            text, answer = await self._redact_soon(message.text), await self._redact_soon(answer)
        except Exception:  # what can't be redacted is not remembered
            log.exception("turn not learnt from")
            return
        self._learner.learn(replace(message, text=text), answer)
