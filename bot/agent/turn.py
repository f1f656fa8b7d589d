"""A turn: the steps from a message to its answer.

    begin → access → rate limit → command → Guardian → injection scan → files → context → backend → redaction

What comes after, saving and learning, is done by the loop, because it has to happen however the turn ends.
"""

import logging
import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Protocol

from msgspec.structs import replace

from bot.agent.accounts import payer_of
from bot.agent.asides import Display
from bot.agent.billing import Bill
from bot.agent.checks import Checks
from bot.agent.history import estimate_tokens
from bot.agent.inherited import disarmed, opened_by, take_over
from bot.agent.moments import Moments
from bot.agent.news import News
from bot.agent.pictures import show
from bot.agent.prompt import Prompt, PromptBuilder
from bot.agent.run import Outcome, Run
from bot.agent.seams import Learner, Redactor, Seams
from bot.agent.spending import paid_by
from bot.agent.store import Begun, Journal, ToolLedger
from bot.agent.tab import Tab
from bot.agent.taint import Taint, taint, tainted
from bot.agent.tools import RunLedger
from bot.agent.voice import Voice
from bot.backends.base import (
    AgentBackend,
    AgentEvent,
    DoneEvent,
    ErrorEvent,
    MessageEvent,
    NoTools,
    Tools,
    TurnInput,
)
from bot.bus import Bus
from bot.errors import BudgetSpent, ModelError
from bot.hooks.points import MAX_ROUNDS
from bot.hooks.state import turn_state
from bot.messages import (
    Address,
    InboundMessage,
    SessionKey,
    Trigger,
)
from bot.models.base import PromptMessage

log = logging.getLogger(__name__)

COMMAND_SECONDS = 310.0  # beyond what any of them gets
MEDIA_SECONDS = 180.0
CONTEXT_SECONDS = 15.0
STORE_SECONDS = 30.0


class Router(Protocol):
    """Picks the backend that answers a session."""

    async def backend(self, session: SessionKey) -> AgentBackend: ...

    def model(self, session: SessionKey) -> str | None:
        """The model that a session has chosen; `None` leaves it to the settings."""


@dataclass(slots=True)
class Tally:
    """What a turn has used and what it has read; `None` before it has begun."""

    bill: Bill | None = None
    taint: Taint | None = None


