"""What the agent would say now, for an operator alone: asked of the session's model, and kept nowhere."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Final, Protocol

from bot.agent.accounts import Payer
from bot.agent.prompt import Prompt
from bot.agent.sampler import Sampler
from bot.agent.store import Begun
from bot.backends.base import AgentBackend, Oversight
from bot.errors import ModelError
from bot.inbox.base import Conversation, InboxError, Operator
from bot.messages import InboundMessage, MessageId, Sender, SessionKey, new_id, utc_now
from bot.models.base import ModelProfile

SECONDS: Final = 60.0
MAX_TOKENS: Final = 1_000
NUDGE: Final = "[Nobody has answered since. Write what should be said to this person next, and nothing else.]"
BUSY: Final = "A draft for this conversation is being written already."
LATE: Final = "The model took more than {seconds:g} s."
NOTHING_SAID: Final = "Nothing has been said there that could be answered."
NO_TEXT: Final = "The model has nothing to suggest."


class Router(Protocol):
    """Picks what answers a session."""

    async def backend(self, session: SessionKey) -> AgentBackend: ...

    def model(self, session: SessionKey) -> str | None: ...


class Lines(Protocol):
    """Reads what a turn begins with."""

    async def upcoming(self, session: SessionKey, *, history: int) -> Begun:
        """What the next turn of a session would begin with, with so many lines at most."""


class Prompts(Protocol):
    """Builds prompts, as for a turn."""

    async def build(
        self, message: InboundMessage, begun: Begun, profile: ModelProfile, *, is_preview: bool = False
    ) -> Prompt: ...


class Purse(Protocol):
    """Pays for model calls that belong to no turn."""

    def aside(self, payer: Payer) -> AbstractAsyncContextManager[object]: ...


class Drafts:
    """Writes suggestions, one at a time for each conversation.

    Args:
        guard: Hides from the model what it must not read.
        redact: Hides what must not leave the bot.
        history: The most lines that are read.
        seconds: What the model gets.
    """

    def __init__(
        self,
        router: Router,
        lines: Lines,
        prompts: Prompts,
        purse: Purse,
        *,
        guard: Callable[[Oversight], Oversight] | None,
        redact: Callable[[str], str],
        history: int,
        seconds: float = SECONDS,
    ) -> None:
        self._seconds = seconds
        self._router = router
        self._lines = lines
        self._prompts = prompts
        self._purse = purse
        self._guard = guard
        self._redact = redact
        self._history = history
        self._open: set[SessionKey] = set()

    async def write(self, conversation: Conversation, by: Operator) -> str:
        """What the agent would say now; the operator pays.

        Raises:
            InboxError: There is nothing to answer, or the model has not answered in time, or not at all.
        """
        if conversation.chat in self._open:
            raise InboxError(BUSY)
        self._open.add(conversation.chat)
        try:
            async with asyncio.timeout(self._seconds):
                text = await self._ask(conversation, by)
        except TimeoutError:
            raise InboxError(LATE.format(seconds=self._seconds)) from None
        except ModelError as error:
            raise InboxError(str(error)) from error
        finally:
            self._open.discard(conversation.chat)
        if not text.strip():
            raise InboxError(NO_TEXT)
        return self._redact(text.strip())

    async def _ask(self, conversation: Conversation, by: Operator) -> str:
        session = conversation.session
        begun = await self._lines.upcoming(session, history=self._history)
        if not begun.history and begun.summary is None:
            raise InboxError(NOTHING_SAID)
        backend, model = await self._router.backend(session), self._router.model(session)
        message, begun = _to_answer(conversation, begun)
        prompt = await self._prompts.build(message, begun, backend.profile, is_preview=True)
        sampler = Sampler(backend, session, model, guard=self._guard)
        payer = Payer(person=by.actor, session=session, channel=conversation.address.channel)
        async with self._purse.aside(payer):
            return await sampler(prompt.messages, min(MAX_TOKENS, backend.profile.max_output))


def _to_answer(conversation: Conversation, begun: Begun) -> tuple[InboundMessage, Begun]:
    """What the model is to answer, and what stands before it."""
    last = begun.history[-1] if begun.history else None
    is_open = last is not None and last.role == "user"
    message = InboundMessage(
        id=MessageId(new_id()),
        platform_id="draft",
        address=conversation.address,
        session=conversation.session,
        sender=Sender(id=conversation.subject.partition(":")[2], name=conversation.person),
        text=last.text if last is not None and is_open else NUDGE,
        received_at=last.at if last is not None else utc_now(),
    )
    if not is_open:
        return message, begun
    return message, Begun(
        attempt=begun.attempt,
        turns=begun.turns,
        history=begun.history[:-1],
        summary=begun.summary,
        kept_calls=begun.kept_calls,
        carried=begun.carried,
    )
