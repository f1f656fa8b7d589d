"""The hooks of `before_tool_call` as a gate: they change the arguments, deny, or have a person asked."""

import logging
from collections.abc import Callable
from types import MappingProxyType

from bot.hooks.effects import Deny, RequireApproval, Resolution
from bot.hooks.points import BeforeToolCall
from bot.hooks.registry import Hooks
from bot.messages import Address, InboundMessage
from bot.tools.base import Arguments, Denied, Questions, Tool, ToolContext

log = logging.getLogger(__name__)

ALLOW, DENY = "Allow", "Deny"
SHOWN = 500  # characters of the arguments in a question
REFUSED = "The call was not approved: {title}. Do not repeat it; say what you wanted to do."
UNANSWERED = "Nobody approved the call in time: {title}. Do not repeat it; say what you wanted to do."
NOBODY = "The call needs an approval, and nobody can be asked here: {title}."


class HookGate:
    """Fulfils `bot.tools.base.Gate`.

    Args:
        questions: Asks people; without it, what needs an approval is denied.
        answerers: Whose answers count; without it, only the person's who began the turn.
        chat: Where people are asked; without it, where the turn came from.
        redact: Hides secrets in what is shown.
    """

    def __init__(
        self,
        hooks: Hooks,
        questions: Questions | None = None,
        *,
        answerers: Callable[[InboundMessage], bool] | None = None,
        chat: Address | None = None,
        redact: Callable[[str], str] = str,
    ) -> None:
        self._hooks = hooks
        self._questions = questions
        self._answerers = answerers
        self._chat = chat
        self._redact = redact

    def waves_through(self, tool: Tool, arguments: Arguments, context: ToolContext) -> bool:
        """See `Gate.waves_through`."""
        return not self._hooks.wants(BeforeToolCall)

    async def judge(self, tool: Tool, arguments: Arguments, context: ToolContext) -> Arguments | Denied:
        """See `Gate.judge`."""
        shown = MappingProxyType(dict(arguments))  # to be changed by an effect only, which is validated
        left = await self._hooks.fire(BeforeToolCall(tool=tool, arguments=shown, call=context))
        if isinstance(left, Deny):
            return Denied(reason=left.reason)
        for approval in left.approvals:
            if (denied := await self._ask(approval, tool, left.arguments, context)) is not None:
                return denied
        return arguments if left.arguments is shown else left.arguments

    async def _ask(
        self, approval: RequireApproval, tool: Tool, arguments: Arguments, context: ToolContext
    ) -> Denied | None:
        if self._questions is None:
            _tell(approval, "denied")
            return Denied(reason=NOBODY.format(title=approval.title))
        answer = await self._questions.ask(
            context,
            _question(approval, tool, self._redact(_show(arguments))),
            options=(ALLOW, DENY),
            words=(ALLOW.lower(), DENY.lower()),
            seconds=approval.seconds,
            answerers=self._answerers,
            address=self._chat,
            takes_text=False,
        )
        if answer is None:
            _tell(approval, "timeout")
            is_allowed = approval.on_timeout == "allow"
            return None if is_allowed else Denied(reason=UNANSWERED.format(title=approval.title))
        _tell(approval, "allowed" if answer == ALLOW else "denied")
        return None if answer == ALLOW else Denied(reason=REFUSED.format(title=approval.title))


def _show(arguments: Arguments) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in arguments.items())


def _question(approval: RequireApproval, tool: Tool, shown: str) -> str:
    """What is asked: the arguments are those of the call, whatever the plugin's words say of them."""
    if len(shown) > SHOWN:
        shown = f"{shown[:SHOWN]}… ({len(shown):,} characters)"
    call = f"{tool.name}({shown})".replace("`", "'")
    parts = (f"**{approval.title}** ({approval.severity})", approval.description, f"`{call}`")
    return "\n\n".join(part for part in parts if part)


def _tell(approval: RequireApproval, resolution: Resolution) -> None:
    """Tell the plugin how it went; its fault changes nothing."""
    if approval.on_resolved is None:
        return
    try:
        approval.on_resolved(resolution)
    except Exception:  # a plugin's code
        log.exception("approval handler failed", extra={"title": approval.title})
