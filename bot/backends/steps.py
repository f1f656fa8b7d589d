"""The steps of one turn over a model client, for whoever drives them: our own loop, or that of an SDK.

A step: sample the model → carry out its calls together → put calls, results and what people have said
meanwhile into the prompt. The last step that is allowed is asked for an answer instead of calls.
"""

import time
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing

from bot.backends.base import AgentEvent, Capability, ErrorEvent, ToolResultEvent, TurnInput
from bot.backends.draft import Draft
from bot.backends.repetition import Repetition
from bot.errors import ContextOverflow, ModelError, ModelUnavailable
from bot.models.base import ModelClient, ModelProfile, ModelRequest, PromptMessage, ToolCall, Warmable

MAX_STEPS = 50
MIN_OUTPUT = 64  # tokens; asked for even where our estimate leaves nothing, for it is a guess
TOO_LONG = (
    "This conversation has become too long for the model. Begin a new one with /new, or shorten your message."
)
TOO_MANY_STEPS = (
    "I stopped after {steps} steps without coming to an end. Ask for less at a time, or try again."
)
TRY_AGAIN = "{cause} Please try again in a while."


class Steps:
    """Takes a turn step by step; one instance a turn. What it raises of model errors ends the turn.

    Args:
        model: The provider's name of the model, where the turn names none.
        max_steps: Model calls of the turn.
        deadline: When the turn has to be over, on the clock of `time.monotonic`.
    """

    def __init__(
        self, turn: TurnInput, client: ModelClient, *, model: str, max_steps: int, deadline: float
    ) -> None:
        self._turn = turn
        self._client = client
        self._model = turn.model or model
        self._max_steps = max_steps
        self._left = max_steps
        self._may_call = True
        self._deadline = deadline
        self._draft = Draft(turn)
        self._repetition = Repetition()

    @property
    def is_over(self) -> bool:
        """A tool has given the answer."""
        return self._draft.is_over

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """What the model wants done since it was sampled; none where an answer was due."""
        return self._draft.calls() if self._may_call else ()

    async def sample(self) -> AsyncGenerator[AgentEvent, None]:
        """Ask the model, and pass on what it says.

        Raises:
            ModelError: There is no answer, or it was not to be asked.
        """
        self._left -= 1
        self._may_call = self._left > 0 and not self._repetition.is_hopeless
        draft, shortening, was_refused = self._draft, self._turn.shortening, False
        draft.refit(await shortening.fit(draft.messages, tokens=draft.prompt_tokens))
        while True:
            request = await self._turn.oversight.look(self._request(), draft.next_number())
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

    def _request(self) -> ModelRequest:
        turn, draft, profile = self._turn, self._draft, self._client.profile
        room = min(turn.max_output or profile.max_output, profile.window - draft.prompt_tokens)
        return ModelRequest(
            model=self._model,
            messages=draft.messages,
            max_completion_tokens=max(MIN_OUTPUT, room),
            tools=turn.tools.schemas,
            may_call=self._may_call,
            deadline=self._deadline,
        )

    async def carry_out(self) -> list[ToolResultEvent]:
        """Carry out the calls; the results come in their order."""
        calls, repetition, steering = self.calls, self._repetition, self._turn.steering
        repetition.note(calls)
        if repetition.is_told:
            return repetition.results(calls)
        return await self._turn.tools.call_all(calls, should_skip=lambda: steering.is_waiting)

    async def go_on(self, results: Sequence[ToolResultEvent]) -> None:
        """Put what came of the calls, and what people have said meanwhile, into the prompt."""
        self._draft.next_step(results)
        self._draft.hear(await self._turn.steering.take())

    def ending(self) -> Iterator[AgentEvent]:
        """The last events of a turn that no error has ended."""
        draft = self._draft
        if (replacement := draft.replacement()) is not None:
            yield replacement
        if self._left > 0 or draft.has_answer:
            yield draft.last_word()
        else:
            yield ErrorEvent(content=TOO_MANY_STEPS.format(steps=self._max_steps))


class SteppingBackend:
    """What is the same in all backends that take steps over a model client; each has a `run` of its own.

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

    def steps(self, turn: TurnInput) -> Steps:
        """Begin a turn."""
        deadline = turn.deadline if turn.deadline is not None else self._clock() + self._turn_seconds
        return Steps(turn, self._client, model=self._model, max_steps=self._max_steps, deadline=deadline)

    async def warm(self, messages: tuple[PromptMessage, ...]) -> None:
        """See `Warmable.warm`."""
        if isinstance(self._client, Warmable):
            await self._client.warm(messages)

    async def aclose(self) -> None:
        """See `AgentBackend.aclose`."""
        await self._client.aclose()


def failure(error: ModelError) -> ErrorEvent:
    """The last event of a turn that a model error has ended."""
    return ErrorEvent(content=explain(error), is_overflow=isinstance(error, ContextOverflow))


def explain(error: ModelError) -> str:
    """What a person is told of a model call that failed."""
    match error:
        case ContextOverflow():
            return TOO_LONG
        case ModelUnavailable():
            return TRY_AGAIN.format(cause=error)
        case _:
            return str(error)