class Turn:
    """Answers messages; one instance serves all sessions, the state of a turn is in its `Run`."""

    def __init__(
        self,
        *,
        journal: Journal,
        ledger: ToolLedger,
        bus: Bus,
        router: Router,
        prompts: PromptBuilder,
        seams: Seams,
        run_timeout: float,
        history: int,
    ) -> None:
        self._outward = seams.outward
        self._journal = journal
        self._ledger = ledger
        self._bus = bus
        self._router = router
        self._prompts = prompts
        self._seams = seams
        self._run_timeout = run_timeout
        self._history = history
        self._shortening = seams.shortening
        self._moments = seams.moments
        self._checks = Checks(seams)

    @property
    def learner(self) -> Learner | None:
        """Takes what there is to remember of a turn that went well."""
        return self._seams.learner

    @property
    def redactor(self) -> Redactor | None:
        """Hides what must not leave the bot."""
        return self._seams.redactor

    @property
    def display(self) -> Display:
        """Shows people more of a turn than its answer."""
        return self._seams.display

    @property
    def checks(self) -> Checks:
        """Asks the guards."""
        return self._checks

    @property
    def moments(self) -> Moments:
        """Asks the hooks."""
        return self._moments

    async def answer(self, run: Run, tally: Tally) -> Outcome:
        """Take a message through all steps; raises only for bugs and for a lost fence."""
        tally.bill = bill = self._seams.spending.open(payer_of(run.message))
        tally.taint = opened_by(run.message, is_operator=self._seams.is_operator(run.message))
        with turn_state(), paid_by(bill), tainted(tally.taint):
            try:
                outcome = await self._answer(run, bill)
            except ModelError as error:
                if not bill.is_refused(str(error)):
                    raise
                outcome = _refused(str(error), run)
            if bill.refused_by is not None and self._seams.on_spent is not None:
                self._seams.on_spent(run.message, bill.refused_by, str(bill.refusal))
            return await self._moments.sending(run, outcome)

    async def _answer(self, run: Run, bill: Bill) -> Outcome:
        begun = await self._begin(run)
        take_over(run.message, begun)
        if (refused := await self._checks.admit(run)) is not None:
            return refused
        if self.is_command(run.message):
            return await self._moments.command(run.message) or await self._obey(run)
        await self._moments.begun(run.message, is_first=begun.turns == 1)
        received = await self._moments.received(run.message)
        if isinstance(received, Outcome):
            return received
        run.message = received
        taint().request = received.text
        if (refused := await self._checks.scan(run, run.message)) is not None:
            return refused
        if self._is_taken(run.message):
            return await self._leave_to_operator(run, begun)
        begun = await self._checks.screen(run, begun)
        message = await self._fetch(run)
        if (heard := _heard(message)) and (refused := await self._checks.scan(run, heard)) is not None:
            return refused
        backend = await self._router.backend(run.session)
        tools = self._tools(run, backend)
        prompt = await self._context(run, message, begun, backend, tools, bill)
        with Tab(bill) as tab:
            outcome = await self._converse(run, backend, prompt, tools, tab)
        return await self._checks.look_at_answer(run, outcome)

    def destination(self, message: InboundMessage) -> Address | None:
        """Where the answer to a message goes, if not where it came from."""
        operators = self._seams.operators
        return None if operators is None else operators.destination(message)

    def _is_taken(self, message: InboundMessage) -> bool:
        """Whether an operator answers, in the agent's stead."""
        return self._seams.operators is not None and self._seams.operators.has_taken(message)

    async def _leave_to_operator(self, run: Run, begun: Begun) -> Outcome:
        """End without an answer; the agent reads the message when it has the chat again."""
        if begun.overheard:
            await self._journal.leave_overheard(run.id)
        log.info("left to an operator", extra={"trigger": run.message.trigger.value})
        return Outcome(reason="silent", text="")

    async def _begin(self, run: Run) -> Begun:
        if run.begun is not None:  # by the commit that accepted the message
            return run.begun
        run.enter("store", STORE_SECONDS)
        is_command = self.is_command(run.message)
        return await self._journal.begin(
            run.message, attempts=run.attempt - 1, history=self._history, in_context=not is_command
        )

    def is_command(self, message: InboundMessage) -> bool:
        """Whether a message is for us and not for the model."""
        commands = self._seams.commands
        return commands is not None and commands.matches(message.text)

    async def _obey(self, run: Run) -> Outcome:
        """Carry out a command; its answer is for people, not for the model."""
        assert self._seams.commands is not None
        run.enter("command", COMMAND_SECONDS)
        answer = await self._seams.commands.run(run.message)
        return Outcome(
            reason="done" if answer.text else "silent",
            text=answer.text,
            buttons=answer.buttons,
            in_context=False,
        )

    async def _fetch(self, run: Run) -> InboundMessage:
        """Get the files of a message; one that can't be had stays in the message, and says why."""
        if run.message.attachments:
            run.enter("files", MEDIA_SECONDS)
        return await self.fetch(run.message)

    async def fetch(self, message: InboundMessage) -> InboundMessage:
        """A message with its files on our disk."""
        if not message.attachments or self._seams.media is None:
            return message
        return await self._seams.media.fetch(message)

    async def _context(
        self,
        run: Run,
        message: InboundMessage,
        begun: Begun,
        backend: AgentBackend,
        tools: Tools,
        bill: Bill,
    ) -> Prompt:
        run.enter("context", CONTEXT_SECONDS)
        await bill.ready()
        bill.check()
        injected, override = await self._moments.instructions(message)
        instructions = await self._prompts.instruct(
            message,
            backend.profile,
            tools=tools.schemas,
            extra=("", injected),
            texts=await self._moments.files(run.session, self._prompts.workspace),
        )
        model = self._router.model(run.session)
        begun = await self._shortening.prepare(run, begun, backend, model, taken=instructions.taken)
        remembered = await self._remembered(message, backend)
        prompt = self._prompts.fill(instructions, message, begun, backend.profile, remembered=remembered)
        if override is not None:
            system = replace(prompt.messages[0], content=override)
            prompt = replace(prompt, messages=(system, *prompt.messages[1:]))
        return await show(await self._moments.prompt(message, prompt), message, backend.profile)

    async def _remembered(self, message: InboundMessage, backend: AgentBackend) -> str:
        """What is remembered that matters now; a small model has no room for it."""
        notes = self._seams.notes
        return "" if notes is None or backend.profile.compact else await notes.relevant(message)

    async def _converse(
        self, run: Run, backend: AgentBackend, prompt: Prompt, tools: Tools, tab: Tab
    ) -> Outcome:
        """Let the backend answer, and pass on what it says as it comes."""
        seconds = max(1.0, self._run_timeout - (time.time() - run.started_at))
        run.enter("model", seconds)
        await self._moments.status(run, "model")
        model = self._router.model(run.session)
        guard = self._seams.input_guard
        taint().window = prompt.messages
        turn = TurnInput(
            session=run.session,
            run=run.id,
            messages=prompt.messages,
            prompt_tokens=prompt.tokens,
            model=model,
            tools=tools,
            deadline=time.monotonic() + seconds,
            steering=run.steering,
            oversight=self._moments.oversight(run, tab if guard is None else guard(tab)),
            shortening=self._shortening.of_steps(backend, run.session, model, tools),
        )
        rounds = 1
        outcome = await self._round(run, backend, turn, tab)
        while outcome.reason == "done" and rounds < MAX_ROUNDS:
            if (asked := await self._moments.complete(run, rounds)) is None:
                break
            rounds += 1
            turn = _another_round(turn, run.text, asked)
            outcome = await self._round(run, backend, turn, tab, goes_on=True)
        return outcome

    def _tools(self, run: Run, backend: AgentBackend) -> Tools:
        """The tools of a turn; a small model would spend its whole window on reading of them."""
        if backend.profile.compact:
            return NoTools()
        return self._seams.tools.tools_for(run.message, RunLedger(self._ledger, run))

    async def _round(
        self, run: Run, backend: AgentBackend, turn: TurnInput, tab: Tab, *, goes_on: bool = False
    ) -> Outcome:
        """Let the backend come to one end."""
        holds = run.message.trigger is Trigger.HEARTBEAT
        voice = Voice(run, self._outward, goes_on=goes_on, holds=holds)
        run.on_cut = voice.break_off
        news = News(self._bus, run.session, run.id, self._seams.redactor)
        outcome: Outcome | None = None
        asides = self._seams.display.of(run)
        events = backend.run(turn)
        async for event in events:
            try:
                tab.note(event)
            except BudgetSpent as error:  # in the middle of a call, which must not be made again
                if isinstance(events, AsyncGenerator):
                    await events.aclose()
                voice.break_off()
                return _refused(str(error), run)
            if asides is not None:
                await asides.note(event)
            if isinstance(event, MessageEvent):
                await self._moments.grown(run, event.content, replaces=event.replaces)
            await news.tell(event)
            outcome = self._take(event, run, voice, tab)
        if outcome is not None:
            return outcome
        raise RuntimeError(f"backend {type(backend).__name__} ended without a last event")

    def _take(self, event: AgentEvent, run: Run, voice: Voice, tab: Tab) -> Outcome | None:
        """Publish one event of the backend; gives the outcome if it was the last."""
        match event:
            case MessageEvent():
                voice.say(event.content, replaces=event.replaces)
            case ErrorEvent():
                voice.break_off()
                is_refused = tab.bill.is_refused(event.content)
                return _refused(event.content, run) if is_refused else _gave_up(event, run)
            case DoneEvent():
                if not voice.end():
                    return Outcome(reason="silent", text="")
                return Outcome(
                    reason="done" if run.text or event.attachments else "silent",
                    text=run.text,
                    attachments=event.attachments,
                    buttons=tuple(disarmed(button, self._outward) for button in event.buttons),
                )
        return None


