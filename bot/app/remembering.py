"""Long-term memory put together: what keeps it, what learns, what tells turns, its tools and commands."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Self

from bot.agent.accounts import payer_of
from bot.agent.sampler import Sampler
from bot.agent.spending import Spending
from bot.app.parts import quiet_redactor
from bot.backends.one import OneBackend
from bot.backends.router import Router
from bot.commands.call import Command
from bot.commands.engine import Engine
from bot.commands.memory import MemoryCommands
from bot.long_term import ByPerson, LongTerm
from bot.messages import InboundMessage
from bot.models.base import PromptMessage
from bot.people import PersonNotes
from bot.settings import Settings
from bot.tools.base import Speaker, Tool
from bot.tools.memory import MemoryTools
from bot.tools.recall import Lines, RecallTools
from channels.registry import ADAPTERS
from memory.exports import Exports
from memory.long_term.embedding import open_embedding
from memory.long_term.learning import AutoLearn, Watch
from memory.long_term.notes import MemoryNotes
from memory.long_term.opening import open_long_term
from memory.meaning import RecallByMeaning
from memory.retention import Retention
from memory.store import Store


class Remembering:
    """Owns the memory from `__aenter__` to `__aexit__`.

    Args:
        speaker: Who sends exports; asked for when one is sent.

    Attributes:
        memories: `None` where memory is off.
        learner, notes: For the turn; `learner` is `None` where there is nothing to learn with.
        redact: Masks what is not to be remembered.
        retention: To be entered once people are served.
        spending: What model calls for learning are paid from.
    """

    def __init__(
        self,
        settings: Settings,
        store: Store,
        router: Router | OneBackend,
        *,
        speaker: Callable[[], Speaker],
    ) -> None:
        self._settings = settings
        self._store = store
        self._router = router
        self._stack = AsyncExitStack()
        self.redact = quiet_redactor(settings, settings.redaction.memory).redact
        home = settings.data_dir
        self.whose = ByPerson(store.people, personal_in_groups=settings.memory.personal_in_groups)
        self.memories: LongTerm | None = None
        self._lines: Lines = store.recall
        self.learner: AutoLearn | None = None
        self.notes = PersonNotes(store.people)
        self.spending = Spending()
        self.retention = Retention(
            store.database,
            store.recall,
            media=home / "media",
            exports=home / "exports",
            days=settings.memory.retention_days,
        )
        self._exports = Exports(
            store.database, home / "exports", speaker=speaker, takes_files=lambda channel: channel in ADAPTERS
        )

    async def __aenter__(self) -> Self:
        settings, store = self._settings.memory, self._store
        store.sessions.on_erased = self.retention.erase_files
        embedder, thread = await self._stack.enter_async_context(open_embedding(settings))
        if embedder is not None and settings.history_vectors:
            self._lines = RecallByMeaning(store.database, store.recall, embedder, thread)
        opening = open_long_term(settings, store.database, self._settings.data_dir, embedder, thread)
        self.memories = memories = await self._stack.enter_async_context(opening)
        if memories is None:
            return self
        watch = Watch()
        store.people.adding = memories.shelf.adding
        notes = MemoryNotes(
            memories,
            self.whose,
            watch,
            top_k=settings.top_k,
            threshold=settings.threshold,
            max_tokens=settings.max_tokens,
        )
        self.notes = PersonNotes(store.people, notes)
        if settings.auto_learn:
            learner = AutoLearn(
                memories,
                self.whose,
                self._ask,
                watch,
                redact=self.redact,
                set_title=store.sessions.suggest_title,
                is_kept=self.retention.knows,
            )
            self.learner = await self._stack.enter_async_context(learner)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    def tools(self) -> Iterable[Tool]:
        """What the model may call."""
        yield from RecallTools(self._lines, self.memories, self.whose).tools()
        if self.memories is not None:
            yield from MemoryTools(self.memories, self.whose, redact=self.redact).tools()

    def commands(self, engine: Engine) -> tuple[Command, ...]:
        """The slash commands."""
        return MemoryCommands(
            self.memories,
            self.whose,
            self._lines,
            self._store.sessions,
            engine,
            self._exports,
            redact=self.redact,
            people=self._store.people,
        ).commands()

    async def _ask(self, message: InboundMessage, messages: Sequence[PromptMessage], max_tokens: int) -> str:
        """See `memory.long_term.learning.Ask`."""
        backend = await self._router.backend(message.session)
        model = self._settings.memory.learn_model or self._router.model(message.session)
        async with self.spending.aside(payer_of(message)):
            return await Sampler(backend, message.session, model)(messages, max_tokens)
