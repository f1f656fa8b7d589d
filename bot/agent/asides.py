"""What people get to see of a turn beside its answer, where a session has asked for it: reasoning, tools.

Each aside is a message of its own, kept for people and never shown to the model.
"""

import logging
from typing import Protocol

from bot.agent.choice import NO_CHOICES, Choice, SessionSettings, Verbosity
from bot.agent.run import Run
from bot.backends.base import AgentEvent, ThinkingEvent, ToolResultEvent, ToolUseEvent
from bot.errors import StoreError
from bot.messages import Address, End, SessionKey

log = logging.getLogger(__name__)

MAX_THINKING = 3_000  # characters of one step's reasoning
MAX_ARGUMENTS = 300
MAX_RESULT = 600
MAX_ASIDES = 100  # of one turn


class Speaker(Protocol):
    """Says something outside of a turn's answer."""

    async def say(self, address: Address, session: SessionKey, text: str) -> End: ...


class Redactor(Protocol):
    """Hides what must not be shown."""

    def redact(self, text: str) -> str: ...


class Display:
    """Makes the asides of turns, as their sessions have chosen.

    Attributes:
        speaker: Says them; set by the loop, without it there are none.
    """

    def __init__(self, choices: SessionSettings = NO_CHOICES, redactor: Redactor | None = None) -> None:
        self._choices = choices
        self._redactor = redactor
        self.speaker: Speaker | None = None

    def of(self, run: Run) -> "Asides | None":
        """The asides of a turn; `None` where its session wants none."""
        choice = self._choices.of(run.session)
        if self.speaker is None or (choice.verbosity == "off" and not choice.shows_thinking):
            return None
        return Asides(self.speaker, run, choice, self._redactor)


class Asides:
    """Tells of one turn what its session wants to see.

    Args:
        choice: What that is.
    """

    def __init__(self, speaker: Speaker, run: Run, choice: Choice, redactor: Redactor | None = None) -> None:
        self._speaker = speaker
        self._run = run
        self._verbosity: Verbosity = choice.verbosity
        self._shows_thinking = choice.shows_thinking
        self._redactor = redactor
        self._thoughts: list[str] = []
        self._count = 0

    async def note(self, event: AgentEvent) -> None:
        """Take in an event of the backend, before it is published."""
        if isinstance(event, ThinkingEvent):
            if self._shows_thinking:
                self._thoughts.append(event.content)
            return
        await self._tell_thoughts()
        if self._verbosity == "off":
            return
        if isinstance(event, ToolUseEvent):
            await self._say(
                f"→ {_code(event.call.function.name)} {_arguments(event.call.function.arguments)}"
            )
        elif isinstance(event, ToolResultEvent) and (self._verbosity == "full" or event.status == "error"):
            mark = "←" if event.status == "ok" else "← failed:"
            await self._say(
                f"{mark} {_code(event.call.function.name)}\n{_fenced(_clip(event.content, MAX_RESULT))}"
            )

    async def _tell_thoughts(self) -> None:
        if not self._thoughts:
            return
        thought = "".join(self._thoughts).strip()
        self._thoughts.clear()
        if thought:
            lines = _clip(thought, MAX_THINKING).splitlines()
            await self._say("\n".join(f"> {line}" for line in ("*Reasoning*", *lines)))

    async def _say(self, text: str) -> None:
        self._count += 1
        if self._count > MAX_ASIDES:
            return
        if self._redactor is not None:
            text = self._redactor.redact(text)
        try:
            await self._speaker.say(self._run.message.address, self._run.session, text)
        except StoreError as error:  # an aside is no reason to lose the answer
            log.warning("aside not kept", extra={"cause": str(error)})


def _arguments(text: str) -> str:
    plain = " ".join(text.split())
    return _code(_clip(plain, MAX_ARGUMENTS)) if plain not in ("", "{}") else ""


def _code(text: str) -> str:
    return f"`{text.replace('`', chr(39))}`"


def _fenced(text: str) -> str:
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text}\n{fence}"


def _clip(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
