"""Permissions for tool calls: deny patterns, then allow patterns, then the mode.

Each call is judged by its own arguments. Whoever has a doubt about it can make it stricter, never laxer; a
person is asked once, whatever the reasons are.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Final, Literal, Protocol, TypeAlias

import msgspec

from bot.agent.audit import Audit, AuditEvent
from bot.messages import Address, InboundMessage, Role
from bot.tools.base import Arguments, Denied, Questions, Risk, Tool, ToolContext

Mode: TypeAlias = Literal["auto", "confirm", "deny"]

DEFAULT_MODES: Final[Mapping[Risk, Mode]] = {
    "read": "auto",
    "network": "auto",
    "write": "auto",
    "exec": "confirm",
    "send": "confirm",
}
ONCE, ALWAYS, DENY = "Allow once", "Allow always", "Deny"
WORDS = ("once", "always", "deny")
STATUS: Final = {ONCE: "allowed once", ALWAYS: "allowed always", None: "no answer"}  # else: denied
MAX_SHOWN = 12_000  # characters of the arguments, in a question: a few messages on any platform
MAX_NAME = 60  # characters of a person's name
MAX_NOTED = 300  # characters of a doubt, in the audit log
FORBIDDEN = "the operator's rules forbid it"
NOT_PERMITTED = "an admin was asked and has not permitted it"
NOBODY_SAID = "an admin was asked and did not answer within {seconds:g} s"
TOO_LONG = (
    "an admin has to see the whole call, and its arguments have {count:,} characters as they are shown, "
    f"of at most {MAX_SHOWN:,}: do it in smaller parts"
)


class Rule(Protocol):
    """What the settings say of a tool."""

    @property
    def mode(self) -> Mode | None: ...

    @property
    def deny(self) -> Sequence[str]: ...

    @property
    def allow(self) -> Sequence[str]: ...


class Doubt(msgspec.Struct, frozen=True, kw_only=True):
    """Why a call is not made without a permission, or not at all.

    Attributes:
        mode: `auto` is none.
        told: For who is asked, and for the model where it is denied.
        may_last: The same call may be permitted for good; else each is asked for again.
    """

    mode: Mode
    told: str
    may_last: bool = True


class Suspicion(Protocol):
    """Has doubts about calls."""

    def doubt(self, tool: Tool, arguments: Arguments, context: ToolContext) -> Doubt | str | None:
        """Say what there is against a call; asked more than once for each, so it has to be quick.

        Words alone are a doubt for which a person has to see the call, whatever the mode says.
        """


class Permissions(Protocol):
    """Remembers what was allowed for good."""

    async def get(self, name: str) -> str | None: ...

    async def put(self, name: str, value: str) -> None: ...


class _Compiled(msgspec.Struct, frozen=True, kw_only=True):
    tool: str
    role: str | None
    mode: Mode | None
    deny: tuple[re.Pattern[str], ...]
    allow: tuple[re.Pattern[str], ...]

    def holds_for(self, tool: Tool, role: Role) -> bool:
        return fnmatchcase(tool.name, self.tool) and self.role in (None, role.value)


class Approvals:
    """Fulfils `bot.tools.base.Gate`.

    Args:
        rules: By tool, a glob; `exec@member` holds for one role alone.
        may_approve: Whether somebody may give a permission.
        chat: Where admins are asked; without it, where the person is.
        redact: Hides secrets in what is shown; what runs has them.

    Raises:
        re.error: A pattern of a rule is no regular expression.
    """

    def __init__(
        self,
        rules: Mapping[str, Rule],
        *,
        questions: Questions,
        permissions: Permissions,
        audit: Audit,
        may_approve: Callable[[InboundMessage], bool],
        seconds: float,
        chat: Address | None = None,
        redact: Callable[[str], str] = str,
    ) -> None:
        self._rules = tuple(_compile(name, rule) for name, rule in rules.items())
        self._questions = questions
        self._permissions = permissions
        self._audit = audit
        self._may_approve = may_approve
        self._seconds = seconds
        self._chat = chat
        self._redact = redact
        self._suspicions: tuple[Suspicion, ...] = ()

    def heed(self, *suspicions: Suspicion) -> None:
        """Let more of them have doubts about calls."""
        self._suspicions += suspicions

    def waves_through(self, tool: Tool, arguments: Arguments, context: ToolContext) -> bool:
        """See the protocol."""
        mode = self._decide(tool, arguments, context.message.sender.role)
        return mode == "auto" and not self._doubts(tool, arguments, context)

    async def judge(self, tool: Tool, arguments: Arguments, context: ToolContext) -> Arguments | Denied:
        """See the protocol."""
        doubts = self._doubts(tool, arguments, context)
        mode = self._decide(tool, arguments, context.message.sender.role)
        if mode == "deny" or any(doubt.mode == "deny" for doubt in doubts):
            await self._note(tool, context, "denied", doubts)
            told = [FORBIDDEN] if mode == "deny" else [d.told for d in doubts if d.mode == "deny"]
            return Denied(reason="; ".join(told))
        if mode == "auto" and not doubts:
            return arguments
        reason = await self._confirm(tool, _written(arguments), context, doubts)
        return arguments if reason is None else Denied(reason=reason)

    def _doubts(self, tool: Tool, arguments: Arguments, context: ToolContext) -> list[Doubt]:
        doubts: list[Doubt] = []
        for suspicion in self._suspicions:
            if (found := suspicion.doubt(tool, arguments, context)) is None:
                continue
            if isinstance(found, str):
                found = Doubt(mode="confirm", told=one_line(found, MAX_NOTED))
            if found.mode != "auto":
                doubts.append(found)
        return doubts

    def _decide(self, tool: Tool, arguments: Arguments, role: Role) -> Mode:
        """Always in this order, over all rules that hold: deny, allow, mode."""
        rules = [rule for rule in self._rules if rule.holds_for(tool, role)]
        if not rules:
            return DEFAULT_MODES[tool.risk]
        text = f"{tool.name} {_written(arguments)}"
        if any(pattern.search(text) for rule in rules for pattern in rule.deny):
            return "deny"
        if any(pattern.search(text) for rule in rules for pattern in rule.allow):
            return "auto"
        modes = [rule.mode for rule in sorted(rules, key=_exactness) if rule.mode is not None]
        return modes[-1] if modes else DEFAULT_MODES[tool.risk]

    async def _confirm(
        self, tool: Tool, written: str, context: ToolContext, doubts: Sequence[Doubt] = ()
    ) -> str | None:
        """Ask; gives why the call is not made, `None` where it is permitted."""
        key = _key(tool, written, context)
        may_last = all(doubt.may_last for doubt in doubts)
        if may_last and await self._permissions.get(key) is not None:
            await self._note(tool, context, STATUS[ALWAYS], doubts)
            return None
        shown = visible(self._redact(written)) if len(written) <= MAX_SHOWN else written
        if len(shown) > MAX_SHOWN:
            await self._note(tool, context, "too long to be shown", doubts)
            return TOO_LONG.format(count=len(shown))
        answer = await self._questions.ask(
            context,
            self._question(tool, shown, context, doubts),
            options=(ONCE, ALWAYS, DENY) if may_last else (ONCE, DENY),
            words=WORDS if may_last else (WORDS[0], WORDS[-1]),
            seconds=self._seconds,
            answerers=self._may_approve,
            address=self._chat,
            takes_text=False,
        )
        if answer == ALWAYS:
            await self._permissions.put(key, context.person)
        await self._note(tool, context, STATUS.get(answer, "denied"), doubts)
        if answer in (ONCE, ALWAYS):
            return None
        return NOBODY_SAID.format(seconds=self._seconds) if answer is None else NOT_PERMITTED

    def _question(self, tool: Tool, shown: str, context: ToolContext, doubts: Sequence[Doubt]) -> str:
        who = one_line(context.message.sender.name or context.message.sender.id)
        where = "" if self._chat is None else f" in `{one_line(context.session)}`"
        fence = "`" * max(3, _longest_ticks(shown) + 1)
        why = "".join(f"\n{doubt.told}" for doubt in doubts)
        return f"**May I run `{tool.name}`** for {who}{where}?{why}\n{fence}json\n{shown}\n{fence}"

    async def _note(
        self, tool: Tool, context: ToolContext, status: str, doubts: Sequence[Doubt] = ()
    ) -> None:
        await self._audit.record(
            AuditEvent(
                severity="info" if status.startswith("allow") else "warning",
                actor=context.person,
                action=f"tool {tool.name}",
                target=context.session,
                status=status,
                session=context.session,
                run=context.message.run,
                context=tuple(("doubt", self._redact(doubt.told)[:MAX_NOTED]) for doubt in doubts),
            )
        )


def _written(arguments: Arguments) -> str:
    return json.dumps(dict(arguments), ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=str)


def _compile(name: str, rule: Rule) -> _Compiled:
    tool, _, role = name.partition("@")
    return _Compiled(
        tool=tool,
        role=role or None,
        mode=rule.mode,
        deny=tuple(re.compile(pattern, re.IGNORECASE) for pattern in rule.deny),
        allow=tuple(re.compile(pattern, re.IGNORECASE) for pattern in rule.allow),
    )


def _exactness(rule: _Compiled) -> tuple[bool, bool]:
    """Sorts rules of one role, and those that name the tool, behind the others."""
    return rule.role is not None, not any(sign in rule.tool for sign in "*?[")


def _key(tool: Tool, written: str, context: ToolContext) -> str:
    """What is allowed for good: this call, for this person, in this chat."""
    parts = (tool.name, written, context.person, context.address.session())
    return "always:" + hashlib.sha256("\x1f".join(parts).encode(errors="backslashreplace")).hexdigest()


def visible(written: str) -> str:
    """Escape in a piece of JSON what could not be seen; it stands for the same values."""
    return "".join(sign if sign.isprintable() else json.dumps(sign)[1:-1] for sign in written)


def one_line(name: str, most: int = MAX_NAME) -> str:
    """A name that can't pass for a part of the question."""
    seen = "".join(sign if sign.isprintable() else " " for sign in name)
    return " ".join(seen.replace("`", "'").split())[:most]


def _longest_ticks(text: str) -> int:
    return max((len(run) for run in re.findall(r"`+", text)), default=0)
