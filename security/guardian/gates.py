"""The check in front of tools that run commands or send texts, and of answers."""

import logging
from collections import OrderedDict
from collections.abc import Iterator
from typing import Final

from bot.agent.audit import Audit, AuditEvent
from bot.messages import InboundMessage, new_id
from bot.tools.base import Arguments, Denied, Tool, ToolContext
from security.guardian.guardian import AT_ONCE, Guardian
from security.verdict import HARMLESS, Level, Verdict

log = logging.getLogger(__name__)

CODE: Final = ("code", "script")  # arguments that hold a program, unless another says that it is a shell's
LINES: Final = ("command", "cmd", "shell", "text", "input")
TEXTS: Final = ("text", "message", "caption", "content", "body")
SHELL_NAMES: Final = frozenset({"bash", "sh", "shell"})
MOST_DOUBTS: Final = 1_000  # calls whose doubts are remembered until they are asked for
DENIED: Final = (
    "the safety check refuses this command ({reasons}). Do not try to reach the same in another way"
)
DOUBTED: Final = "the safety check finds it suspicious: {reasons}"
UNSENT: Final = "the safety check refuses this text ({reasons}). Do not send it in another form"
WITHHELD: Final = "The answer was withheld by the safety check. Reference {reference}"


class CommandGuard:
    """Fulfils `bot.tools.base.Gate`, and says of what remains whether a person has to permit it.

    It stands after the gates that change arguments, and before the approvals.
    """

    def __init__(self, guardian: Guardian, audit: Audit) -> None:
        self._guardian = guardian
        self._audit = audit
        self._doubts: OrderedDict[tuple[str, str], tuple[str, str | None]] = OrderedDict()

    def waves_through(self, tool: Tool, arguments: Arguments, context: ToolContext) -> bool:
        """See the protocol."""
        if tool.risk != "exec":
            return True
        found = list(_commands(arguments))
        if sum(len(text) for text, _ in found) > AT_ONCE:
            return False
        verdict = self._look(found)
        return verdict.level < Level.MEDIUM and not self._guardian.is_asked(verdict.level)

    async def judge(self, tool: Tool, arguments: Arguments, context: ToolContext) -> Arguments | Denied:
        """See the protocol."""
        worst = HARMLESS
        if tool.risk == "exec":
            for text, is_code in _commands(arguments):
                verdict = await self._guardian.check(text, kind="command", is_code=is_code)
                worst = max(worst, verdict, key=lambda one: one.level)
        self._remember(context, arguments, worst)
        if worst.level < Level.MEDIUM:
            return arguments
        reasons = ", ".join(worst.reasons)
        if worst.level is Level.MEDIUM:
            await self._note(tool, context, worst, "doubted")
            return arguments
        await self._note(tool, context, worst, "denied")
        return Denied(reason=DENIED.format(reasons=reasons))

    def doubt(self, tool: Tool, arguments: Arguments, context: ToolContext) -> str | None:
        """Why a person has to permit this call, whatever the mode says; `None` where nothing speaks for it.

        What this gate has not judged is looked at here, so that it needs a permission if it is in doubt.
        """
        if tool.risk != "exec":
            return None
        known = self._doubts.get((context.message.run, context.call_id))
        if known is not None and known[0] == _written(arguments):
            return known[1]
        return _doubt_of(self._look(list(_commands(arguments))))

    def _look(self, found: list[tuple[str, bool]]) -> Verdict:
        verdicts = [self._guardian.look(text, "command", is_code=is_code) for text, is_code in found]
        return max(verdicts, key=lambda one: one.level, default=HARMLESS)

    def _remember(self, context: ToolContext, arguments: Arguments, verdict: Verdict) -> None:
        self._doubts[context.message.run, context.call_id] = (_written(arguments), _doubt_of(verdict))
        if len(self._doubts) > MOST_DOUBTS:
            self._doubts.popitem(last=False)

    async def _note(self, tool: Tool, context: ToolContext, verdict: Verdict, status: str) -> None:
        await self._audit.record(_event(f"guardian tool {tool.name}", context.message, verdict, status))


class SendGuard:
    """Fulfils `bot.tools.base.Gate`: texts that tools send to people."""

    def __init__(self, guardian: Guardian, audit: Audit) -> None:
        self._guardian = guardian
        self._audit = audit

    def waves_through(self, tool: Tool, arguments: Arguments, context: ToolContext) -> bool:
        """See the protocol."""
        if tool.risk != "send":
            return True
        texts = list(_texts(arguments))
        if sum(map(len, texts)) > AT_ONCE:
            return False
        levels = [self._guardian.look(text, "outbound").level for text in texts]
        return all(level < Level.MEDIUM and not self._guardian.is_asked(level) for level in levels)

    async def judge(self, tool: Tool, arguments: Arguments, context: ToolContext) -> Arguments | Denied:
        """See the protocol."""
        for text in _texts(arguments):
            verdict = await self._guardian.check(text, kind="outbound")
            if verdict.level >= Level.HIGH:
                await self._audit.record(
                    _event(f"guardian tool {tool.name}", context.message, verdict, "denied")
                )
                return Denied(reason=UNSENT.format(reasons=", ".join(verdict.reasons)))
        return arguments


class AnswerGuard:
    """Looks at the answer of a turn before it is kept and sent."""

    def __init__(self, guardian: Guardian, audit: Audit) -> None:
        self._guardian = guardian
        self._audit = audit

    async def __call__(self, message: InboundMessage, text: str) -> str | None:
        """What is said in the place of an answer; `None` lets it pass."""
        verdict = await self._guardian.check(text, kind="outbound")
        if verdict.level < Level.MEDIUM:
            return None
        if verdict.level is Level.MEDIUM:
            await self._audit.record(_event("guardian answer", message, verdict, "passed"))
            return None
        reference = new_id()[-8:]
        log.warning("answer withheld", extra={"reference": reference, "reasons": ", ".join(verdict.reasons)})
        await self._audit.record(_event("guardian answer", message, verdict, "withheld", reference))
        return WITHHELD.format(reference=reference)


def _commands(arguments: Arguments) -> Iterator[tuple[str, bool]]:
    """What a call would run, and whether it is a program and not a shell line."""
    language = str(arguments.get("language", "")).lower()
    for name, value in arguments.items():
        if isinstance(value, str) and value and name in (*CODE, *LINES):
            yield value, name in CODE and language not in SHELL_NAMES


def _texts(arguments: Arguments) -> Iterator[str]:
    return (value for name, value in arguments.items() if isinstance(value, str) and name in TEXTS)


def _written(arguments: Arguments) -> str:
    return repr(sorted((name, str(value)) for name, value in arguments.items()))


def _doubt_of(verdict: Verdict) -> str | None:
    return DOUBTED.format(reasons=", ".join(verdict.reasons)) if verdict.level >= Level.MEDIUM else None


def _event(
    action: str, message: InboundMessage, verdict: Verdict, status: str, reference: str = ""
) -> AuditEvent:
    return AuditEvent(
        severity="critical" if verdict.level >= Level.HIGH else "warning",
        actor=f"{message.address.channel}:{message.sender.id}",
        action=action,
        target=reference or message.session,
        status=status,
        session=message.session,
        run=message.run,
        context=(("level", verdict.level.name), ("reasons", ", ".join(verdict.reasons))),
    )
