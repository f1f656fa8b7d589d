"""The agent loop: accepts messages, runs their turns in lanes, and ends each of them exactly once."""

import asyncio
import logging
import time
from collections.abc import Coroutine, Sequence
from types import TracebackType
from typing import Self

import msgspec
from msgspec.structs import replace

from bot.agent.amending import Amending
from bot.agent.announcing import Announcer
from bot.agent.audit import Audit
from bot.agent.brake import Brake
from bot.agent.control import parse_kill
from bot.agent.endings import Endings
from bot.agent.lanes import COMMANDS, Lane, Lanes
from bot.agent.loop_settings import LoopSettings
from bot.agent.merging import merge
from bot.agent.publishing import Publisher
from bot.agent.questions import NotAnswered, QuestionDesk
from bot.agent.queueing import RulesOf, default_rules
from bot.agent.run import Run, failure
from bot.agent.store import Accepted, Chats, Journal, Pending
from bot.agent.turn import Tally, Turn
from bot.agent.waiting import WaitingRules
from bot.bus import Bus, Receipt
from bot.errors import Fenced, StoreError
from bot.messages import (
    BY_ITSELF,
    AgentEnd,
    AgentStart,
    InboundMessage,
    Kind,
    RunId,
    SessionKey,
)
from bot.telemetry import turn_context

log = logging.getLogger(__name__)

GROUP_CONTEXT = 50  # messages of a group that are kept where no setting says otherwise
DRAIN_SECONDS = 30.0
DROPPED = "[Dropped: too many messages were waiting here]"
FULL = "There are already {waiting} messages waiting here. Please let me answer those first."


class RunningTurn(msgspec.Struct, frozen=True, kw_only=True):
    """A turn that is being done, for people who look after the bot."""

    session: str
    run: str
    stage: str
    seconds: float
    waiting: int