def _another_round(turn: TurnInput, said: str, asked: str) -> TurnInput:
    """The turn with what was said and what a hook wants now."""
    more = (PromptMessage(role="assistant", content=said), PromptMessage(role="user", content=asked))
    tokens = sum(estimate_tokens(message.content) for message in more)
    return replace(turn, messages=(*turn.messages, *more), prompt_tokens=turn.prompt_tokens + tokens)


def _heard(message: InboundMessage) -> InboundMessage | None:
    """What somebody said in voice notes, as a message of its own to be looked at."""
    said = "\n".join(note.transcript for note in message.attachments if note.transcript)
    return replace(message, text=said) if said else None


def _gave_up(event: ErrorEvent, run: Run) -> Outcome:
    """The outcome of a backend's failure: what was shown stays, and the reason stands below it."""
    reference = run.id[-8:]
    log.error("model failed", extra={"reference": reference, "cause": event.content})
    told = f"{event.content}\n\nReference: {reference}"
    shown = run.text
    return Outcome(reason="error", text=f"{shown}\n\n{told}" if shown else told, reference=reference)


def _refused(told: str, run: Run) -> Outcome:
    """The outcome of a turn that a budget has ended; a heartbeat would tell of it again at every beat."""
    if run.message.trigger is Trigger.HEARTBEAT and not run.text:
        return Outcome(reason="silent", text="")
    shown = run.text
    return Outcome(reason="error", text=f"{shown}\n\n{told}" if shown else told)
