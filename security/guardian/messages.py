"""What follows from the check of what people write: it is let through, marked as untrusted, or blocked."""

import logging
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from bot.agent.audit import Audit, AuditEvent
from bot.agent.seams import Refusal
from bot.agent.store import Overheard
from bot.agent.taint import taint
from bot.commands.release import Blocked
from bot.errors import StoreError
from bot.messages import InboundMessage, RunId, Trigger, utc_now
from security.guardian.guardian import Guardian
from security.verdict import Level, Verdict

log = logging.getLogger(__name__)

BLOCKED: Final = "Message blocked by safety check. Reference: {reference}"
RESTRICTED: Final = "the message looks as if it gave orders that are not its writer's to give ({reasons})"
OVERHEARD: Final = "what was said in the group looks as if it gave orders to me ({reasons})"
REFERENCE: Final = 8  # signs at the end of the run's id: 32 bits of chance


class Shelf(Protocol):
    """Keeps what was blocked; `memory/blocked.py` fulfils it."""

    async def put(self, blocked: Blocked) -> None:
        """Hold a message back; the same again does nothing."""

    async def is_released(self, run: RunId) -> bool:
        """Whether an admin has let this run."""


class MessageGuard:
    """Fulfils `bot.agent.seams.Check`.

    HIGH or worse is blocked, MEDIUM is marked and leaves the turn without tools that act, LOW is logged.
    Admins are never blocked, as they may do everything anyway: what would be is marked, the rest is logged.

    Args:
        is_admin: Whether somebody may steer the bot.
        is_silent: Tell nobody that a message of theirs was blocked.
        on_blocked: Told of each blocked message.
    """

    def __init__(
        self,
        guardian: Guardian,
        shelf: Shelf,
        *,
        audit: Audit,
        is_admin: Callable[[InboundMessage], bool],
        is_silent: bool = False,
        on_blocked: Callable[[Blocked], None] | None = None,
    ) -> None:
        self._guardian = guardian
        self._shelf = shelf
        self._audit = audit
        self._is_admin = is_admin
        self._is_silent = is_silent
        self._on_blocked = on_blocked

    async def __call__(self, message: InboundMessage) -> Refusal | None:
        """See the protocol."""
        if message.trigger is Trigger.HEARTBEAT:  # our own words
            return None
        verdict = await self._guardian.check(message.text, kind="message")
        if verdict.level is Level.NONE:
            return None
        if verdict.level is Level.LOW:
            log.info("message graded", extra={"level": "LOW", "reasons": ", ".join(verdict.reasons)})
            return None
        is_admin = self._is_admin(message)
        if verdict.level is Level.MEDIUM and is_admin:
            await self._note(message, verdict, "passed")
            return None
        if verdict.level >= Level.HIGH and not is_admin and not await self._shelf.is_released(message.run):
            return await self._block(message, verdict)
        await self._mark(message, verdict, RESTRICTED)
        return None

    async def screen(self, message: InboundMessage, lines: Sequence[Overheard]) -> tuple[Overheard, ...]:
        """What a turn may be shown of what was said in its group; what is HIGH is left out.

        Nobody in it speaks to the bot, so that quotations count in full.
        """
        kept: list[Overheard] = []
        for line in lines:
            verdict = await self._guardian.check(line.text, kind="message", is_quoting=False)
            if verdict.level >= Level.HIGH:
                await self._note(message, verdict, "overheard text left out")
                continue
            kept.append(line)
            if verdict.level is Level.MEDIUM:
                await self._mark(message, verdict, OVERHEARD)
        return tuple(kept)

    async def _mark(self, message: InboundMessage, verdict: Verdict, why: str) -> None:
        turn = taint()
        turn.add("stranger", "the message itself" if why is RESTRICTED else "the group")
        turn.restrict(why.format(reasons=", ".join(verdict.reasons)))
        await self._note(message, verdict, "marked")

    async def _block(self, message: InboundMessage, verdict: Verdict) -> Refusal:
        blocked = Blocked(
            reference=message.run[-REFERENCE:],
            message=message,
            level=verdict.level.name,
            reasons=verdict.reasons,
            at=utc_now(),
        )
        try:
            await self._shelf.put(blocked)
        except StoreError as error:  # it is blocked all the same, but can't be released
            log.error("blocked message not kept", extra={"cause": str(error), "reference": blocked.reference})
        await self._note(message, verdict, "blocked", reference=blocked.reference)
        if self._on_blocked is not None:
            self._on_blocked(blocked)
        return Refusal(text="" if self._is_silent else BLOCKED.format(reference=blocked.reference))

    async def _note(
        self, message: InboundMessage, verdict: Verdict, status: str, *, reference: str = ""
    ) -> None:
        log.info(
            "message graded",
            extra={"level": verdict.level.name, "reasons": ", ".join(verdict.reasons), "status": status},
        )
        await self._audit.record(
            AuditEvent(
                severity="critical" if status == "blocked" else "warning",
                actor=f"{message.address.channel}:{message.sender.id}",
                action="guardian message",
                target=reference or message.session,
                status=status,
                session=message.session,
                run=message.run,
                context=(
                    ("level", verdict.level.name),
                    ("score", round(verdict.score, 3)),
                    ("reasons", ", ".join(verdict.reasons)),
                ),
            )
        )
