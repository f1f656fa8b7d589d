"""The contract between the turn and whatever answers it."""

from collections.abc import AsyncIterator, Callable, Sequence
from enum import Flag, auto
from typing import ClassVar, Literal, Protocol, TypeAlias

import msgspec

from bot.messages import Attachment, Button, Frozen, RunId, SessionKey
from bot.models.base import ModelProfile, ModelRequest, Picture, PromptMessage, ToolCall, ToolSchema


class Capability(Flag):
    """What a backend can do."""

    STREAMING = auto()
    TOOLS = auto()
    OWN_TOOLS = auto()
    MCP = auto()
    MULTI_TURN = auto()
    STEERING = auto()


class MessageEvent(Frozen, frozen=True, kw_only=True):
    """More of the answer; with `replaces`, in place of all that came before it in this turn."""

    type: ClassVar[Literal["message"]] = "message"
    content: str
    replaces: bool = False


class ThinkingEvent(Frozen, frozen=True, kw_only=True):
    """More of the reasoning."""

    type: ClassVar[Literal["thinking"]] = "thinking"
    content: str


class ToolUseEvent(Frozen, frozen=True, kw_only=True):
    """A tool is about to run."""

    type: ClassVar[Literal["tool_use"]] = "tool_use"
    call: ToolCall


class ToolResultEvent(Frozen, frozen=True, kw_only=True):
    """A tool has run; `content` is what the model gets to see of it.

    Attributes:
        attachments: Files that go out with the answer.
        pictures: What the model is to look at.
        is_final: The content is the answer: the turn ends with it.
        has_spoken: The tool itself has told the person, in their chat.
        rounds: Later turns in which the model still sees it.
    """

    type: ClassVar[Literal["tool_result"]] = "tool_result"
    call: ToolCall
    content: str
    status: Literal["ok", "error"] = "ok"
    attachments: tuple[Attachment, ...] = ()
    pictures: tuple[Picture, ...] = ()
    is_final: bool = False
    has_spoken: bool = False
    rounds: int = 0


class TokenUsageEvent(Frozen, frozen=True, kw_only=True):
    """Tokens of one model call."""

    type: ClassVar[Literal["token_usage"]] = "token_usage"
    model: str
    prompt: int
    completion: int
    cached: int = 0


class RetryEvent(Frozen, frozen=True, kw_only=True):
    """A model call is tried again; the text it gave is void, and a `MessageEvent` that replaces follows."""

    type: ClassVar[Literal["retry"]] = "retry"
    model: str
    attempt: int
    wait: float
    cause: str


class ErrorEvent(Frozen, frozen=True, kw_only=True):
    """The backend gave up; `content` tells the person why, in words meant for them.

    Attributes:
        is_overflow: The prompt was too long for the model.
    """

    type: ClassVar[Literal["error"]] = "error"
    content: str
    is_overflow: bool = False


class DoneEvent(Frozen, frozen=True, kw_only=True):
    """The answer is whole.

    Attributes:
        reason: The last finish reason of the model.
        attachments: Files on our disk that go with the answer.
        buttons: What can be pressed under it.
    """

    type: ClassVar[Literal["done"]] = "done"
    reason: str = "stop"
    attachments: tuple[Attachment, ...] = ()
    buttons: tuple[Button, ...] = ()


AgentEvent: TypeAlias = (
    MessageEvent
    | ThinkingEvent
    | ToolUseEvent
    | ToolResultEvent
    | TokenUsageEvent
    | RetryEvent
    | ErrorEvent
    | DoneEvent
)


class Tools(Protocol):
    """The tools of one turn: what the model may call, and how a call is carried out."""

    @property
    def schemas(self) -> tuple[ToolSchema, ...]:
        """What is offered to the model."""

    async def call(self, call: ToolCall) -> ToolResultEvent:
        """Carry out one call; a tool that fails is a result with status `error`, never an exception."""

    async def call_all(
        self, calls: Sequence[ToolCall], *, should_skip: Callable[[], bool]
    ) -> list[ToolResultEvent]:
        """Carry out the calls of one step side by side; the results come in the order of the calls.

        Args:
            should_skip: Asked before each call begins; those that find it true are not made.
        """


