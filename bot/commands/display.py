"""`/verbose` and `/think`: what this session gets to see beside the answers."""

from typing import Final, Literal, TypeAlias

from msgspec.structs import replace

from bot.agent.choice import Verbosity
from bot.commands.call import Answer, Call, Command
from bot.commands.models import Choices
from bot.commands.sessions import Sessions
from bot.commands.spec import Argument, CommandSpec
from bot.messages import Button

Switch: TypeAlias = Literal["on", "off"]

VERBOSITY: Final[dict[Verbosity, str]] = {
    "off": "Tool calls are not shown.",
    "on": "Each tool call is shown in a message of its own, and those that fail with their error.",
    "full": "Each tool call is shown in a message of its own, and what came of it.",
}
THINKING: Final[dict[Switch, str]] = {
    "off": "My reasoning is not shown.",
    "on": "My reasoning is shown in messages of its own, where the model gives it.",
}


class DisplayCommands:
    """The handlers, over the choices of the sessions."""

    def __init__(self, sessions: Sessions, choices: Choices) -> None:
        self._sessions = sessions
        self._choices = choices

    async def verbose(self, call: Call) -> Answer:
        """`/verbose [on|off|full]`."""
        session = await self._sessions.current(call.chat)
        chosen = self._choices.of(session)
        asked = call.word("level") or chosen.verbosity
        level = next(level for level in VERBOSITY if level == asked)
        if level != chosen.verbosity:
            await self._choices.choose(session, replace(chosen, verbosity=level))
        return Answer(text=VERBOSITY[level], buttons=_others("verbose", VERBOSITY, level))

    async def think(self, call: Call) -> Answer:
        """`/think [on|off]`."""
        session = await self._sessions.current(call.chat)
        chosen = self._choices.of(session)
        now: Switch = "on" if chosen.shows_thinking else "off"
        switch: Switch = "on" if (call.word("switch") or now) == "on" else "off"
        if switch != now:
            await self._choices.choose(session, replace(chosen, shows_thinking=switch == "on"))
        return Answer(text=THINKING[switch], buttons=_others("think", THINKING, switch))

    def commands(self) -> tuple[Command, ...]:
        """What is registered."""
        level = Argument(name="level", help="With `full`, results are shown, too", choices=tuple(VERBOSITY))
        switch = Argument(name="switch", help="Whether it is shown", choices=tuple(THINKING))
        return (
            Command(
                CommandSpec(
                    name="verbose",
                    help="Show or hide the tools I use",
                    arguments=(level,),
                    native="verbose",
                ),
                self.verbose,
            ),
            Command(
                CommandSpec(
                    name="think", help="Show or hide my reasoning", arguments=(switch,), native="think"
                ),
                self.think,
            ),
        )


def _others(command: str, names: dict[Verbosity, str] | dict[Switch, str], now: str) -> tuple[Button, ...]:
    return tuple(Button(label=name, value=f"/{command} {name}") for name in names if name != now)
