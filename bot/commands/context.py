"""`/context`: how full the model's window is, by what fills it."""

from collections.abc import Sequence
from typing import Protocol

from msgspec.structs import replace

from bot.agent.history import estimate_tokens
from bot.agent.prompt import Prompt
from bot.agent.store import Begun
from bot.backends.base import AgentBackend
from bot.commands.call import Answer, Call, Command
from bot.commands.sessions import Sessions
from bot.commands.spec import CommandSpec
from bot.commands.wording import count
from bot.messages import InboundMessage, SessionKey, StoredMessage
from bot.models.base import ModelProfile, PromptMessage


class Prompts(Protocol):
    """Builds prompts, as for a turn."""

    async def build(self, message: InboundMessage, begun: Begun, profile: ModelProfile) -> Prompt: ...


class Backends(Protocol):
    """Picks the backend of a session."""

    async def backend(self, session: SessionKey) -> AgentBackend: ...


class Lines(Protocol):
    """Reads what the model may see of a session."""

    async def in_context(self, session: SessionKey, limit: int) -> tuple[int, list[StoredMessage]]:
        """How many lines there are in all, and the newest of them, oldest first."""


class ContextCommands:
    """The handler, over the prompt that the next turn would get.

    Args:
        history: The most lines of history that a turn reads.
    """

    def __init__(
        self, sessions: Sessions, lines: Lines, prompts: Prompts, backends: Backends, *, history: int
    ) -> None:
        self._sessions = sessions
        self._lines = lines
        self._prompts = prompts
        self._backends = backends
        self._history = history

    async def show(self, call: Call) -> Answer:
        """`/context`."""
        session = await self._sessions.current(call.chat)
        turns, lines = await self._lines.in_context(session, self._history)
        profile = (await self._backends.backend(session)).profile
        message = replace(call.message, session=session, text="", attachments=())
        begun = Begun(attempt=1, turns=turns, history=tuple(lines))
        prompt = await self._prompts.build(message, begun, profile)
        return Answer(text=_describe(prompt.messages, profile, turns))

    def commands(self) -> tuple[Command, ...]:
        """What is registered."""
        spec = CommandSpec(
            name="context", help="Show how full my memory of this session is", native="context"
        )
        return (Command(spec, self.show),)


def _describe(messages: Sequence[PromptMessage], profile: ModelProfile, turns: int) -> str:
    history = [part for part in messages[:-1] if part.role != "system"]
    system = _tokens([part for part in messages if part.role == "system"])
    said = _tokens(history)
    free = max(0, profile.window - profile.max_output - system - said)
    lines = [
        f"**Context**: about {system + said:,} of {profile.window:,} tokens",
        f"- Instructions: {system:,}",
        f"- History: {said:,} ({len(history):,} of {count(turns, 'message')})",
        f"- Kept for the answer: {profile.max_output:,}",
        f"- Free: {free:,}",
    ]
    return "\n".join(lines)


def _tokens(messages: Sequence[PromptMessage]) -> int:
    return sum(estimate_tokens(part.content) for part in messages)
