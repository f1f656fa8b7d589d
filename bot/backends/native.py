"""The built-in backend: a loop of model calls and tool calls, until the model has no more calls to make.

A step: sample the model → carry out its calls together → put calls, results and what people have said
meanwhile into the prompt. The last step that is allowed is asked for an answer instead of calls.
"""

import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from bot.backends.base import (
    AgentEvent,
    Capability,
    ErrorEvent,
    ToolResultEvent,
    ToolUseEvent,
    TurnInput,
)
from bot.backends.draft import Draft
from bot.backends.registry import BackendSetup
from bot.backends.repetition import Repetition
from bot.errors import ContextOverflow, ModelError, ModelUnavailable
from bot.models.base import ModelClient, ModelProfile, ModelRequest, PromptMessage, ToolCall, Warmable
from bot.models.providers import open_client

MAX_STEPS = 50
MIN_OUTPUT = 64  # tokens; asked for even where our estimate leaves nothing, for it is a guess
TOO_LONG = (
    "This conversation has become too long for the model. Begin a new one with /new, or shorten your message."
)
TOO_MANY_STEPS = (
    "I stopped after {steps} steps without coming to an end. Ask for less at a time, or try again."
)
TRY_AGAIN = "{cause} Please try again in a while."


class NativeBackend:
    """Answers turns with a model client; one instance serves every session.

    Args:
        model: The provider's name of the model, where the turn names none.
        max_steps: Model calls of one turn.
        turn_seconds: For turns that come without a deadline.
        clock: What deadlines are measured on.
    """

    def __init__(
        self,
        client: ModelClient,
        *,
        model: str,
        max_steps: int = MAX_STEPS,
        turn_seconds: float = 600,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if max_steps < 1:
            raise ValueError(f"max_steps can't be {max_steps}")
        self._client = client
        self._model = model
        self._max_steps = max_steps
        self._turn_seconds = turn_seconds
        self._clock = clock

    @property
    def capabilities(self) -> Capability:
        """See `AgentBackend.capabilities`."""
        return Capability.STREAMING | Capability.TOOLS | Capability.MULTI_TURN | Capability.STEERING

    @property
    def profile(self) -> ModelProfile:
        """See `AgentBackend.profile`."""
        return self._client.profile

    async def run(self, turn: TurnInput) -> AsyncGenerator[AgentEvent, None]:
        """See `AgentBackend.run`."""
        draft, repetition = Draft(turn), Repetition()
        deadline = turn.deadline if turn.deadline is not None else self._clock() + self._turn_seconds
        steps_left = self._max_steps
        try:
            while not draft.is_over:
                steps_left -= 1
                may_call = steps_left > 0 and not repetition.is_hopeless
                async with aclosing(self._sample(turn, draft, deadline, may_call=may_call)) as said:
                    async for event in said:
                        yield event
                calls = draft.calls() if may_call else ()
                if not calls:
                    break
                for call in calls:
                    yield ToolUseEvent(call=call)
                repetition.note(calls)
                results = await self._carry_out(turn, calls, repetition)
                for result in results:
                    yield result
                draft.next_step(results)
                draft.hear(await turn.steering.take())
        except ModelError as error:
            yield ErrorEvent(content=explain(error), is_overflow=isinstance(error, ContextOverflow))
            return
        if (replacement := draft.replacement()) is not None:
            yield replacement
        yield draft.last_word() if steps_left > 0 or draft.has_answer else self._too_many_steps()

    async def _sample(
        self, turn: TurnInput, draft: Draft, deadline: float, *, may_call: bool
    ) -> AsyncGenerator[AgentEvent, None]:
        """Ask the model once, and pass on what it says."""
        shortening, was_refused = turn.shortening, False
        draft.refit(await shortening.fit(draft.messages, tokens=draft.prompt_tokens))
        while True:
            request = self._request(turn, draft, deadline, may_call=may_call)
            request = await turn.oversight.look(request, draft.next_number())
            try:
                async with aclosing(self._client.stream(request)) as events:
                    async for event in events:
                        if (said := draft.take(event)) is not None:
                            yield said
                break
            except ContextOverflow:
                shorter = await shortening.fit(draft.messages, tokens=draft.prompt_tokens, was_refused=True)
                if was_refused or shorter == draft.messages:
                    raise
                was_refused = True
                draft.refit(shorter)
        if (reported := draft.reported) is not None:
            shortening.note(draft.messages, reported)
        if (correction := draft.correction()) is not None:
            yield correction

    async def _carry_out(
        self, turn: TurnInput, calls: tuple[ToolCall, ...], repetition: Repetition
    ) -> list[ToolResultEvent]:
        if repetition.is_told:
            return repetition.results(calls)
        steering = turn.steering
        return await turn.tools.call_all(calls, should_skip=lambda: steering.is_waiting)

    def _request(self, turn: TurnInput, draft: Draft, deadline: float, *, may_call: bool) -> ModelRequest:
        profile = self._client.profile
        room = min(turn.max_output or profile.max_output, profile.window - draft.prompt_tokens)
        return ModelRequest(
            model=turn.model or self._model,
            messages=draft.messages,
            max_completion_tokens=max(MIN_OUTPUT, room),
            tools=turn.tools.schemas,
            may_call=may_call,
            deadline=deadline,
        )

    def _too_many_steps(self) -> ErrorEvent:
        return ErrorEvent(content=TOO_MANY_STEPS.format(steps=self._max_steps))

    async def warm(self, messages: tuple[PromptMessage, ...]) -> None:
        """See `Warmable.warm`."""
        if isinstance(self._client, Warmable):
            await self._client.warm(messages)

    async def aclose(self) -> None:
        """See `AgentBackend.aclose`."""
        await self._client.aclose()


def explain(error: ModelError) -> str:
    """What a person is told of a model call that failed."""
    match error:
        case ContextOverflow():
            return TOO_LONG
        case ModelUnavailable():
            return TRY_AGAIN.format(cause=error)
        case _:
            return str(error)


def open_native(setup: BackendSetup) -> NativeBackend:
    """Make the backend that the settings ask for."""
    models = setup.models
    return NativeBackend(open_client(models), model=models.model_name, turn_seconds=setup.turn_seconds)
