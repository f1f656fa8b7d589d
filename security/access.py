"""Who is answered: people and chats that admins allowed or blocked."""

import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeAlias

from bot.agent.audit import Audit, AuditEvent
from bot.agent.seams import Refusal
from bot.commands.access import Kind, Restriction, Verdict
from bot.messages import Address, InboundMessage, Trigger

log = logging.getLogger(__name__)

REFUSAL = "Sorry, I may not answer here. Please ask whoever runs this bot."
AUDIT_EVERY = 60.0  # seconds between two audit lines about one person
MAX_AUDITED = 10_000  # people whose last line is remembered
RESTRICTED = "restricted"
KINDS: tuple[Kind, ...] = ("user", "chat")

IsAdmin: TypeAlias = Callable[[InboundMessage], bool]
Clock: TypeAlias = Callable[[], float]
Change: TypeAlias = tuple[str, str, str | None]


class Rules(Protocol):
    """Keeps values by kind and subject; `memory/rules.py` fulfils it."""

    def of(self, kind: str) -> Mapping[str, str]:
        """Every subject of a kind with its value, from memory."""

    async def change(self, changes: Sequence[Change], *, by: str) -> None:
        """Set values as (kind, subject, value), all or nothing; `None` takes one away."""


class Access:
    """Fulfils `bot.agent.seams.Check` and `bot.commands.access.AccessRules`.

    A block ranks above everything, but admins are never refused: they could not take it back. Once somebody
    was allowed, others of that kind are refused, and stay so until an admin opens the door again.
    """

    def __init__(
        self, rules: Rules, *, is_admin: IsAdmin, audit: Audit, clock: Clock = time.monotonic
    ) -> None:
        self._rules = rules
        self._is_admin = is_admin
        self._audit = audit
        self._clock = clock
        self._audited: OrderedDict[str, float] = OrderedDict()

    async def __call__(self, message: InboundMessage) -> Refusal | None:
        """Refuse the message of somebody who is not answered, or in a chat where nobody is."""
        address = message.address
        if message.trigger is Trigger.HEARTBEAT:  # the bot's own; it has no person behind it
            return None
        verdict = self._verdict("user", address, message.sender.id)
        if self._passes("user", [verdict]) and self.is_open(address):
            return None
        if self._is_admin(message):
            return None
        await self._record(message)
        return Refusal(text=REFUSAL)

    def is_open(self, address: Address) -> bool:
        """Whether anybody is answered in a chat; what is said of a thread's chat holds in the thread."""
        ids = (address.chat,) if address.thread is None else (address.chat, address.thread)
        return self._passes("chat", [self._verdict("chat", address, id_) for id_ in ids])

    def _passes(self, kind: Kind, verdicts: Sequence[str | None]) -> bool:
        if "block" in verdicts:
            return False
        return "allow" in verdicts or kind not in self._rules.of(RESTRICTED)

    def _verdict(self, kind: Kind, address: Address, id_: str) -> str | None:
        rules = self._rules.of(kind)
        if not rules:
            return None
        here = (f"{address.channel}:{account}:{id_}" for account in (address.account, "*"))
        verdicts = [rules[subject] for subject in here if subject in rules]
        return "block" if "block" in verdicts else verdicts[0] if verdicts else None

    async def _record(self, message: InboundMessage) -> None:
        """Audit a refusal, unless it was done a moment ago."""
        actor, now = f"{message.address.channel}:{message.sender.id}", self._clock()
        if now - self._audited.get(actor, float("-inf")) < AUDIT_EVERY:
            return
        self._audited[actor] = now
        self._audited.move_to_end(actor)
        if len(self._audited) > MAX_AUDITED:
            self._audited.popitem(last=False)
        await self._audit.record(
            AuditEvent(
                severity="warning",
                actor=actor,
                action="access",
                target=message.session,
                status="denied",
                session=message.session,
                run=message.run,
            )
        )

    async def rule(self, kind: Kind, subject: str, verdict: Verdict | None, *, by: str) -> None:
        """See `AccessRules.rule`."""
        changes: list[Change] = [(kind, subject, verdict)]
        if verdict == "allow":
            changes.append((RESTRICTED, kind, "on"))
        await self._rules.change(changes, by=by)

    async def reopen(self, *, by: str) -> None:
        """See `AccessRules.reopen`."""
        allowed: list[Change] = [
            (kind, subject, None)
            for kind in KINDS
            for subject, verdict in self._rules.of(kind).items()
            if verdict == "allow"
        ]
        await self._rules.change([*allowed, *((RESTRICTED, kind, None) for kind in KINDS)], by=by)

    def restrictions(self) -> tuple[Restriction, ...]:
        """See `AccessRules.restrictions`."""
        return tuple(self._restriction(kind) for kind in KINDS)

    def _restriction(self, kind: Kind) -> Restriction:
        rules = sorted(self._rules.of(kind).items())
        return Restriction(
            kind=kind,
            is_closed=kind in self._rules.of(RESTRICTED),
            allowed=tuple(subject for subject, verdict in rules if verdict == "allow"),
            blocked=tuple(subject for subject, verdict in rules if verdict == "block"),
        )
