"""`/usage`: the tokens that were used, here and (for admins) by all."""

from collections.abc import Sequence
from typing import Protocol

from bot.commands.call import Answer, Call, Command
from bot.commands.sessions import Sessions
from bot.commands.spec import CommandSpec
from bot.commands.wording import code, count
from bot.messages import Frozen, SessionKey, utc_now


class Used(Frozen, frozen=True, kw_only=True):
    """What the turns of one model have used, in tokens; `cached` are part of `prompt`."""

    model: str
    turns: int
    prompt: int
    completion: int
    cached: int


class Usage(Protocol):
    """Adds up turns, model by model; times are seconds since 1970."""

    async def of_session(self, session: SessionKey) -> list[Used]:
        """All of a session."""

    async def of_chat(self, chat: SessionKey, *, since: float) -> list[Used]:
        """All sessions of a chat, deleted ones included."""

    async def of_all(self, *, since: float) -> list[Used]:
        """Everybody."""


class UsageCommands:
    """The handlers, over the figures of the store."""

    def __init__(self, sessions: Sessions, usage: Usage) -> None:
        self._sessions = sessions
        self._usage = usage

    async def show(self, call: Call) -> Answer:
        """`/usage`; what others have used is for those who steer the bot."""
        session = await self._sessions.current(call.chat)
        midnight = utc_now().replace(hour=0, minute=0, second=0, microsecond=0).timestamp()
        parts = [
            ("This session", await self._usage.of_session(session)),
            ("This chat today (UTC)", await self._usage.of_chat(call.chat, since=midnight)),
        ]
        if call.is_operator:
            parts.append(("Everybody today (UTC)", await self._usage.of_all(since=midnight)))
        return Answer(text="\n\n".join(_part(title, used) for title, used in parts))

    def commands(self) -> tuple[Command, ...]:
        """What is registered."""
        spec = CommandSpec(name="usage", help="Show the tokens that were used", native="usage")
        return (Command(spec, self.show),)


def total(used: Sequence[Used]) -> int:
    """All tokens, of prompts and of answers."""
    return sum(one.prompt + one.completion for one in used)


def _part(title: str, used: Sequence[Used]) -> str:
    if not used:
        return f"**{title}**: nothing yet"
    lines = [f"- {code(one.model or 'unknown')}: {_figures(one)}" for one in used]
    return "\n".join([f"**{title}**: {count(total(used), 'token')}", *lines])


def _figures(used: Used) -> str:
    cached = f" ({used.cached:,} cached)" if used.cached else ""
    return f"{count(used.turns, 'turn')}, {used.prompt:,} in{cached}, {used.completion:,} out"
