"""`/agents`: the helpers that work for this session."""

import time
from collections.abc import Sequence
from typing import Protocol

from bot.commands.call import Answer, Call, Command
from bot.commands.sessions import Sessions
from bot.commands.spec import CommandSpec
from bot.messages import SessionKey

SHOWN = 120  # characters of a task


class Helper(Protocol):
    """A helper at work; `began_at` is on the clock of `time.monotonic`."""

    @property
    def task(self) -> str: ...

    @property
    def depth(self) -> int: ...

    @property
    def began_at(self) -> float: ...


class Helpers(Protocol):
    """Knows who works."""

    def of(self, session: SessionKey) -> Sequence[Helper]: ...


class HelperCommands:
    """The handler, over the helpers at work."""

    def __init__(self, sessions: Sessions, helpers: Helpers) -> None:
        self._sessions = sessions
        self._helpers = helpers

    async def agents(self, call: Call) -> Answer:
        """`/agents`."""
        working = self._helpers.of(await self._sessions.current(call.chat))
        if not working:
            return Answer(text="No helpers are at work here.")
        lines = [
            f"{'  ' * (helper.depth - 1)}- {' '.join(helper.task.split())[:SHOWN]}"
            f" ({time.monotonic() - helper.began_at:.0f} s)"
            for helper in working
        ]
        return Answer(text="\n".join(["**Helpers at work**", *lines, "", "`/kill` stops them all."]))

    def commands(self) -> tuple[Command, ...]:
        """What is registered."""
        spec = CommandSpec(name="agents", help="Show the helpers that work here", native="agents")
        return (Command(spec, self.agents),)