class AgentLoop:
    """Serves a bus from `__aenter__` to `__aexit__`; leaving it drains.

    Attributes:
        speaker: Says things outside of turns.
        questions: What running turns ask people.
    """

    def __init__(
        self,
        settings: LoopSettings,
        *,
        bus: Bus,
        journal: Journal,
        turn: Turn,
        audit: Audit,
        chats: Chats | None = None,
        rules: RulesOf = default_rules,
        questions: QuestionDesk | None = None,
    ) -> None:
        self._settings = settings
        self._people = settings.people
        self.questions = questions or QuestionDesk()
        self._rules = WaitingRules(settings, rules, is_command=turn.is_command)
        self._chats = chats
        self._bus = bus
        self._journal = journal
        self._turn = turn
        self._publisher = Publisher(bus, name=settings.name, redactor=turn.redactor)
        self._endings = Endings(
            journal=journal,
            bus=bus,
            publisher=self._publisher,
            live_channels=settings.live_channels,
            learner=turn.learner,
            moments=turn.moments,
        )
        self._group = asyncio.TaskGroup()
        self._lanes = Lanes(
            self._work,
            max_concurrent_turns=settings.max_concurrent_turns,
            spawn=self._group.create_task,
            patience=self._rules.patience,
            merge=self._merge,
            rules=self._rules.of,
            drop=self._drop,
        )
        self._amending = Amending(journal, self._lanes, turn.checks, self._endings)
        self.speaker = Announcer(journal, self._publisher, self._endings)
        self.questions.speaker = turn.display.speaker = self.speaker
        self._brake = Brake(
            self._lanes,
            bus=bus,
            journal=journal,
            audit=audit,
            publisher=self._publisher,
            endings=self._endings,
            admins=settings.admins,
        )
        self._arriving: set[SessionKey] = set()  # sessions whose first message is being journaled
        self._intake: set[asyncio.Task[Receipt]] = set()
        self._is_draining = False
        self._turns: set[asyncio.Task[None]] = set()  # not in the group: it would wait for one that hangs

    async def __aenter__(self) -> Self:
        """Take up what the last process left, then accept messages."""
        await self._group.__aenter__()
        await self._recover()
        self._bus.serve(self.accept)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.drain()
        if self._intake:
            await asyncio.wait(set(self._intake), timeout=DRAIN_SECONDS)
        await self._group.__aexit__(None, None, None)

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
            for pending in lane.waiting:
                if pending.begun is not None:
                    await self._journal.requeue(pending.message.run, pending.begun.attempt)
        await self._wait_for_lanes(DRAIN_SECONDS)

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

    def activity(self, session: SessionKey) -> tuple[RunningTurn | None, int]:
        """The turn that a session does, and how many messages wait behind it; commands do not count."""
        lane = self._lanes.get(session)
        if lane is None:
            return None, 0
        found = next((turn for turn in self.running() if turn.session == session), None)
        return found if lane.running is not None else None, len(lane.waiting)

    def runs_by_chat(self) -> dict[SessionKey, list[RunId]]:
        """The turns that are being done, by the chat they are for; commands do not count."""
        found: dict[SessionKey, list[RunId]] = {}
        for lane in self._lanes:
            if lane.running is not None and not self._turn.is_command(lane.running.message):
                found.setdefault(lane.running.message.address.session(), []).append(lane.running.id)
        return found

    async def cancel(self, run: RunId, *, actor: str) -> bool:
        """Stop one run, whether it is being done or waits; False where it does neither."""
        return await self._brake.cancel(run, actor=actor)

    def rename(self, name: str) -> None:
        """Speak under another name from now on."""
        self._publisher.name = name

    async def accept(self, message: InboundMessage) -> Receipt:
        """Journal a message and put it into its lane; `/kill` is obeyed here, before any lane.

        A caller who goes away meanwhile (its connection broke) changes nothing: what is in the journal gets
        into its lane.

        Raises:
            StoreError: It could not be journaled, so it was not accepted.
        """
        task = asyncio.create_task(self._take_in(message), name="accept")
        self._intake.add(task)
        task.add_done_callback(self._taken_in)
        return await asyncio.shield(task)

    def _taken_in(self, task: asyncio.Task[Receipt]) -> None:
        self._intake.discard(task)
        if not task.cancelled() and isinstance(error := task.exception(), StoreError):
            log.warning("message not accepted", extra={"cause": str(error)})

    async def _take_in(self, message: InboundMessage) -> Receipt:
        message = self._people.known_as(message)
        match message.kind:
            case Kind.EDIT | Kind.DELETE:
                return await self._amending.follow(message)
            case Kind.OVERHEARD:
                most = self._settings.group_context.get(message.address.channel, GROUP_CONTEXT)
                is_new = await self._journal.overhear(message, most=most)
                return Receipt.ACCEPTED if is_new else Receipt.DUPLICATE
            case Kind.MESSAGE:
                receipt = await self._take_message(message)
                is_talk = message.trigger not in BY_ITSELF and self._people.may_speak(message)
                if receipt is Receipt.ACCEPTED and is_talk and self._chats is not None:
                    await self._note_chat(self._chats, message)
                return receipt

    async def _note_chat(self, chats: Chats, message: InboundMessage) -> None:
        try:
            await chats.note(message)
        except StoreError as error:  # the message is safe; the chat is noted with its next one
            log.warning("chat not noted", extra={"cause": str(error)})

    async def _take_message(self, message: InboundMessage) -> Receipt:
        if (kill := parse_kill(message.text)) is not None:
            return await self._brake.pull(message, kill)
        if self.questions.claims(message):
            try:
                return await self._take_answer(message)
            finally:
                self.questions.release(message)
        if self._turn.is_command(message):
            return await self._take_command(message)
        if self._settings.renewal is not None:
            await self._settings.renewal.before(message)
        lane = self._lanes.get(message.session)
        if lane is not None and len(lane.waiting) >= self._rules.most(message):
            if lane.holds(message.dedupe_key) or await self._journal.knows(message):
                return Receipt.DUPLICATE
            self._endings.refuse(message, FULL.format(waiting=len(lane.waiting)))
            return Receipt.REFUSED
        accepted = await self._journal_once(message)
        if not accepted.is_new:
            return Receipt.DUPLICATE
        if accepted.session != message.session:
            message = replace(message, session=accepted.session)
        self._publisher.show(message)
        pending = Pending(message=message, attempts=0, begun=accepted.begun)
        if not self._is_draining:
            self._lanes.put(pending)
            self._interrupt(message)
        elif pending.begun is not None:
            await self._journal.requeue(message.run, pending.begun.attempt)
        return Receipt.ACCEPTED

    def _interrupt(self, message: InboundMessage) -> None:
        """End the running turn for a newer message, where the session wants it so and its sender may."""
        lane = self._lanes.get(message.session)
        if lane is None or lane.running is None:
            return
        if self._rules.interrupts(message, lane.running.message):
            lane.running.kill()

    async def _drop(self, pending: Pending) -> None:
        await self._endings.drop(pending, DROPPED)

    async def _journal_once(self, message: InboundMessage) -> Accepted:
        """Accept a message; where its session is idle, the same commit begins its turn."""
        session = message.session
        is_patient = self._rules.patience(message) > 0
        if is_patient or session in self._arriving or not self._lanes.can_start(session):
            return await self._journal.accept(message)
        self._arriving.add(session)
        try:
            return await self._journal.accept(message, history=self._settings.history)
        finally:
            self._arriving.discard(session)

    async def _take_answer(self, message: InboundMessage) -> Receipt:
        """What answers a question of a running turn goes to that turn, ahead of all that waits."""
        accepted = await self._journal.accept(message, is_control=True)
        if not accepted.is_new:
            return Receipt.DUPLICATE
        message = replace(message, session=accepted.session)
        try:
            message = replace(message, text=self.questions.take(message))
        except NotAnswered as error:
            self._publisher.show(message)
            await self._endings.note(message, str(error))
        else:
            self._publisher.show(message)
            await self._journal.hear(message)
            self._endings.close_silently(Pending(message=message, attempts=0))
        return Receipt.ACCEPTED

    async def _take_command(self, message: InboundMessage) -> Receipt:
        """Commands do not wait for the turns of their session, only for each other."""
        accepted = await self._journal.accept(message)
        if not accepted.is_new:
            return Receipt.DUPLICATE
        message = replace(message, session=accepted.session)
        self._publisher.show(message)
        if not self._is_draining:
            self._put(Pending(message=message, attempts=0))
        return Receipt.ACCEPTED

    def _put(self, pending: Pending) -> None:
        is_command = self._turn.is_command(pending.message)
        self._lanes.put(pending, beside=COMMANDS if is_command else "")

    async def _merge(self, burst: Sequence[Pending], *, is_overflow: bool) -> Pending:
        """Make one turn of several messages; it answers the last one."""
        merged = merge(burst, is_overflow=is_overflow)
        await self._journal.merge(merged, burst)
        for pending in burst[:-1]:
            self._endings.close_silently(pending)
        return merged

    def retry(self, pending: Pending) -> None:
        """Run a message that was parked."""
        self._put(pending)

    async def _recover(self) -> None:
        recovery = await self._journal.recover(self._settings.max_crashes)
        for pending in recovery.parked:
            await self._endings.park(pending, self._settings.max_crashes)
        for pending in recovery.pending:
            self._put(pending)
        if recovery.pending or recovery.parked:
            log.info("recovered", extra={"again": len(recovery.pending), "parked": len(recovery.parked)})

    async def _work(self, pending: Pending, lane: Lane) -> None:
        """Do one turn, and end it exactly once; this is where the errors of a turn stop."""
        message = self._people.known_as(pending.message)  # who they are may have changed while it waited
        run = Run(replace(pending, message=message), self._bus, self._turn.destination(message))
        run.steering = self._rules.steering(
            run, lane, fetch=self._turn.fetch, passes=self._turn.checks.passes
        )
        lane.start(run)
        with turn_context(run.session, run.id):
            self._bus.emit(AgentStart(session=run.session, run=run.id, attempt=run.attempt))
            tally = Tally()
            outcome = await run.supervise(self._turn.answer(run, tally), self._spawn_turn)
            try:
                await self._endings.close(run, outcome, tally)
            except Fenced as error:
                log.warning("turn lost its session", extra={"cause": str(error)})
                self._bus.emit(AgentEnd(session=run.session, run=run.id, reason="silent", seconds=0.0))
            except Exception as error:  # noqa: BLE001 - logged by `failure`; the journal still has the message
                failure(error, shown="", run=run.id)
                self._endings.tell_unsaved(run)
            finally:
                lane.finish()
            await self._reap(run)

    async def _reap(self, run: Run) -> None:
        """See the turn's task off; one that will not die is left behind, without a voice."""
        if not await run.reap():
            log.error("turn does not stop, its session goes on without it", extra={"stage": run.stage})
