"""The names of the models that a session may choose."""

import asyncio
import importlib
import logging
import time
from collections.abc import Awaitable, Callable

from bot.errors import ModelError
from bot.models.providers import ModelSetup
from bot.settings import OpenAISettings

log = logging.getLogger(__name__)

LIST_SECONDS = 3.0  # that the provider gets to list its models
KEEP_LIST = 300.0  # seconds
KEEP_FAILURE = 30.0
PROBE = "bot.models.probe"  # loads the vendor's client, which takes a second


class ModelCatalogue:
    """The models of the settings, and those that the provider lists if it does so quickly."""

    def __init__(self, setup: ModelSetup, *, list_seconds: float = LIST_SECONDS) -> None:
        self._setup = setup
        self._list_seconds = list_seconds
        self._lock = asyncio.Lock()
        self._listed: tuple[str, ...] = ()
        self._stale_at = 0.0

    @property
    def configured(self) -> tuple[str, ...]:
        """The model that is set, and those it falls back to."""
        fallbacks = self._setup.fallback_models if self._setup.provider == "openai" else ()
        return tuple(dict.fromkeys((self._setup.model_name, *fallbacks)))

    async def names(self) -> tuple[str, ...]:
        """All there is to choose from, those of the settings first."""
        return tuple(dict.fromkeys((*self.configured, *await self._list())))

    async def _list(self) -> tuple[str, ...]:
        if self._setup.provider != "openai":
            return ()
        async with self._lock:
            if time.monotonic() >= self._stale_at:
                await self._ask()
            return self._listed

    async def _ask(self) -> None:
        try:
            async with asyncio.timeout(self._list_seconds):
                probe = await asyncio.to_thread(importlib.import_module, PROBE)
                lister: Callable[[OpenAISettings], Awaitable[list[str]]] = probe.list_models
                self._listed = tuple(await lister(self._setup.openai))
                self._stale_at = time.monotonic() + KEEP_LIST
        except (ModelError, TimeoutError) as error:
            log.info("provider lists no models", extra={"cause": str(error)})
            self._stale_at = time.monotonic() + KEEP_FAILURE