class NoTools:
    """The tools of a bot that has none: a call to one is answered, not obeyed."""

    schemas: tuple[ToolSchema, ...] = ()

    async def call(self, call: ToolCall) -> ToolResultEvent:
        """Tell the model that the tool does not exist."""
        return ToolResultEvent(call=call, content=f"There is no tool {call.function.name!r}.", status="error")

    async def call_all(
        self, calls: Sequence[ToolCall], *, should_skip: Callable[[], bool]
    ) -> list[ToolResultEvent]:
        """The same for several."""
        return [await self.call(call) for call in calls]


class Steering(Protocol):
    """What people say to a turn while it runs."""

    @property
    def is_waiting(self) -> bool:
        """Whether there is something to take up."""

    async def take(self) -> tuple[PromptMessage, ...]:
        """Take it up, between two steps; what is taken is answered by this turn."""


class NoSteering:
    """A turn that nobody can steer."""

    is_waiting = False

    async def take(self) -> tuple[PromptMessage, ...]:
        """Nothing."""
        return ()


class Shortening(Protocol):
    """Makes a prompt fit that has grown over the steps of a turn."""

    async def fit(
        self, messages: tuple[PromptMessage, ...], *, tokens: int, was_refused: bool = False
    ) -> tuple[PromptMessage, ...]:
        """The prompt, shortened where it has to be.

        Args:
            tokens: About what it takes; a rough guess.
            was_refused: The server has found it too long.

        Raises:
            ModelError: It can't be made to fit.
        """

    def note(self, messages: tuple[PromptMessage, ...], reported: int) -> None:
        """Learn what the server has counted of a prompt."""


class NoShortening:
    """Sends every prompt as it is."""

    async def fit(
        self, messages: tuple[PromptMessage, ...], *, tokens: int, was_refused: bool = False
    ) -> tuple[PromptMessage, ...]:
        """The same."""
        return messages

    def note(self, messages: tuple[PromptMessage, ...], reported: int) -> None:
        """Nothing is learned."""


class Oversight(Protocol):
    """Looks at model calls before they are made."""

    async def look(self, request: ModelRequest, step: int) -> ModelRequest:
        """The request, changed or not; `step` counts the calls of the turn, from 1.

        Raises:
            ModelError: It is not to be made; the person is told the text.
        """


class NoOversight:
    """Lets every call pass."""

    async def look(self, request: ModelRequest, step: int) -> ModelRequest:
        """The same."""
        return request


class TurnInput(Frozen, frozen=True, kw_only=True):
    """What a backend gets to answer one turn.

    Attributes:
        messages: The prompt, system message first, the person's message last.
        prompt_tokens: Our estimate of what `messages` take.
        model: Overrides the model of the settings, for this session.
        deadline: When the turn has to be over, on the clock of `time.monotonic`.
        steering: What is said to it meanwhile.
        shortening: Makes the prompt fit when it has grown too long.
        oversight: Looks at its model calls.
        max_output: The most tokens of an answer, where fewer are wanted than the model can give.
    """

    session: SessionKey
    run: RunId
    messages: tuple[PromptMessage, ...]
    prompt_tokens: int
    tools: Tools
    model: str | None = None
    deadline: float | None = None
    steering: Steering = msgspec.field(default_factory=NoSteering)
    shortening: Shortening = msgspec.field(default_factory=NoShortening)
    oversight: Oversight = msgspec.field(default_factory=NoOversight)
    max_output: int | None = None


class AgentBackend(Protocol):
    """Answers a turn, in events; one instance serves every session."""

    @property
    def capabilities(self) -> Capability:
        """What it can do."""

    @property
    def profile(self) -> ModelProfile:
        """What the prompt has to know."""

    def run(self, turn: TurnInput) -> AsyncIterator[AgentEvent]:
        """Answer a turn: any number of events, then exactly one `ErrorEvent` or `DoneEvent`.

        A failure is an event, too; only bugs raise. Cancelling the reader stops the work behind it.
        """

    async def aclose(self) -> None:
        """Let go of everything."""
