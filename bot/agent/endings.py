"""How runs end: committed first, then published, so that what was seen is never taken back."""

import asyncio
import logging
import time
from collections.abc import Collection, Sequence

from msgspec.structs import replace

from bot.agent.moments import Moments
from bot.agent.publishing import Publisher, end_of, silent_end
from bot.agent.run import Outcome, Run
from bot.agent.seams import Learner
from bot.agent.store import Journal, Pending, Spent, TurnRecord
from bot.agent.turn import Tally
from bot.bus import Bus
from bot.errors import Fenced, StoreError
from bot.messages import AgentEnd, End, InboundMessage

log = logging.getLogger(__name__)

COMMIT_TRIES = 3
COMMIT_SECONDS = 30.0
UNSAVED = "I could not save my answer. I will try again after the next start."
PARKED = (
    "This message brought me down {crashes} times, so I put it aside and will not try it again. "
    "The operator can look at it with `python -m bot journal`."
)


class Endings:
    """Ends runs; one instance serves all sessions.

    Args:
        live_channels: Those that read the history and need no outbox.
    """

    def __init__(
        self,
        *,
        journal: Journal,
        bus: Bus,
        publisher: Publisher,
        live_channels: Collection[str],
        learner: Learner | None = None,
        moments: Moments,
    ) -> None:
        self._journal = journal
        self._bus = bus
        self._publisher = publisher
        self._live_channels = live_channels
        self._learner = learner
        self._moments = moments

    def has_outbox(self, end: End) -> bool:
        """Whether a platform has to confirm the answer; live channels read it from the history."""
        return end.address.channel not in self._live_channels

    async def close(self, run: Run, outcome: Outcome, tally: Tally) -> None:
        """Commit the outcome of an attempt with what it has used, and publish it.

        Raises:
            Fenced: The run goes on under another attempt.
            StoreError: It could not be saved.
        """
        bill = tally.bill
        if bill is None:
            await self._close(run, outcome, _record(run, (), tally))
            return
        record = _record(run, bill.close(), tally)
        try:
            await self._close(run, outcome, record)
            if outcome.is_requeued:
                await bill.write()
        finally:
            bill.release()

    async def _close(self, run: Run, outcome: Outcome, record: TurnRecord) -> None:
        if outcome.is_requeued:
            await self._journal.requeue(run.id, run.attempt)
            return
        end = await self._publisher.end_of(run.message, run.attempt, outcome, seq=run.seq + 1, shown=run.text)
        if run.destination is not None:
            end = replace(end, address=run.destination, reply_to=None)
        try:
            await self._commit(end, record, in_context=outcome.in_context, absorbed=run.absorbed)
        except Fenced:
            if outcome.reason != "killed":
                raise
            await self._cancel(run.message, end)  # it was killed before it had begun
        self._publisher.end(end, chat=run.message.address)
        for pending in run.absorbed:
            self.close_silently(pending)
        self._report(run, outcome, record)
        await self._moments.ended(run, end, record.ended_at - record.started_at)
        if not self.has_outbox(end) and end.text:
            await self._moments.sent(end)
        if outcome.reason == "done" and outcome.in_context and self._learner is not None:
            self._learner.learn(run.message, end.text)

    async def _commit(
        self, end: End, record: TurnRecord, *, in_context: bool, absorbed: Sequence[Pending]
    ) -> None:
        """Save the end of a turn; a store that stumbles is asked again."""
        for left in reversed(range(COMMIT_TRIES)):
            try:
                async with asyncio.timeout(COMMIT_SECONDS):
                    await self._journal.finish(
                        end,
                        record,
                        speaker=self._publisher.name,
                        has_outbox=self.has_outbox(end),
                        in_context=in_context,
                        absorbed=[pending.message for pending in absorbed],
                    )
                return
            except Fenced:
                raise
            except (StoreError, TimeoutError):
                if left == 0:
                    raise
                log.warning("commit failed, trying again", exc_info=True)

    def _report(self, run: Run, outcome: Outcome, record: TurnRecord) -> None:
        seconds = record.ended_at - record.started_at
        self._bus.emit(AgentEnd(session=run.session, run=run.id, reason=outcome.reason, seconds=seconds))
        log.info(
            "turn ended",
            extra={
                "reason": outcome.reason,
                "seconds": round(seconds, 4),
                "attempt": run.attempt,
                "prompt_tokens": record.prompt_tokens,
                "completion_tokens": record.completion_tokens,
            },
        )

    def close_silently(self, pending: Pending) -> None:
        """Tell everybody who waits that a message gets no answer of its own."""
        end = silent_end(pending)
        self._publisher.end(end)
        self._bus.emit(AgentEnd(session=end.session, run=end.run, reason=end.reason, seconds=0.0))

    def tell_unsaved(self, run: Run) -> None:
        """Close the stream of a turn that could not be saved; it runs again at the next start."""
        outcome = Outcome(reason="error", text=UNSAVED)
        end = end_of(run.message, run.attempt, outcome, seq=run.seq + 1)
        self._bus.send(replace(end, address=run.destination, reply_to=None) if run.destination else end)
        self._bus.emit(AgentEnd(session=run.session, run=run.id, reason="error", seconds=0.0))

    async def park(self, pending: Pending, crashes: int) -> None:
        """Put a message aside that brought the process down too often, and tell its sender."""
        outcome = Outcome(reason="error", text=PARKED.format(crashes=crashes))
        end = await self._publisher.end_of(pending.message, pending.attempts, outcome, seq=1)
        await self._journal.park(end, speaker=self._publisher.name, has_outbox=self.has_outbox(end))
        log.error("message parked", extra={"run": end.run, "session": end.session})
        self._publisher.end(end)

    async def drop(self, pending: Pending, text: str) -> None:
        """Let go of a message that has not begun, and tell its sender why."""
        outcome = Outcome(reason="killed", text=text)
        end = await self._publisher.end_of(pending.message, pending.attempts + 1, outcome, seq=1)
        if pending.begun is None:
            await self._cancel(pending.message, end)
        else:
            now = time.time()
            record = TurnRecord(started_at=now, ended_at=now)
            await self._journal.finish(
                end, record, speaker=self._publisher.name, has_outbox=self.has_outbox(end)
            )
        self._publisher.end(end)

    async def _cancel(self, message: InboundMessage, end: End) -> None:
        await self._journal.cancel(
            message, end, speaker=self._publisher.name, has_outbox=self.has_outbox(end)
        )

    async def note(self, message: InboundMessage, text: str) -> None:
        """Answer a message that gets no turn; both are kept for people to see."""
        end = await self._publisher.end_of(message, 1, Outcome(reason="error", text=text), seq=1)
        await self._journal.note(message, end, speaker=self._publisher.name, has_outbox=self.has_outbox(end))
        self._publisher.end(end)

    def refuse(self, message: InboundMessage, text: str) -> None:
        """Answer a message that is not accepted; nothing of it is kept."""
        self._bus.send(end_of(message, 1, Outcome(reason="error", text=text), seq=1))


def _record(run: Run, spent: tuple[Spent, ...], tally: Tally) -> TurnRecord:
    """The figures of a turn, and what it has read; its model is the one that has done most."""
    most = max(spent, key=lambda line: line.prompt + line.completion, default=None)
    return TurnRecord(
        started_at=run.started_at,
        ended_at=time.time(),
        first_chunk_at=run.first_chunk_at,
        model=most.model if most is not None else None,
        prompt_tokens=sum(line.prompt for line in spent),
        completion_tokens=sum(line.completion for line in spent),
        cached_tokens=sum(line.cached for line in spent),
        spent=spent,
        carried=tally.taint.carried() if tally.taint is not None else None,
    )
