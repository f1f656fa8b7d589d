"""Writes down what the agent does with its tools, and stops those that act while nothing can be written."""

from collections.abc import Callable
from typing import Final, Literal

import msgspec

from bot.agent.audit import AuditEvent, Value
from bot.hooks.points import AfterToolCall
from bot.tools.base import Arguments, Denied, Risk, Tool, ToolContext
from security.audit.log import AuditLog

ACTING: Final[frozenset[Risk]] = frozenset({"write", "exec", "send"})
MAX_ARGUMENTS: Final = 15
MAX_VALUE: Final = 200  # characters of an argument
MAX_REASON: Final = 300  # characters of why a call was denied
REFUSED: Final = (
    "the audit log can't be written, and until it can, nothing that writes, executes or sends is done. "
    "Tell the person that an admin has to look at the log"
)


class AuditGate:
    """Fulfils `bot.tools.base.Gate`; the last one, so that it sees what is really called.

    Args:
        is_strict: An acting tool waits until its attempt is on the disk, and is denied where it can't be.
    """

    def __init__(self, log: AuditLog, *, is_strict: bool) -> None:
        self._log = log
        self._is_strict = is_strict

    def waves_through(self, tool: Tool, arguments: Arguments, context: ToolContext) -> bool:
        """See the protocol; what need not wait is noted on the way."""
        if self._is_strict and tool.risk in ACTING:
            return False
        self._log.note(_attempt(tool, arguments, context))
        return True

    async def judge(self, tool: Tool, arguments: Arguments, context: ToolContext) -> Arguments | Denied:
        """See the protocol."""
        if await self._log.keep(_attempt(tool, arguments, context)):
            return arguments
        return Denied(reason=REFUSED)


def note_denied(log: AuditLog) -> Callable[[Tool, ToolContext, str, str], None]:
    """Make what writes down that a gate has denied a call: of which tool, where, which gate, and why."""

    def note(tool: Tool, context: ToolContext, gate: str, reason: str) -> None:
        event = AuditEvent(
            severity="warning",
            actor=context.person,
            action=f"tool denied {tool.name}",
            target=context.call_id,
            status="denied",
            session=context.session,
            run=context.message.run,
            context=(("gate", gate), ("reason", reason[:MAX_REASON])),
        )
        log.note(event)

    return note


def note_result(log: AuditLog) -> Callable[[AfterToolCall], None]:
    """Make a handler of `after_tool_call` that writes down how each call went; never what it gave."""

    def note(call: AfterToolCall) -> None:
        severity: Literal["info", "warning"] = "info" if call.status == "ok" else "warning"
        event = AuditEvent(
            severity=severity,
            actor="agent",
            action=f"tool result {call.tool}",
            target=call.call_id,
            status=call.status,
            session=call.session,
            run=call.run,
            context=(("seconds", round(call.seconds, 3)), ("characters", len(call.text))),
        )
        log.note(event)

    return note


def _attempt(tool: Tool, arguments: Arguments, context: ToolContext) -> AuditEvent:
    return AuditEvent(
        severity="info",
        actor=context.person,
        action=f"tool attempt {tool.name}",
        target=context.call_id,
        status="begun",
        session=context.session,
        run=context.message.run,
        context=(("risk", tool.risk), *_shown(tool, arguments)),
    )


def _shown(tool: Tool, arguments: Arguments) -> tuple[tuple[str, Value], ...]:
    """The beginning of each argument; of what is sent to people only the length."""
    named = list(arguments.items())[:MAX_ARGUMENTS]
    return tuple((name, _beginning(value, is_message=tool.risk == "send")) for name, value in named)


def _beginning(value: object, *, is_message: bool) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value, enc_hook=str).decode()
    if is_message:
        return f"({len(text)} characters)"
    return text if len(text) <= MAX_VALUE else f"{text[:MAX_VALUE]}… ({len(text)} characters)"
