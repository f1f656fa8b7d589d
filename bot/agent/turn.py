"""A turn: the steps from a message to its answer.

    begin → access → rate limit → command → Guardian → injection scan → files → context → backend → redaction

What comes after, saving and learning, is done by the loop, because it has to happen however the turn ends.
"""

import asyncio
import logging
import time
from dataclasses import dataclass
from typing import Protocol, assert_never

from msgspec.structs import replace

from bot.agent.asides import Display
from bot.agent.history import estimate_tokens
from bot.agent.moments import Moments
from bot.agent.prompt import Prompt, PromptBuilder
from bot.agent.run import Outcome, Run
from bot.agent.seams import Check, Learner, Seams
from bot.agent.store import Begun, Journal, ToolLedger
from bot.agent.tools import RunLedger
from bot.agent.voice import Voice
from bot.backends.base import (
    AgentBackend,
    AgentEvent,
    DoneEvent,
    ErrorEvent,
    MessageEvent,
    NoTools,
    RetryEvent,
    ThinkingEvent,
    TokenUsageEvent,
    ToolResultEvent,
    Tools,
    ToolUseEvent,
    TurnInput,
)
from bot.bus import Bus
from bot.hooks.points import MAX_ROUNDS
from bot.hooks.state import turn_state
from bot.messages import (
    Button,
    EndReason,
    InboundMessage,
    Retry,
    SessionKey,
    Thinking,
    TokenUsage,
    ToolResult,
    ToolStart,
    Trigger,
)
from bot.models.base import PromptMessage

log = logging.getLogger(__name__)

ADMISSION = ("access", "rate_limit")
SCANS = ("guardian", "injection")
COMMAND_SECONDS = 310.0  # beyond what any of them gets
MEDIA_SECONDS = 180.0
CHECK_SECONDS = 10.0
CONTEXT_SECONDS = 15.0
STORE_SECONDS = 30.0
PREVIEW = 200  # characters of a tool's result in an event
BLOCKED = "Message blocked by safety check."


class Router(Protocol):
    """Picks the backend that answers a session."""

    async def backend(self, session: SessionKey) -> AgentBackend: ...

    def model(self, session: SessionKey) -> str | None:
        """The model that a session has chosen; `None` leaves it to the settings."""


@dataclass(slots=True)
class Tally:
    """What the model calls of a turn used so far."""

    model: str | None = None
    prompt: int = 0
    completion: int = 0
    cached: int = 0


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

    @property
    def learner(self) -> Learner | None:
        """Takes what there is to remember of a turn that went well."""
        return self._seams.learner

    @property
    def display(self) -> Display:
        """Shows people more of a turn than its answer."""
        return self._seams.display

    @property
    def moments(self) -> Moments:
        """Asks the hooks."""
        return self._moments

    async def answer(self, run: Run, tally: Tally) -> Outcome:
        """Take a message through all steps; raises only for bugs and for a lost fence."""
        with turn_state():
            return await self._moments.sending(run, await self._answer(run, tally))

    async def _answer(self, run: Run, tally: Tally) -> Outcome:
        begun = await self._begin(run)
        if (refused := await self._check(run, ADMISSION)) is not None:
            return refused
        if self.is_command(run.message):
            return await self._moments.command(run.message) or await self._obey(run)
        await self._moments.begun(run.message, is_first=begun.turns == 1)
        received = await self._moments.received(run.message)
        if isinstance(received, Outcome):
            return received
        run.message = received
        if (refused := await self._check(run, SCANS)) is not None:
            return refused
        message = await self._fetch(run)
        backend = await self._router.backend(run.session)
        prompt = await self._context(run, message, begun, backend)
        return await self._converse(run, backend, prompt, tally)

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

    async def _check(self, run: Run, names: tuple[str, ...]) -> Outcome | None:
        """Ask some of the checks in order: the first that objects ends the turn."""
        for name in names:
            check: Check | None = getattr(self._seams, name)
            if check is not None and (outcome := await _ask(name, check, run)) is not None:
                return outcome
        return None

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
        self, run: Run, message: InboundMessage, begun: Begun, backend: AgentBackend
    ) -> Prompt:
        run.enter("context", CONTEXT_SECONDS)
        begun = await self._shortening.prepare(run, begun, backend, self._router.model(run.session))
        injected, override = await self._moments.instructions(message)
        texts = await self._moments.files(run.session, self._prompts.workspace)
        prompt = await self._prompts.build(message, begun, backend.profile, ephemeral=injected, texts=texts)
        if override is not None:
            system = replace(prompt.messages[0], content=override)
            prompt = replace(prompt, messages=(system, *prompt.messages[1:]))
        return await self._moments.prompt(message, prompt)

    async def _converse(self, run: Run, backend: AgentBackend, prompt: Prompt, tally: Tally) -> Outcome:
        """Let the backend answer, and pass on what it says as it comes."""
        seconds = max(1.0, self._run_timeout - (time.time() - run.started_at))
        run.enter("model", seconds)
        await self._moments.status(run, "model")
        model = self._router.model(run.session)
        tools = self._tools(run, backend)
        turn = TurnInput(
            session=run.session,
            run=run.id,
            messages=prompt.messages,
            prompt_tokens=prompt.tokens,
            model=model,
            tools=tools,
            deadline=time.monotonic() + seconds,
            steering=run.steering,
            oversight=self._moments.oversight(run),
            shortening=self._shortening.of_steps(backend, run.session, model, tools),
        )
        rounds = 1
        outcome = await self._round(run, backend, turn, tally)
        while outcome.reason == "done" and rounds < MAX_ROUNDS:
            if (asked := await self._moments.complete(run, rounds)) is None:
                break
            rounds += 1
            turn = _another_round(turn, run.text, asked)
            outcome = await self._round(run, backend, turn, tally, goes_on=True)
        return outcome

    def _tools(self, run: Run, backend: AgentBackend) -> Tools:
        """The tools of a turn; a small model would spend its whole window on reading of them."""
        if backend.profile.compact:
            return NoTools()
        return self._seams.tools.tools_for(run.message, RunLedger(self._ledger, run))

    async def _round(
        self, run: Run, backend: AgentBackend, turn: TurnInput, tally: Tally, *, goes_on: bool = False
    ) -> Outcome:
        """Let the backend come to one end."""
        holds = run.message.trigger is Trigger.HEARTBEAT
        voice = Voice(run, self._seams.redactor, goes_on=goes_on, holds=holds)
        outcome: Outcome | None = None
        asides = self._seams.display.of(run)
        async for event in backend.run(turn):
            if asides is not None:
                await asides.note(event)
            if isinstance(event, MessageEvent):
                await self._moments.grown(run, event.content, replaces=event.replaces)
            outcome = self._take(event, run, voice, tally)
        if outcome is not None:
            return outcome
        raise RuntimeError(f"backend {type(backend).__name__} ended without a last event")

    def _take(self, event: AgentEvent, run: Run, voice: Voice, tally: Tally) -> Outcome | None:
        """Publish one event of the backend; gives the outcome if it was the last."""
        session, id_, bus = run.session, run.id, self._bus
        match event:
            case MessageEvent():
                voice.say(event.content, replaces=event.replaces)
            case ThinkingEvent():
                bus.emit(Thinking(session=session, run=id_, text=event.content))
            case ToolUseEvent(call=call):
                name, arguments = call.function.name, call.function.arguments
                bus.emit(ToolStart(session=session, run=id_, call_id=call.id, name=name, arguments=arguments))
            case ToolResultEvent(call=call):
                bus.emit(_tool_result(event, run))
            case TokenUsageEvent():
                _count(event, tally)
                bus.emit(
                    TokenUsage(
                        session=session,
                        run=id_,
                        model=event.model,
                        prompt=event.prompt,
                        completion=event.completion,
                        cached=event.cached,
                    )
                )
            case RetryEvent():
                bus.emit(_retry(event, run))
            case ErrorEvent():
                voice.end()
                return _gave_up(event, run)
            case DoneEvent():
                if not voice.end():
                    return Outcome(reason="silent", text="")
                return Outcome(
                    reason="done" if run.text or event.attachments else "silent",
                    text=run.text,
                    attachments=event.attachments,
                    buttons=tuple(_disarm(button) for button in event.buttons),
                )
            case _:
                assert_never(event)
        return None


