"""Carries out the tool calls of one turn.

A call: find the tool → read its arguments → pass the gates → run it → cap what it gave. What goes wrong on
the way is a result as well, in words that tell the model what to do instead.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractContextManager, nullcontext
from difflib import get_close_matches
from types import MappingProxyType
from typing import TypeAlias, TypeVar

import msgspec
from msgspec.structs import replace

from bot.agent.taint import Source
from bot.backends.base import ToolResultEvent
from bot.hooks.points import AfterToolCall, ToolResultPersist
from bot.hooks.registry import Hooks
from bot.messages import Attachment, Frozen
from bot.models.base import ToolCall
from bot.models.picture_files import MAX_PICTURES, load_pictures
from bot.models.pictures import BLIND
from bot.tools.arguments import parse_arguments, validate_arguments
from bot.tools.base import (
    UNWATCHED,
    Arguments,
    Denied,
    Gate,
    Ledger,
    Screen,
    Status,
    Tool,
    ToolContext,
    ToolFault,
    ToolOutput,
)
from bot.tools.jobs import Countdown, Jobs, Late
from bot.tools.registry import Offer
from bot.tools.results import Results

log = logging.getLogger(__name__)

AT_ONCE = 8
MAX_NAMES = 40  # of tools, in an error

UNKNOWN = (
    "This call was begun before a restart and nobody knows whether it took effect. It was not made again: "
    "find out what happened before you repeat it."
)
SKIPPED = "Skipped due to queued user message."
NOT_STARTED = "Not started: the other calls of this step took more than {seconds:g} s."
CUT_OFF = "Stopped: the calls of this step took more than {seconds:g} s together. What it had done stands."
STOPPED = "Stopped after {seconds:g} s. What it had done stands; ask for less at a time."
RUNS_ON = (
    "It took more than {seconds:g} s, and what it does can't be stopped: it may still take effect. "
    "Find out what happened before you repeat it."
)
LEFT_OUT = "\n[{count} not shown: {reason}]"
UNFIT = "no picture that models take, too large, or one too many at once"
UNCHECKED = "the check of this call {fault}, so it was not made"

T = TypeVar("T")

Pause: TypeAlias = Callable[[], AbstractContextManager[None]]


class CallLimits(Frozen, frozen=True, kw_only=True):
    """What calls may take.

    Attributes:
        batch: Seconds for the calls of one step; while a person is waited for they are not counted.
        gate: Seconds until a gate that has not answered denies; beyond any approval, for one that hangs.
        pictures: How many the model is shown of the results of one step; 0 where it sees nothing.
    """

    batch: float = 120.0
    gate: float = 600.0
    pictures: int = MAX_PICTURES


DEFAULT_LIMITS = CallLimits()


class CallResult(Frozen, frozen=True, kw_only=True):
    """What came of a call.

    Attributes:
        text: For the model.
        attachments, images, is_final, has_spoken, origins: See `ToolOutput`.
        rounds: See `Tool`.
    """

    text: str
    status: Status = "ok"
    attachments: tuple[Attachment, ...] = ()
    images: tuple[Attachment, ...] = ()
    is_final: bool = False
    has_spoken: bool = False
    origins: tuple[tuple[Source, str], ...] = ()
    rounds: int = 0


class _Permitted(msgspec.Struct, frozen=True):
    """A call that may be made, with the arguments as the gates left them."""

    tool: Tool
    arguments: Arguments


class ToolCalls:
    """The tools of one turn; fulfils `bot.backends.base.Tools`.

    Args:
        offer: What the model may call.
        context: Of the turn; each call gets it with an id of its own.
        jobs: Owns what runs; one for the whole bot.
        ledger: Knows which calls were made, also by an attempt before a restart.
        gates: Asked one after the other. Those that change arguments stand before those that approve them:
            the last one has to see what is really called.
        hooks: Told of calls, and may change what is kept of their results.

    Attributes:
        watch: Who looks at results and denials; set by whoever makes this.
    """

    def __init__(
        self,
        offer: Offer,
        context: ToolContext,
        *,
        results: Results,
        jobs: Jobs,
        ledger: Ledger | None = None,
        hooks: Hooks | None = None,
        gates: Sequence[Gate] = (),
        limits: CallLimits = DEFAULT_LIMITS,
    ) -> None:
        self.schemas = offer.schemas
        self._tools = offer.tools
        self._context = context
        self._results = results
        self._jobs = jobs
        self._ledger = ledger
        self._hooks = hooks
        self._gates = tuple(gates)
        self._limits = limits
        self.watch = UNWATCHED

    async def call(self, call: ToolCall) -> ToolResultEvent:
        """See `bot.backends.base.Tools.call`."""
        return await self._event(call, await self.carry_out(call, self._context), self._limits.pictures)

    async def call_all(
        self, calls: Sequence[ToolCall], *, should_skip: Callable[[], bool]
    ) -> list[ToolResultEvent]:
        """See `bot.backends.base.Tools.call_all`."""
        results = await self.carry_out_all(calls, should_skip=should_skip)
        events: list[ToolResultEvent] = []
        room = self._limits.pictures
        for call, result in zip(calls, results, strict=True):
            events.append(await self._event(call, result, room))
            room -= len(events[-1].pictures)
        return events

    async def carry_out(
        self, call: ToolCall, context: ToolContext, *, pause: Pause = nullcontext
    ) -> CallResult:
        """Carry out one call, and write it down; whatever fails is a result with status `error`.

        Args:
            pause: Entered while a person is, or may be, waited for.

        Raises:
            StoreError: It could not be written down.
        """
        began = time.monotonic()
        context = replace(context, call_id=call.id)
        permitted = await self._contain(call, self._permit(call, context, pause))
        is_known = await self._ledger.begin(call) if self._ledger is not None else True
        if isinstance(permitted, CallResult):
            result = permitted
        elif is_known or permitted.tool.is_idempotent:
            result = await self._contain(call, self._obey(call, permitted, context, pause))
            if (screen := self.watch.screen) is not None:
                result = await self._contain(call, self._take_in(screen, permitted, result))
        else:
            result = CallResult(text=UNKNOWN, status="error")
        if self._hooks is not None:
            result = await self._tell(self._hooks, call, result, time.monotonic() - began)
        if self._ledger is not None:
            await self._ledger.end(call, status=result.status, result=result.text, rounds=result.rounds)
        return result

    async def _tell(self, hooks: Hooks, call: ToolCall, result: CallResult, seconds: float) -> CallResult:
        """Let hooks change what is kept of a result, and tell them how the call went."""
        session, run, name = self._context.session, self._context.message.run, call.function.name
        kept = hooks.fire_now(
            ToolResultPersist(session=session, run=run, call_id=call.id, tool=name, text=result.text)
        )
        if hooks.wants(AfterToolCall):
            await hooks.fire(
                AfterToolCall(
                    session=session,
                    run=run,
                    call_id=call.id,
                    tool=name,
                    status=result.status,
                    text=kept.text,
                    seconds=seconds,
                )
            )
        return result if kept.text == result.text else msgspec.structs.replace(result, text=kept.text)

    async def _contain(self, call: ToolCall, work: Coroutine[object, object, T]) -> T | CallResult:
        """Where one call begins: what goes wrong with it is its result."""
        try:
            return await work
        except ToolFault as fault:
            text = str(fault) or "The tool failed."
        except Exception as error:  # the model gets no internals
            log.error("tool failed", exc_info=error, extra={"tool": call.function.name[:64]})
            text = f"The tool failed: {type(error).__name__}"
        return await self._result(call, ToolOutput(text=text), "error")

    async def _take_in(self, screen: Screen, permitted: _Permitted, result: CallResult) -> CallResult:
        """The result as the model may read it; errors say what others wrote, too."""
        text = await screen.take_in(
            permitted.tool, permitted.arguments, result.text, status=result.status, origins=result.origins
        )
        return result if text == result.text else msgspec.structs.replace(result, text=text)

    async def _result(self, call: ToolCall, output: ToolOutput, status: Status) -> CallResult:
        name = call.function.name
        return CallResult(
            text=await self._results.cap(self._context.session, output.text),
            status=status,
            attachments=output.attachments,
            images=output.images,
            is_final=output.is_final,
            has_spoken=output.has_spoken,
            origins=output.origins,
            rounds=self._tools[name].rounds if name in self._tools else 0,
        )

    async def carry_out_all(
        self, calls: Sequence[ToolCall], *, should_skip: Callable[[], bool] = lambda: False
    ) -> list[CallResult]:
        """Carry out the calls of one step side by side; the results come in the order of the calls.

        Args:
            should_skip: Asked before each call begins; those that find it true are not made.
        """
        slots = asyncio.Semaphore(AT_ONCE)
        begun: set[int] = set()

        async def one(number: int, call: ToolCall) -> CallResult:
            async with slots:
                if should_skip():
                    return CallResult(text=SKIPPED, status="error")
                begun.add(number)
                return await self.carry_out(call, self._context, pause=countdown.paused)

        def stop() -> None:
            for task in tasks:
                task.cancel()

        countdown = Countdown(self._limits.batch, stop)
        tasks = [asyncio.create_task(one(*item), name=f"call {item[0]}") for item in enumerate(calls)]
        try:
            with countdown:
                await asyncio.gather(*tasks, return_exceptions=True)
        finally:
            stop()
        return [self._outcome(task, has_begun=number in begun) for number, task in enumerate(tasks)]

    def _outcome(self, task: asyncio.Task[CallResult], *, has_begun: bool) -> CallResult:
        if not task.cancelled():
            return task.result()
        told = CUT_OFF if has_begun else NOT_STARTED
        return CallResult(text=told.format(seconds=self._limits.batch), status="error")

    async def _event(self, call: ToolCall, result: CallResult, most_pictures: int) -> ToolResultEvent:
        """What the turn is told of a result; its pictures are read now, at most so many."""
        pictures = await load_pictures(result.images, most=most_pictures)
        missing = pictures.count(None)
        reason = UNFIT if self._limits.pictures else BLIND
        note = LEFT_OUT.format(count=missing, reason=reason) if missing else ""
        return ToolResultEvent(
            call=call,
            content=result.text + note,
            status=result.status,
            attachments=result.attachments,
            pictures=tuple(picture for picture in pictures if picture is not None),
            is_final=result.is_final,
            has_spoken=result.has_spoken,
            rounds=result.rounds,
        )

    def _find(self, name: str) -> Tool:
        if (tool := self._tools.get(name)) is not None:
            return tool
        shown = name[:64]
        near = get_close_matches(shown, self._tools, cutoff=0.5)
        others = ", ".join(near or list(self._tools)[:MAX_NAMES])
        if not others:
            raise ToolFault(f"There is no tool {shown!r}: there are none here.")
        hint = f"did you mean {others}?" if near else f"there are {others}."
        raise ToolFault(f"There is no tool {shown!r}: {hint}")

    async def _permit(self, call: ToolCall, context: ToolContext, pause: Pause) -> _Permitted:
        """Read a call and pass the gates; only then is it written down as one that may take effect."""
        tool = self._find(call.function.name)
        arguments = parse_arguments(tool, call.function.arguments)
        given = MappingProxyType(dict(arguments))  # what a gate changes it has to give back, to be looked at
        for gate in self._gates:
            if self._waves_through(gate, tool, given, context):
                continue
            with pause():
                arguments = await self._pass(gate, tool, given, context)
            given = MappingProxyType(dict(arguments))
        return _Permitted(tool, arguments)

    def _waves_through(self, gate: Gate, tool: Tool, arguments: Arguments, context: ToolContext) -> bool:
        try:
            return gate.waves_through(tool, arguments, context)
        except Exception as error:  # a gate that breaks denies
            log.error("gate failed", exc_info=error, extra={"tool": tool.name, "gate": type(gate).__name__})
            raise self._denied(gate, tool, context, UNCHECKED.format(fault="failed")) from None

    async def _obey(
        self, call: ToolCall, permitted: _Permitted, context: ToolContext, pause: Pause
    ) -> CallResult:
        with pause() if permitted.tool.is_waiting else nullcontext():
            output = await self._run(permitted.tool, permitted.arguments, context)
        return await self._result(call, output, "ok")

    async def _pass(self, gate: Gate, tool: Tool, arguments: Arguments, context: ToolContext) -> Arguments:
        """The arguments as a gate wants them.

        Raises:
            ToolFault: It denies.
        """
        verdict = await self._judge(gate, tool, arguments, context)
        if isinstance(verdict, Denied):
            raise self._denied(gate, tool, context, verdict.reason)
        if verdict is arguments:
            return arguments
        try:
            return validate_arguments(tool, verdict)
        except ToolFault as fault:
            raise ToolFault(f"Not made: a check changed the arguments into wrong ones. {fault}") from None

    def _denied(self, gate: Gate, tool: Tool, context: ToolContext, reason: str) -> ToolFault:
        """What the model is told of a denial, which is noted."""
        if self.watch.note_denied is not None:
            self.watch.note_denied(tool, context, type(gate).__name__, reason)
        return ToolFault(f"Not allowed: {reason}")

    async def _judge(
        self, gate: Gate, tool: Tool, arguments: Arguments, context: ToolContext
    ) -> Arguments | Denied:
        try:
            verdict = await self._jobs.run(
                lambda: gate.judge(tool, arguments, context),
                seconds=self._limits.gate,
                name=f"gate of {tool.name}",
            )
        except Exception as error:  # a gate that breaks denies
            log.error("gate failed", exc_info=error, extra={"tool": tool.name, "gate": type(gate).__name__})
            return Denied(reason=UNCHECKED.format(fault="failed"))
        if isinstance(verdict, Late):
            log.error("gate timed out", extra={"tool": tool.name, "gate": type(gate).__name__})
            return Denied(reason=UNCHECKED.format(fault="took too long"))
        return verdict

    async def _run(self, tool: Tool, arguments: Arguments, context: ToolContext) -> ToolOutput:
        own = {} if tool.context_name is None else {tool.context_name: context}
        outcome = await self._jobs.run(
            lambda: tool.handler(**{**arguments, **own}),
            seconds=None if tool.is_waiting else tool.timeout,
            name=f"tool {tool.name}",
        )
        match outcome:
            case Late(is_gone=is_gone):
                told = STOPPED if is_gone and not tool.runs_in_thread else RUNS_ON
                raise ToolFault(told.format(seconds=tool.timeout))
            case str():
                return ToolOutput(text=outcome or "(nothing)")
            case ToolOutput(text=str()):
                return outcome
            case _:
                raise TypeError(f"tool {tool.name!r} gave no str and no ToolOutput: {type(outcome).__name__}")
