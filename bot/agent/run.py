"""One attempt at a turn, seen from outside: its stream, its stage and deadline, its outcome."""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine

from bot.agent.store import Pending
from bot.backends.base import NoSteering, Steering
from bot.bus import Bus
from bot.messages import (
    BY_ITSELF,
    Address,
    Attachment,
    Button,
    Chunk,
    EndReason,
    Frozen,
    LongRunning,
    RunId,
    SessionKey,
    TakenUp,
    new_id,
)

log = logging.getLogger(__name__)

LONG = 60.0  # seconds in one stage after which people are told
REAP = 1.0  # seconds a cancelled turn gets to end, before its session goes on without it
INTERRUPTED = "[Response interrupted]"


class Outcome(Frozen, frozen=True, kw_only=True):
    """How a turn ended.

    Attributes:
        is_requeued: The process is shutting down; the turn is done again at the next start.
        in_context: The model gets to see it in later turns; the answers of commands are for people only.
    """

    reason: EndReason
    text: str
    reference: str | None = None
    attachments: tuple[Attachment, ...] = ()
    buttons: tuple[Button, ...] = ()
    is_requeued: bool = False
    in_context: bool = True


class Run:
    """Carries one attempt: what the turn publishes goes through here, and whoever ends it does so here.

    Whatever comes first decides the outcome: the turn's own end, `/kill`, a deadline, the shutdown. From that
    moment on nothing of the turn is published, even if its task is slow to die.

    Args:
        destination: Where the answer goes, if not where the message came from.
    """

    def __init__(self, pending: Pending, bus: Bus, destination: Address | None = None) -> None:
        self.destination = destination
        self.message = pending.message
        self.attempt = pending.attempts + 1
        self.begun = pending.begun
        self.started_at = time.time()
        self.first_chunk_at: float | None = None
        self.stage = "waiting"
        self.seq = 0
        self._bus = bus
        self._loop = asyncio.get_running_loop()
        self._parts: list[str] = []
        self._stage_began = self._loop.time()
        self._deadline = float("inf")
        self._timer: asyncio.TimerHandle | None = None
        self.task: asyncio.Task[None] | None = None
        self.absorbed: list[Pending] = []  # what was said meanwhile, and is answered by this turn
        self.steering: Steering = NoSteering()
        self.on_cut: Callable[[], None] = (
            _nothing  # publishes what was held back of an answer that ends early
        )
        self._over: asyncio.Future[Outcome] = self._loop.create_future()

    @property
    def id(self) -> RunId:
        """The run's id, the same at every attempt."""
        return self.message.run

    @property
    def session(self) -> SessionKey:
        """The session it belongs to."""
        return self.message.session

    @property
    def text(self) -> str:
        """What was shown of the answer so far."""
        return "".join(self._parts)

    def chunk(self, text: str, *, replaces: bool = False) -> None:
        """Publish more of the answer, unless the run is over."""
        if self._over.done():
            return
        if self.seq == 0:
            self.first_chunk_at = time.time()
            replaces = replaces or self.attempt > 1  # an earlier attempt may still stand on the screen
        if replaces:
            self._parts.clear()
        self._parts.append(text)
        self.seq += 1
        message = self.message
        replies = message.trigger not in BY_ITSELF and self.destination is None
        self._bus.send(
            Chunk(
                run=message.run,
                session=message.session,
                address=self.destination or message.address,
                attempt=self.attempt,
                seq=self.seq,
                text=text,
                replaces=replaces,
                reply_to=message.platform_id if replies else None,
            )
        )

    def absorb(self, pending: Pending) -> None:
        """Answer a message that waited along with this one."""
        self.absorbed.append(pending)
        self._bus.emit(TakenUp(session=self.session, run=pending.message.run, by=self.id))

    def enter(self, stage: str, seconds: float) -> None:
        """Begin a stage that must be over within `seconds`, or the turn ends."""
        now = self._loop.time()
        self.stage = stage
        self._stage_began = now
        self._deadline = now + seconds
        if self._timer is None:
            self._timer = self._loop.call_at(min(self._deadline, now + LONG), self._look)
        elif self._timer.when() > self._deadline:
            self._timer.cancel()
            self._timer = self._loop.call_at(self._deadline, self._look)

    def _look(self) -> None:
        """Tell of a long stage, or end the turn; the timer of an earlier stage only sets the next one."""
        now = self._loop.time()
        if now >= self._deadline:
            self.expire()
            return
        if now - self._stage_began >= LONG:
            seconds = now - self._stage_began
            self._bus.emit(LongRunning(session=self.session, run=self.id, stage=self.stage, seconds=seconds))
        self._timer = self._loop.call_at(min(self._deadline, now + LONG), self._look)

    def expire(self) -> None:
        """End the turn because its stage took too long; it is not waited for."""
        reference = new_id()[-8:]
        log.error("turn timed out", extra={"stage": self.stage, "reference": reference, "run": self.id})
        told = f"This took too long ({self.stage}) and was stopped. Reference: {reference}"
        shown = self._cut()
        text = f"{shown}\n\n{told}" if shown else told
        self._end(Outcome(reason="error", text=text, reference=reference))

    def kill(self) -> bool:
        """End the turn because a person wants it to; what was shown is kept and marked.

        Returns:
            False if the turn had ended by itself before.
        """
        shown = self._cut()
        text = f"{shown}\n\n{INTERRUPTED}" if shown else INTERRUPTED
        return self._end(Outcome(reason="killed", text=text))

    def give_back(self) -> None:
        """End the attempt because the process ends; the next one does the turn again."""
        self._end(Outcome(reason="killed", text=self.text, is_requeued=True))

    def _cut(self) -> str:
        """End the stream before its time; gives what was shown then."""
        if not self._over.done():
            self.on_cut()
        return self.text

    def _end(self, outcome: Outcome) -> bool:
        is_first = not self._over.done()
        if is_first:
            self._over.set_result(outcome)
        if self.task is not None:
            self.task.cancel()
        return is_first

    async def supervise(
        self,
        turn: Coroutine[None, None, Outcome],
        spawn: Callable[[Coroutine[None, None, None]], asyncio.Task[None]],
    ) -> Outcome:
        """Run the turn in a task of its own, until the outcome is known, whoever decides it."""
        self.task = spawn(self._contain(turn))
        self.task.add_done_callback(lambda _: turn.close())  # killed before its first step, it never ran
        try:
            return await self._over
        finally:
            if self._timer is not None:
                self._timer.cancel()
            self.on_cut, self.steering = _nothing, NoSteering()  # both hold us: no cycles for the collector

    async def _contain(self, turn: Coroutine[None, None, Outcome]) -> None:
        """Where the errors of a turn stop."""
        try:
            outcome = await turn
        except asyncio.CancelledError:
            self.give_back()  # decides nothing where a kill or a deadline has cancelled us
            raise
        except Exception as error:  # noqa: BLE001 - logged and told by `failure`
            outcome = failure(error, shown=self._cut(), run=self.id)
        if not self._over.done():
            self._over.set_result(outcome)

    async def reap(self) -> bool:
        """Wait for the turn's task to die, at most `REAP` seconds; tells whether it did."""
        if self.task is None or self.task.done():
            return True
        await asyncio.wait({self.task}, timeout=REAP)
        return self.task.done()


def _nothing() -> None:
    """What is done where nothing is held back."""


def failure(error: BaseException, *, shown: str, run: RunId) -> Outcome:
    """The outcome of a turn that broke: logged with its traceback, told with a reference to it."""
    reference = new_id()[-8:]
    log.error("turn failed", exc_info=error, extra={"reference": reference, "run": run})
    told = f"Something went wrong on my side. Reference: {reference}"
    return Outcome(reason="error", text=f"{shown}\n\n{told}" if shown else told, reference=reference)