def _another_round(turn: TurnInput, said: str, asked: str) -> TurnInput:
    """The turn with what was said and what a hook wants now."""
    more = (PromptMessage(role="assistant", content=said), PromptMessage(role="user", content=asked))
    tokens = sum(estimate_tokens(message.content) for message in more)
    return replace(turn, messages=(*turn.messages, *more), prompt_tokens=turn.prompt_tokens + tokens)


async def _ask(name: str, check: Check, run: Run) -> Outcome | None:
    """Run one check; one that breaks or does not answer in time blocks the message."""
    run.enter(name, CHECK_SECONDS + 1)
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            refusal = await check(run.message)
    except Exception:  # a guard that is broken must not let anything through
        log.exception("check failed, message blocked", extra={"check": name})
        return Outcome(reason="error", text=BLOCKED)
    if refusal is None:
        return None
    reason: EndReason = "error" if refusal.text else "silent"
    return Outcome(reason=reason, text=refusal.text)


def _disarm(button: Button) -> Button:
    """Let a button of the model's be no command: whoever pressed it would give that command."""
    return replace(button, value=button.value.lstrip("/! "))


def _count(event: TokenUsageEvent, tally: Tally) -> None:
    tally.model = event.model
    tally.prompt += event.prompt
    tally.completion += event.completion
    tally.cached += event.cached


def _tool_result(event: ToolResultEvent, run: Run) -> ToolResult:
    return ToolResult(
        session=run.session,
        run=run.id,
        call_id=event.call.id,
        name=event.call.function.name,
        status=event.status,
        preview=event.content[:PREVIEW],
    )


def _retry(event: RetryEvent, run: Run) -> Retry:
    return Retry(
        session=run.session,
        run=run.id,
        model=event.model,
        attempt=event.attempt,
        wait=event.wait,
        cause=event.cause,
    )


def _gave_up(event: ErrorEvent, run: Run) -> Outcome:
    """The outcome of a backend's failure: what was shown stays, and the reason stands below it."""
    reference = run.id[-8:]
    log.error("model failed", extra={"reference": reference, "cause": event.content})
    told = f"{event.content}\n\nReference: {reference}"
    shown = run.text
    return Outcome(reason="error", text=f"{shown}\n\n{told}" if shown else told, reference=reference)
