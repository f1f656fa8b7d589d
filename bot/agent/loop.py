"""The agent loop: accepts messages, runs their turns in lanes, and ends each of them exactly once."""

import asyncio
import logging
import time
from collections.abc import Collection, Coroutine
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from msgspec.structs import replace

from bot.agent.audit import Audit, AuditEvent
from bot.agent.control import ADMINS_ONLY, CANCELLED, NOTHING_RUNS, Kill, is_admin, parse_kill
from bot.agent.lanes import Lane, Lanes
from bot.agent.run import Outcome, Run, failure
from bot.agent.seams import Learner
from bot.agent.store import Journal, Pending, TurnRecord
from bot.agent.turn import Tally, Turn
from bot.bus import Bus, Receipt
from bot.errors import Fenced, StoreError
from bot.messages import (
    AgentEnd,
    AgentStart,
    End,
    Failure,
    InboundMessage,
    InboxUpdate,
    Killed,
    utc_now,
)
from bot.telemetry import turn_context

log = logging.getLogger(__name__)

CONTROL_SECONDS = 2.0  # the most that /kill waits for the journal before it acts all the same
COMMIT_TRIES = 3
COMMIT_SECONDS = 30.0
PARKED = (
    "This message brought me down {crashes} times, so I put it aside and will not try it again. "
    "The operator can look at it with `python -m bot journal`."
)
DROPPED = "[Cancelled before it began]"
FULL = "There are already {waiting} messages waiting here. Please let me answer those first."


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopSettings:
    """What the loop takes from the settings."""

    name: str
    admins: Collection[str]
    max_concurrent_turns: int
    max_waiting: int
    max_crashes: int
    shutdown_grace: float
    live_channels: Collection[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningTurn:
    """A turn that is being done, for people who look after the bot."""

    session: str
    run: str
    stage: str
    seconds: float
    waiting: int


class AgentLoop:
    """Serves a bus from `__aenter__` to `__aexit__`; leaving it drains."""

    def __init__(
        self,
        settings: LoopSettings,
        *,
        bus: Bus,
        journal: Journal,
        turn: Turn,
        audit: Audit,
        learner: Learner | None = None,
    ) -> None:
        self._settings = settings
        self._bus = bus
        self._journal = journal
        self._turn = turn
        self._audit = audit
        self._learner = learner
        self._tasks = asyncio.TaskGroup()
        self._lanes = Lanes(
            self._work,
            max_concurrent_turns=settings.max_concurrent_turns,
            spawn=self._tasks.create_task,
        )
        self._is_draining = False
        self._turns: set[asyncio.Task[None]] = set()  # not in the group: it would wait for one that hangs

    async def __aenter__(self) -> Self:
        """Take up what the last process left, then accept messages."""
        await self._tasks.__aenter__()
        await self._recover()
        self._bus.serve(self.accept)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.drain()
        await self._tasks.__aexit__(None, None, None)

    async def drain(self) -> None:
        """Begin no more turns, give the running ones their grace, hand the rest to the next start.

        Messages are still accepted, for the next start to answer.
        """
        if self._is_draining:
            return
        self._is_draining = True
        self._lanes.close()
        running = [lane for lane in self._lanes if lane.running is not None]
        if running:
            log.info("draining", extra={"running": len(running), "grace": self._settings.shutdown_grace})
            await self._wait_for_lanes(self._settings.shutdown_grace)
        for lane in self._lanes:
            if lane.running is not None:
                lane.running.give_back()
        await self._wait_for_lanes(COMMIT_SECONDS)

    def _spawn_turn(self, turn: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(turn, name="turn")
        self._turns.add(task)
        task.add_done_callback(self._turns.discard)
        return task

    async def _wait_for_lanes(self, seconds: float) -> None:
        end = asyncio.get_running_loop().time() + seconds
        for lane in self._lanes:
            left = end - asyncio.get_running_loop().time()
            if left > 0 and lane.done is not None:
                await asyncio.wait({lane.done}, timeout=left)

    @property
    def is_draining(self) -> bool:
        """Whether the process is on its way down."""
        return self._is_draining

    @property
    def busy_sessions(self) -> int:
        """Sessions that have something to do."""
        return len(self._lanes)

    def running(self) -> list[RunningTurn]:
        """The turns that are being done, longest first."""
        turns = [
            RunningTurn(
                session=lane.session,
                run=lane.running.id,
                stage=lane.running.stage,
                seconds=time.time() - lane.running.started_at,
                waiting=len(lane.waiting),
            )
            for lane in self._lanes
            if lane.running is not None
        ]
        return sorted(turns, key=lambda turn: -turn.seconds)

    # --- intake

    async def accept(self, message: InboundMessage) -> Receipt:
        """Journal a message and put it into its lane; `/kill` is obeyed here, before any lane.

        Raises:
            StoreError: It could not be journaled, so it was not accepted.
        """
        if (kill := parse_kill(message.text)) is not None:
            return await self._control(message, kill)
        lane = self._lanes.get(message.session)
        if lane is not None and len(lane.waiting) >= self._settings.max_waiting:
            self._say(message, FULL.format(waiting=len(lane.waiting)))
            return Receipt.REFUSED
        accepted = await self._journal.accept(message)
        if not accepted.is_new:
            return Receipt.DUPLICATE
        if accepted.session != message.session:
            message = replace(message, session=accepted.session)
        self._show(message)
        if not self._is_draining:
            self._lanes.put(Pending(message=message, attempts=0))
        return Receipt.ACCEPTED

    def retry(self, pending: Pending) -> None:
        """Run a message that was parked."""
        self._lanes.put(pending)

    async def _recover(self) -> None:
        recovery = await self._journal.recover(self._settings.max_crashes)
        for pending in recovery.parked:
            await self._park(pending)
        for pending in recovery.pending:
            self._lanes.put(pending)
        if recovery.pending or recovery.parked:
            log.info("recovered", extra={"again": len(recovery.pending), "parked": len(recovery.parked)})

    async def _park(self, pending: Pending) -> None:
        text = PARKED.format(crashes=self._settings.max_crashes)
        end = _end_of(pending.message, pending.attempts, Outcome(reason="error", text=text), seq=1)
        await self._journal.park(end, speaker=self._settings.name)
        log.error("message parked", extra={"run": end.run, "session": end.session})
        self._publish(end)

    # --- control

    async def _control(self, message: InboundMessage, kill: Kill) -> Receipt:
        """Obey `/kill`: cancel, audit, confirm; a redelivered one is not obeyed twice."""
        try:
            async with asyncio.timeout(CONTROL_SECONDS):
                accepted = await self._journal.accept(message, is_control=True)
            if not accepted.is_new:
                return Receipt.DUPLICATE
            message = replace(message, session=accepted.session)
        except (StoreError, TimeoutError) as error:  # the brake has to work when the store does not
            log.error("kill obeyed without the journal", extra={"cause": str(error)})
        self._show(message)
        target = kill.session or message.session
        if kill.session is not None and not is_admin(message, self._settings.admins):
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

    async def _kill(self, message: InboundMessage, lane: Lane | None, kill: Kill) -> tuple[str, str]:
        """Cancel what a lane runs, or is about to; and what waits in it if that was asked for."""
        if lane is None or (lane.running is None and not lane.waiting):
            return NOTHING_RUNS, "no_active_run"
        run, saved = lane.running, lane.done
        is_killed = run.kill() if run is not None else False
        dropped = []
        if kill.waiting:
            dropped = list(lane.waiting)
            lane.waiting.clear()
        elif run is None:
            dropped = [lane.waiting.popleft()]  # it has no slot yet, but it is what the person means
        for pending in dropped:
            await self._drop(pending.message)
        if run is not None and saved is not None:
            self._bus.emit(Killed(session=run.session, run=run.id, by=message.sender.id))
            await asyncio.wait({saved}, timeout=COMMIT_SECONDS)
        if not is_killed and not dropped:
            return NOTHING_RUNS, "no_active_run"
        return f"{CANCELLED}{_count_dropped(len(dropped)) if kill.waiting else ''}", "cancelled"

    async def _drop(self, message: InboundMessage) -> None:
        end = _end_of(message, 1, Outcome(reason="killed", text=DROPPED), seq=1)
        await self._journal.cancel(message, end, speaker=self._settings.name)
        self._publish(end)

    async def _confirm(self, message: InboundMessage, reply: str) -> None:
        """Answer a control command at once; the history gets it for people to read."""
        end = _end_of(message, 1, Outcome(reason="done", text=reply), seq=1)
        self._publish(end)
        try:
            await self._journal.note(
                message, end, speaker=self._settings.name, has_outbox=self._has_outbox(end)
            )
        except StoreError as error:
            log.error("control reply not kept", extra={"cause": str(error)})

    # --- turns

    async def _work(self, pending: Pending, lane: Lane) -> None:
        """Do one turn, and end it exactly once; this is where the errors of a turn stop."""
        run = Run(pending.message, self._bus, attempt=pending.attempts + 1)
        lane.start(run)
        with turn_context(run.session, run.id):
            self._bus.emit(AgentStart(session=run.session, run=run.id, attempt=run.attempt))
            tally = Tally()
            outcome = await run.supervise(self._turn.answer(run, tally), self._spawn_turn)
            try:
                await self._close(run, outcome, tally)
            except Fenced as error:
                log.warning("turn lost its session", extra={"cause": str(error)})
            except Exception as error:  # noqa: BLE001 - logged by `failure`; the journal still has the message
                failure(error, shown="", run=run.id)
                self._tell_unsaved(run)
            finally:
                lane.finish()
            await self._reap(run)

    async def _close(self, run: Run, outcome: Outcome, tally: Tally) -> None:
        """Commit the outcome and publish it; in this order, so that what was seen is never taken back."""
        if outcome.is_requeued:
            await self._journal.requeue(run.id, run.attempt)
            return
        record = TurnRecord(
            started_at=run.started_at,
            ended_at=time.time(),
            first_chunk_at=run.first_chunk_at,
            model=tally.model,
            prompt_tokens=tally.prompt,
            completion_tokens=tally.completion,
            cached_tokens=tally.cached,
        )
        end = _end_of(run.message, run.attempt, outcome, seq=run.seq + 1)
        await self._commit(end, record)
        self._publish(end)
        seconds = record.ended_at - record.started_at
        self._bus.emit(AgentEnd(session=run.session, run=run.id, reason=outcome.reason, seconds=seconds))
        if outcome.reason == "done" and self._learner is not None:
            self._learner.learn(run.message, outcome.text)
        log.info(
            "turn ended",
            extra={
                "reason": outcome.reason,
                "seconds": round(seconds, 4),
                "attempt": run.attempt,
                "prompt_tokens": tally.prompt,
                "completion_tokens": tally.completion,
            },
        )

    async def _commit(self, end: End, record: TurnRecord) -> None:
        """Save the end of a turn; a store that stumbles is asked again."""
        for left in reversed(range(COMMIT_TRIES)):
            try:
                async with asyncio.timeout(COMMIT_SECONDS):
                    await self._journal.finish(
                        end, record, speaker=self._settings.name, has_outbox=self._has_outbox(end)
                    )
                return
            except Fenced:
                raise
            except (StoreError, TimeoutError):
                if left == 0:
                    raise
                log.warning("commit failed, trying again", exc_info=True)

    def _has_outbox(self, end: End) -> bool:
        """Whether a platform has to confirm the answer; live channels read it from the history."""
        return end.address.channel not in self._settings.live_channels

    def _tell_unsaved(self, run: Run) -> None:
        """Close the stream of a turn that could not be saved; it runs again at the next start."""
        text = "I could not save my answer. I will try again after the next start."
        self._bus.send(_end_of(run.message, run.attempt, Outcome(reason="error", text=text), seq=run.seq + 1))

    async def _reap(self, run: Run) -> None:
        """See the turn's task off; one that will not die is left behind, without a voice."""
        if not await run.reap():
            log.error("turn does not stop, its session goes on without it", extra={"stage": run.stage})

    # --- publishing

    def _show(self, message: InboundMessage) -> None:
        self._bus.emit(
            InboxUpdate(
                session=message.session,
                run=message.run,
                id=message.id,
                direction="in",
                address=message.address,
                speaker=message.sender.name or message.sender.id,
                text=message.text,
                at=message.received_at,
                platform_id=message.platform_id,
            )
        )

    def _publish(self, end: End) -> None:
        """Send the end of a run to its channel, and to the inbox."""
        self._bus.send(end)
        if end.reason == "error" and end.reference is not None:
            self._bus.emit(Failure(session=end.session, run=end.run, text=end.text, reference=end.reference))
        if end.text:
            self._bus.emit(
                InboxUpdate(
                    session=end.session,
                    run=end.run,
                    id=f"{end.run}:answer",
                    direction="out",
                    address=end.address,
                    speaker=self._settings.name,
                    text=end.text,
                    at=utc_now(),
                    reason=end.reason,
                )
            )

    def _say(self, message: InboundMessage, text: str) -> None:
        """Answer a message that is not accepted; nothing of it is kept."""
        self._bus.send(_end_of(message, 1, Outcome(reason="error", text=text), seq=1))


def _count_dropped(count: int) -> str:
    return f" {count} waiting message{'' if count == 1 else 's'} dropped."


def _end_of(message: InboundMessage, attempt: int, outcome: Outcome, *, seq: int) -> End:
    return End(
        run=message.run,
        session=message.session,
        address=message.address,
        attempt=attempt,
        seq=seq,
        reason=outcome.reason,
        text=outcome.text,
        reference=outcome.reference,
        reply_to=message.platform_id,
    )
