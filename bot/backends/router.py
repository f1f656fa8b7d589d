"""The way from a session to the backend that answers it."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from bot.backends.base import AgentBackend
from bot.backends.registry import BACKENDS, BackendSetup, load_factory, resolve_backend
from bot.backends.unready import UnreadyBackend
from bot.errors import ModelError
from bot.messages import SessionKey
from bot.models.base import ModelProfile, PromptMessage, Warmable
from bot.models.providers import find_fault

log = logging.getLogger(__name__)

Preamble: TypeAlias = Callable[[ModelProfile], Awaitable[PromptMessage]]


class Router:
    """Picks the backend of a session, and makes it when one asks; an instance serves the whole bot.

    Args:
        name: Of the backend that answers; legacy names count.

    Raises:
        ConfigError: There is no backend of that name.
    """

    def __init__(self, name: str, setup: BackendSetup) -> None:
        self._place = resolve_backend(name)
        self._setup = setup
        self._lock = asyncio.Lock()
        self._backend: AgentBackend | None = None

    async def backend(self, session: SessionKey) -> AgentBackend:
        """The backend for a session; while no model is set up, one that says what to do.

        Raises:
            ConfigError: The backend's code can't be loaded.
        """
        if self._backend is not None:
            return self._backend
        if (fault := self._find_fault()) is not None:
            return UnreadyBackend(fault, self._setup.models.profile)
        async with self._lock:
            if self._backend is None:
                self._backend = await asyncio.to_thread(self._open)
            return self._backend

    async def warm_up(self, preamble: Preamble | None = None) -> None:
        """Load the backend and start the local model before the first message comes.

        A model that does not start is logged, not raised: the first turn tries again and tells the person.

        Args:
            preamble: Gives the system message with which prompts begin.
        """
        backend = await self.backend(SessionKey("warm-up"))
        if not isinstance(backend, Warmable):
            return
        messages = (await preamble(backend.profile),) if preamble is not None else ()
        try:
            await backend.warm(messages)
        except ModelError as error:
            log.warning("model is not ready", extra={"cause": str(error)})

    async def aclose(self) -> None:
        """Close what was made."""
        async with self._lock:
            if self._backend is not None:
                await self._backend.aclose()
                self._backend = None

    def _find_fault(self) -> str | None:
        """What keeps our own loop from answering; other backends look after themselves."""
        return find_fault(self._setup.models) if self._place == BACKENDS["native"] else None

    def _open(self) -> AgentBackend:
        return load_factory(self._place)(self._setup)
