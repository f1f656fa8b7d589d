"""Who is answered: the check that every message passes first."""

import time
from collections.abc import Callable, Mapping
from typing import Final, Literal, Protocol, TypeAlias

from msgspec.structs import replace

from bot.agent.audit import Audit, AuditEvent
from bot.agent.seams import Refusal
from bot.commands.access import Kind, Restriction, Verdict
from bot.commands.parsing import read_head
from bot.messages import BY_ITSELF, Address, InboundMessage, Role, Trigger
from bot.settings.access import OPEN, AccessMode, AccessSettings
from security.access.lists import Lists
from security.access.memory import Lately
from security.access.modes import Modes
from security.access.roles import VOUCHED, Roles
from security.access.rules import KINDS, MODE, Clock, IsAdmin, Rules, subject_of

REFUSAL: Final = "Sorry, I may not answer here. Please ask whoever runs this bot."
AUDIT_EVERY: Final = 60.0  # seconds between two audit lines about one person who is refused
ALLOWED_EVERY: Final = 86_400.0  # and about one who is answered
START: Final = "start"  # what Telegram sends when somebody opens the chat

Standing: TypeAlias = Literal["welcome", "blocked", "closed", "unknown"]


class Greeter(Protocol):
    """Gives codes to who is unknown."""

    async def greet(self, message: InboundMessage) -> str:
        """Note that somebody unknown has spoken; gives what they are told, or nothing."""


