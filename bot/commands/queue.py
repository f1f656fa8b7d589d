"""`/queue`: what happens to messages that arrive while this session is busy."""

from typing import Protocol

from msgspec.structs import replace

from bot.agent.choice import Choice
from bot.agent.queueing import MODES, QueueRules, RulesOf, parse_rules
from bot.commands.call import Answer, Call, Command, refuse
from bot.commands.sessions import Sessions
from bot.commands.spec import Argument, CommandSpec
from bot.messages import Button, SessionKey

RESETS = ("reset", "default")


class Choices(Protocol):
    """Keeps what each session has chosen."""

    def of(self, session: SessionKey) -> Choice: ...

    async def choose(self, session: SessionKey, choice: Choice) -> None: ...


class QueueCommands:
    """The handler, over the choices of the sessions.

    Args:
        rules: What holds for a message, the session's choice included.
    """

    def __init__(self, sessions: Sessions, choices: Choices, rules: RulesOf) -> None:
        self._sessions = sessions
        self._choices = choices
        self._rules = rules

    async def queue(self, call: Call) -> Answer:
        """`/queue [mode] [debounce:2s] [cap:25] [drop:summarize]`."""
        session = await self._sessions.current(call.chat)
        chosen, words = self._choices.of(session), call.word("rules").strip()
        message = replace(call.message, session=session)
        if not words:
            return _describe(self._rules(message))
        if words.lower() in RESETS:
            await self._choices.choose(session, replace(chosen, queue=None))
            return _describe(self._rules(message))
        rules = parse_rules(words, self._rules(message))
        if isinstance(rules, str):
            return refuse(rules)
        await self._choices.choose(session, replace(chosen, queue=rules))
        return _describe(rules)

    def commands(self) -> tuple[Command, ...]:
        """What is registered."""
        rules = Argument(
            name="rules", help="Like `collect debounce:2s cap:25 drop:summarize`, or `reset`", kind="rest"
        )
        spec = CommandSpec(
            name="queue",
            help="Show or choose what happens to messages while I am busy",
            arguments=(rules,),
            native="queue",
        )
        return (Command(spec, self.queue),)


def _describe(rules: QueueRules) -> Answer:
    says = {
        "steer": "I take them up in what I am doing; what is left gets an answer of its own",
        "steer-backlog": "I take them up in what I am doing, and answer each again afterwards",
        "followup": "I answer each in turn",
        "collect": f"I answer all of them together, after {rules.debounce:g} s of silence",
        "interrupt": "I stop what I am doing and answer the newest",
    }
    past = {
        "summarize": "the oldest are answered together",
        "old": "the oldest are dropped, and you are told",
        "new": "new ones are refused",
    }
    text = (
        f"**Messages while I am busy**: `{rules.mode}`\n{says[rules.mode]}.\n"
        f"Past {rules.cap} of them {past[rules.drop]}."
    )
    buttons = tuple(Button(label=mode, value=f"/queue {mode}") for mode in MODES if mode != rules.mode)
    return Answer(text=text, buttons=buttons)
