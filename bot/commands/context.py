"""`/context`: how full the model's window is, by what fills it."""

from collections.abc import Sequence

from msgspec.structs import replace

from bot.agent.estimate import DANGER, WARNING, Breakdown, Level
from bot.agent.next_prompt import NextPrompt
from bot.agent.store import Begun
from bot.commands.call import Answer, Call, Command
from bot.commands.sessions import Sessions
from bot.commands.spec import CommandSpec
from bot.commands.wording import count
from bot.models.base import ModelProfile, PromptMessage

BAR = 20  # characters
FULL, EMPTY = "█", "░"
ADVICE: dict[Level, str] = {
    "ok": "",
    "warning": (
        f"The window is more than {WARNING:.0%} full. `/compact` summarises what was said before, and `/new`"
        " begins a new session."
    ),
    "danger": (
        f"The window is more than {DANGER:.0%} full, and there is hardly room for an answer. Say `/compact`"
        " to have what was said before summarised, or `/new` to begin a new session."
    ),
}


class ContextCommands:
    """The handler, over the prompt that the next turn would get."""

    def __init__(self, sessions: Sessions, prompt: NextPrompt) -> None:
        self._sessions = sessions
        self._next = prompt

    async def show(self, call: Call) -> Answer:
        """`/context`."""
        session = await self._sessions.current(call.chat)
        found = await self._next.measure(replace(call.message, session=session, text="", attachments=()))
        shown = _describe(found.filled, found.profile, len(found.tools))
        return Answer(
            text="\n\n".join(
                part for part in (shown, _tell_of_talk(found.prompt.messages, found.begun)) if part
            )
        )

    def commands(self) -> tuple[Command, ...]:
        """What is registered."""
        spec = CommandSpec(
            name="context", help="Show how full my memory of this session is", native="context"
        )
        return (Command(spec, self.show),)


def _describe(filled: Breakdown, profile: ModelProfile, tools: int) -> str:
    free = max(0, profile.window - profile.max_output - filled.total)
    lines = [
        f"**Context**: about {filled.total:,} of {profile.window:,} tokens, {filled.share:.0%}",
        f"`{draw_bar(filled.share)}`",
        f"- Instructions: {filled.system:,}",
        f"- Tools: {filled.tools:,} ({count(tools, 'tool')})",
        f"- What people said: {filled.user:,}",
        f"- What I said: {filled.assistant:,}",
        f"- Tool results: {filled.tool_results:,}",
        f"- Kept for the answer: {profile.max_output:,}",
        f"- Free: {free:,}",
    ]
    advice = ADVICE[filled.level]
    return "\n".join(lines) + (f"\n\n⚠️ {advice}" if advice else "")


def draw_bar(share: float) -> str:
    """A bar of text, as full as the window; what is neither empty nor full never looks so."""
    full = min(BAR, round(share * BAR))
    if 0 < share < 1:
        full = min(BAR - 1, max(1, full))
    return FULL * full + EMPTY * (BAR - full)


def _tell_of_talk(messages: Sequence[PromptMessage], begun: Begun) -> str:
    """How much of the talk is shown word for word."""
    if not begun.turns:
        return ""
    frames = 1 if begun.summary is not None else 0
    said = sum(part.role != "tool" and part.role != "system" and not part.tool_calls for part in messages)
    shown = said - frames - 1  # the last one is the message that is still to come
    text = f"Of {count(begun.turns, 'message')}, the newest {shown:,} are shown to me word for word"
    if begun.summary is None:
        return f"{text}."
    return f"{text}, and what came before as a summary of {count(begun.summary.tokens, 'token')}."
