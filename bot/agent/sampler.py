"""Model calls that belong to no step of a turn: a text is asked for, in silence."""

import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing

from bot.agent.compaction import CompactionFailed
from bot.agent.estimate import estimate_prompt
from bot.agent.spending import open_tab
from bot.agent.tab import Tab
from bot.backends.base import AgentBackend, ErrorEvent, MessageEvent, NoTools, Oversight, TurnInput
from bot.errors import ContextOverflow
from bot.messages import RunId, SessionKey, new_id
from bot.models.base import PromptMessage


class Sampler:
    """Has a session's backend write a text, in silence and without tools; the turn that runs here pays.

    Args:
        guard: Hides from the model what it must not read; without it, it reads what it is given.
    """

    def __init__(
        self,
        backend: AgentBackend,
        session: SessionKey,
        model: str | None,
        *,
        guard: Callable[[Oversight], Oversight] | None = None,
    ) -> None:
        self._guard = guard
        self._backend = backend
        self._session = session
        self._model = model

    async def __call__(self, messages: Sequence[PromptMessage], max_tokens: int) -> str:
        """See `bot.agent.compaction.Complete`."""
        async with open_tab() as tab:
            return await self._ask(messages, max_tokens, tab)

    async def _ask(self, messages: Sequence[PromptMessage], max_tokens: int, tab: Tab) -> str:
        turn = TurnInput(
            session=SessionKey(f"{self._session}#summary"),
            run=RunId(new_id()),
            messages=tuple(messages),
            prompt_tokens=estimate_prompt(messages),
            model=self._model,
            tools=NoTools(),
            max_output=max_tokens,
            deadline=time.monotonic() + 600,
            oversight=tab if self._guard is None else self._guard(tab),
        )
        text = ""
        events = self._backend.run(turn)
        assert isinstance(events, AsyncGenerator)  # as every backend's are
        async with aclosing(events):
            async for event in events:
                tab.note(event)
                if isinstance(event, MessageEvent):
                    text = event.content if event.replaces else text + event.content
                elif isinstance(event, ErrorEvent):
                    if event.is_overflow:
                        raise ContextOverflow(event.content)
                    raise CompactionFailed(event.content)
        return text