class Access:
    """Fulfils `bot.agent.seams.Check`, `bot.agent.control.People` and `bot.commands.access.AccessRules`.

    Args:
        is_admin: Whether somebody is never refused; admins who were could not take it back.
        roles: What people are, and what they may do; by default nobody was given one.
        greeter: Without one, who is unknown is refused.
        is_command: Whether a text is a command of ours.
    """

    def __init__(
        self,
        rules: Rules,
        *,
        is_admin: IsAdmin,
        audit: Audit,
        settings: AccessSettings = OPEN,
        roles: Roles | None = None,
        greeter: Greeter | None = None,
        is_command: Callable[[str], bool] | None = None,
        clock: Clock = time.monotonic,
    ) -> None:
        self._rules = rules
        self._is_admin = is_admin
        self._audit = audit
        self._settings = settings
        self._lists = Lists(rules, settings.allow)
        self._modes = Modes(settings, rules)
        self._roles = roles or Roles(rules, lists=self._lists, settings=settings)
        self._greeter = greeter
        self._is_command = is_command or (lambda text: read_head(text) is not None)
        self._refused = Lately(AUDIT_EVERY, clock=clock)
        self._allowed = Lately(ALLOWED_EVERY, clock=clock)

    # --- the check

    async def __call__(self, message: InboundMessage) -> Refusal | None:
        """Refuse the message of somebody who is not answered, or in a chat where nobody is."""
        if message.trigger is Trigger.HEARTBEAT:  # the bot's own; it has no person behind it
            return None
        standing = self.standing(message)
        if standing != "welcome":
            return await self._refuse(message, standing)
        if self._is_command(message.text) and (fault := self._roles.fault(message)) is not None:
            return Refusal(text=fault)
        if message.sender.role is not Role.OWNER:  # who is at the page or the terminal
            await self._note_welcome(message)
        return None

    def standing(self, message: InboundMessage) -> Standing:
        """How somebody stands here; costs microseconds."""
        if self._is_admin(message):
            return "welcome"
        address, person = message.address, message.sender.id
        if self._lists.is_blocked("user", address, person):
            return "blocked"
        mode = self._modes.of(address)
        is_platforms_admin = message.sender.role is Role.ADMIN and message.trigger not in BY_ITSELF
        if is_platforms_admin and (mode == "open" or address.is_direct):
            return "welcome"
        if self._lists.is_blocked_chat(address):
            return "blocked"
        if address.channel in VOUCHED:
            return "welcome"
        return self._under(mode, address, person)

    def _under(self, mode: AccessMode, address: Address, person: str) -> Standing:
        """How somebody stands whom nobody has blocked."""
        match mode:
            case "disabled":
                return "closed"
            case "open":
                return "welcome" if self._passes_lists(address, person) else "closed"
            case "allowlist" | "pairing":
                if self._is_known(address, person):
                    return "welcome"
                return "unknown" if mode == "pairing" else "closed"

    def _passes_lists(self, address: Address, person: str) -> bool:
        """Where the door is open: whether somebody may pass who is, or is not, on a list that closed it."""
        lists = self._lists
        if lists.is_closed("user") and not lists.is_allowed("user", address, person):
            return False
        return not lists.is_closed("chat") or lists.is_allowed_chat(address)

    def _is_known(self, address: Address, person: str) -> bool:
        return (
            self._roles.given(address, person) is not None
            or self._lists.is_allowed("user", address, person)
            or self._lists.is_allowed_chat(address)
        )

    def may_speak(self, message: InboundMessage) -> bool:
        """Whether somebody is answered: for what is not asked turn by turn."""
        return self.standing(message) == "welcome"

    def known_as(self, message: InboundMessage) -> InboundMessage:
        """The message with the role that its sender has here; see `Roles.known_as`.

        An admin of a group where nobody speaks with the bot is no admin to it: anybody can make a group.
        """
        known = self._roles.known_as(message)
        if known.sender.role is Role.ADMIN and not self.may_speak(known):
            return replace(known, sender=replace(known.sender, role=Role.GUEST))
        return known

    # --- what is told and written down

    async def _refuse(self, message: InboundMessage, standing: Standing) -> Refusal:
        await self._record(message, standing)
        if message.trigger in BY_ITSELF or message.may_be_silent or self._settings.silent:
            return Refusal(text="")
        is_command = self._is_command(message.text)
        if standing == "unknown" and self._greeter is not None:
            head = read_head(message.text) if is_command else None
            is_opening = head is not None and head.name == START and message.is_direct
            if not is_command or is_opening:
                return Refusal(text=await self._greeter.greet(message))
        return Refusal(text="" if is_command else REFUSAL)

    async def _record(self, message: InboundMessage, standing: Standing) -> None:
        """Audit a refusal, unless it was done a moment ago."""
        actor = f"{message.address.channel}:{message.sender.id}"
        if self._refused.is_new(actor):
            await self._note(message, actor, "denied", severity="warning", why=standing)

    async def _note_welcome(self, message: InboundMessage) -> None:
        """Audit that somebody is answered in a chat: the first time in a day."""
        actor = f"{message.address.channel}:{message.sender.id}"
        if self._allowed.is_new((actor, message.address.account, message.address.chat)):
            await self._note(message, actor, "allowed", severity="info", why=self._roles.of(message))

    async def _note(
        self,
        message: InboundMessage,
        actor: str,
        status: str,
        *,
        severity: Literal["info", "warning"],
        why: str,
    ) -> None:
        await self._audit.record(
            AuditEvent(
                severity=severity,
                actor=actor,
                action="access",
                target=message.session,
                status=status,
                session=message.session,
                run=message.run,
                context=(("why", str(why)),),
            )
        )

    # --- chats as a whole

    def is_open(self, address: Address) -> bool:
        """Whether anybody is answered in a chat; of direct chats it is known only who is blocked there."""
        if self._lists.is_blocked_chat(address):
            return False
        mode = self._modes.of(address)
        if mode == "open":
            return not self._lists.is_closed("chat") or self._lists.is_allowed_chat(address)
        if mode == "disabled":
            return False
        return address.is_direct or self._lists.is_allowed_chat(address)

    # --- what admins say

    async def rule(
        self, kind: Kind, subject: str, verdict: Verdict | None, *, by: str, closes: bool = True
    ) -> bool:
        """See `AccessRules.rule`."""
        closes = closes and verdict == "allow" and self._settings.mode == "open"
        await self._lists.rule(kind, subject, verdict, closes=closes, by=by)
        return closes

    async def reopen(self, *, by: str) -> None:
        """See `AccessRules.reopen`."""
        await self._lists.reopen(by=by)

    def restrictions(self) -> tuple[Restriction, ...]:
        """See `AccessRules.restrictions`."""
        return tuple(self._lists.restriction(kind) for kind in KINDS)

    def mode_of(self, address: Address) -> AccessMode:
        """See `AccessRules.mode_of`."""
        return self._modes.of(address)

    async def set_mode(self, address: Address, mode: AccessMode | None, *, by: str) -> None:
        """See `AccessRules.set_mode`."""
        await self._rules.change([(MODE, subject_of(address, address.chat), mode)], by=by)

    def modes(self) -> Mapping[str, str]:
        """See `AccessRules.modes`."""
        settings = self._settings
        told = {"direct chats": settings.mode, "groups": settings.groups or settings.mode}
        for name, place in settings.channels.items():
            told |= {f"{name}": place.mode} if place.mode else {}
            told |= {f"groups on {name}": place.groups} if place.groups else {}
        return {**told, **settings.chats, **self._rules.of(MODE)}
