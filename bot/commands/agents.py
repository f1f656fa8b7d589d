"""`/agents`: the sub-agents that work for this session."""

import time
from collections.abc import Sequence
from typing import Protocol

from bot.commands.call import Answer, Call, Command
from bot.commands.sessions import Sessions
from bot.commands.spec import CommandSpec
from bot.messages import SessionKey

SHOWN = 120  # characters of a task


class Subagent(Protocol):
    """A sub-agent at work; `began_at` is on the clock of `time.monotonic`."""

    @property
    def task(self) -> str: ...

    @property
    def depth(self) -> int: ...

    @property
    def began_at(self) -> float: ...


class Subagents(Protocol):
    """Knows who works."""

    def of(self, session: SessionKey) -> Sequence[Subagent]: ...


class SubagentCommands:
    """The handler, over the sub-agents at work."""

    def __init__(self, sessions: Sessions, subagents: Subagents) -> None:
        self._sessions = sessions
        self._subagents = subagents

    async def agents(self, call: Call) -> Answer:
        """`/agents`."""
        working = self._subagents.of(await self._sessions.current(call.chat))
        if not working:
            return Answer(text="No sub-agents are at work here.")
        lines = [
            f"{'  ' * (subagent.depth - 1)}- {' '.join(subagent.task.split())[:SHOWN]}"
            f" ({time.monotonic() - subagent.began_at:.0f} s)"
            for subagent in working
        ]
        return Answer(text="\n".join(["**Sub-agents at work**", *lines, "", "`/kill` stops them all."]))

    def commands(self) -> tuple[Command, ...]:
        """What is registered."""
        spec = CommandSpec(name="agents", help="Show the sub-agents that work here", native="agents")
        return (Command(spec, self.agents),)
