"""The way from a session to the backend that answers it."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from bot.agent.choice import NO_CHOICES, SessionSettings
from bot.backends.base import AgentBackend
from bot.backends.registry import BACKENDS, BackendSetup, load_factory, resolve_backend
from bot.backends.unready import UnreadyBackend
from bot.errors import ConfigError, ModelError
from bot.messages import SessionKey
from bot.models.base import ModelProfile, PromptMessage, Warmable
from bot.models.providers import find_fault

log = logging.getLogger(__name__)

Preamble: TypeAlias = Callable[[ModelProfile], Awaitable[PromptMessage]]


class Router:
    """Picks the backend of a session, and makes it when one asks; an instance serves the whole bot.

    Args:
        name: Of the backend that answers where a session has chosen no other; legacy names count.

    Raises:
        ConfigError: There is no backend of that name.
    """

    def __init__(self, name: str, setup: BackendSetup, *, choices: SessionSettings = NO_CHOICES) -> None:
        self._place = resolve_backend(name)
        self._setup = setup
        self._choices = choices
        self._lock = asyncio.Lock()
        self._backends: dict[str, AgentBackend] = {}

    async def backend(self, session: SessionKey) -> AgentBackend:
        """The backend for a session; while something is missing to it, one that says what to do.

        Raises:
            ConfigError: The code of the backend in the settings can't be loaded.
        """
        chosen = self._choices.of(session).backend
        if chosen is None:
            return await self._find(self._place)
        try:
            return await self._find(resolve_backend(chosen))
        except ConfigError as error:  # the person's choice, so it is the person who has to know
            return UnreadyBackend(f"{error} `/backend default` goes back.", self._setup.models.profile)

    async def _find(self, place: str) -> AgentBackend:
        if (backend := self._backends.get(place)) is not None:
            return backend
        if (fault := self._find_fault(place)) is not None:
            return UnreadyBackend(fault, self._setup.models.profile)
        async with self._lock:
            if place not in self._backends:
                self._backends[place] = await asyncio.to_thread(self._open, place)
            return self._backends[place]

    def model(self, session: SessionKey) -> str | None:
        """The model that a session has chosen; `None` leaves it to the settings."""
        return self._choices.of(session).model

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
            while self._backends:
                _, backend = self._backends.popitem()
                await backend.aclose()

    def _find_fault(self, place: str) -> str | None:
        """What keeps our model client from answering; backends of others look after themselves."""
        return find_fault(self._setup.models) if place in BACKENDS.values() else None

    def _open(self, place: str) -> AgentBackend:
        return load_factory(place)(self._setup)
