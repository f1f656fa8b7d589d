"""The brake: `/kill` in all its forms, obeyed ahead of every lane."""

import asyncio
import logging
from collections.abc import Collection

from msgspec.structs import replace

from bot.agent.audit import Audit, AuditEvent
from bot.agent.control import ADMINS_ONLY, CANCELLED, NOTHING_RUNS, Kill, is_admin
from bot.agent.endings import Endings
from bot.agent.lanes import Lane, Lanes
from bot.agent.publishing import Publisher, end_of
from bot.agent.run import Outcome
from bot.agent.store import Journal, Pending
from bot.bus import Bus, Receipt
from bot.errors import StoreError
from bot.messages import InboundMessage, Killed, RunId, SessionKey

log = logging.getLogger(__name__)

JOURNAL_SECONDS = 2.0  # the most that /kill waits for the journal before it acts all the same
SAVE_SECONDS = 30.0  # the most that the confirmation waits for the killed turn to be saved
DROPPED = "[Cancelled before it began]"


class Brake:
    """Stops turns for people, writes it down and confirms it.

    Args:
        admins: Who may stop other sessions, as `channel:id`.
    """

    def __init__(
        self,
        lanes: Lanes,
        *,
        bus: Bus,
        journal: Journal,
        audit: Audit,
        publisher: Publisher,
        endings: Endings,
        admins: Collection[str],
    ) -> None:
        self._lanes = lanes
        self._bus = bus
        self._journal = journal
        self._audit = audit
        self._publisher = publisher
        self._endings = endings
        self._admins = admins

    async def pull(self, message: InboundMessage, kill: Kill) -> Receipt:
        """Obey `/kill`: cancel, audit, confirm; a redelivered one is not obeyed twice."""
        try:
            async with asyncio.timeout(JOURNAL_SECONDS):
                accepted = await self._journal.accept(message, is_control=True)
            if not accepted.is_new:
                return Receipt.DUPLICATE
            message = replace(message, session=accepted.session)
        except (StoreError, TimeoutError) as error:  # the brake has to work when the store does not
            log.error("kill obeyed without the journal", extra={"cause": str(error)})
        self._publisher.show(message)
        target = kill.session or message.session
        if kill.session is not None and not is_admin(message, self._admins):
            reply, status = ADMINS_ONLY, "denied"
        else:
            reply, status = await self._kill(message, self._lanes.get(target), kill)
        await self._confirm(message, reply)
        await self._audit.record(
            AuditEvent(
                severity="warning",
                actor=f"{message.address.channel}:{message.sender.id}",
                action="kill_session",
                target=target,
                status=status,
                session=message.session,
                run=message.run,
            )
        )
        return Receipt.ACCEPTED

    async def cancel(self, run: RunId, *, actor: str) -> bool:
        """Stop one run for an operator; False where it is neither being done nor waiting.

        Args:
            actor: Who, as the audit log names them.
        """
        session = await self._stop(run, actor)
        if session is None:
            return False
        await self._audit.record(
            AuditEvent(
                severity="warning",
                actor=actor,
                action="kill_session",
                target=session,
                status="cancelled",
                session=session,
                run=run,
            )
        )
        return True

    async def _stop(self, run: RunId, actor: str) -> SessionKey | None:
        for lane in self._lanes:
            running, saved = lane.running, lane.done
            if running is not None and saved is not None and running.id == run and running.kill():
                self._bus.emit(Killed(session=running.session, run=run, by=actor))
                await asyncio.wait({saved}, timeout=SAVE_SECONDS)
                return running.session
            if (pending := lane.take_out(run)) is not None:
                await self._endings.drop(pending, DROPPED)
                return lane.session
        return None

    async def _kill(self, message: InboundMessage, lane: Lane | None, kill: Kill) -> tuple[str, str]:
        """Cancel what a lane runs, or is about to; and what waits in it if that was asked for."""
        if lane is None:
            return NOTHING_RUNS, "no_active_run"
        run, saved = lane.running, lane.done
        is_killed = run.kill() if run is not None else False
        dropped = _take_waiting(lane, everything=kill.waiting)
        for pending in dropped:
            await self._endings.drop(pending, DROPPED)
        if run is not None and saved is not None:
            self._bus.emit(Killed(session=run.session, run=run.id, by=message.sender.id))
            await asyncio.wait({saved}, timeout=SAVE_SECONDS)
        if not is_killed and not dropped:
            return NOTHING_RUNS, "no_active_run"
        return f"{CANCELLED}{_count_dropped(len(dropped)) if kill.waiting else ''}", "cancelled"

    async def _confirm(self, message: InboundMessage, reply: str) -> None:
        """Answer a control command; saved first, for the platform to confirm, but said in any case."""
        end = end_of(message, 1, Outcome(reason="done", text=reply), seq=1)
        try:
            async with asyncio.timeout(JOURNAL_SECONDS):
                await self._journal.note(
                    message, end, speaker=self._publisher.name, has_outbox=self._endings.has_outbox(end)
                )
        except (StoreError, TimeoutError) as error:
            log.error("control reply not kept", extra={"cause": str(error)})
        self._publisher.end(end)


def _take_waiting(lane: Lane, *, everything: bool) -> list[Pending]:
    """Take out of a lane what is to be dropped."""
    if not everything:  # a message that has no slot yet is what the person means
        return [lane.waiting.popleft()] if lane.running is None and lane.waiting else []
    dropped = list(lane.waiting)
    lane.waiting.clear()
    return dropped


def _count_dropped(count: int) -> str:
    return f" {count} waiting message{'' if count == 1 else 's'} dropped."
