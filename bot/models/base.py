"""What a model client takes and gives, whatever server is behind it."""

from collections.abc import AsyncGenerator
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from bot.messages import Frozen


class FunctionCall(Frozen, frozen=True, kw_only=True):
    """The name of a tool and its arguments, JSON as the model wrote it."""

    name: str
    arguments: str


class ToolCall(Frozen, frozen=True, kw_only=True, omit_defaults=False):
    """A tool call in the shape of the chat completions API."""

    id: str
    function: FunctionCall
    type: Literal["function"] = "function"


class Picture(Frozen, frozen=True, kw_only=True):
    """A picture for a model to look at: the bytes of the file, and its size in pixels where it is known."""

    mime: str
    data: bytes
    width: int = 0
    height: int = 0


class PromptMessage(Frozen, frozen=True, kw_only=True):
    """One message of a prompt, encoded to JSON as it stands, unless it has pictures.

    Attributes:
        pictures: Only in messages of the role `user`.

    Source: OpenAI API reference, Chat Completions, `messages`.
    """

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    pictures: tuple[Picture, ...] = ()


class ToolSchema(Frozen, frozen=True, kw_only=True):
    """A tool as a model sees it; `parameters` is a JSON schema, already encoded."""

    name: str
    description: str
    parameters: bytes


class ModelProfile(Frozen, frozen=True, kw_only=True):
    """What the prompt has to know of the model it is for.

    Attributes:
        window: Tokens of prompt and answer together.
        max_output: The most tokens to ask for in one answer.
        compact: The prompt must be short (a small model on this machine).
        sees: It takes pictures.
    """

    window: int
    max_output: int
    compact: bool = False
    sees: bool = False


class ModelRequest(Frozen, frozen=True, kw_only=True):
    """One model call.

    Attributes:
        model: The server's name for the model.
        messages: The prompt, oldest first.
        max_completion_tokens: What is left of the window for the answer.
        may_call: False where an answer is due: the tools are still shown, so that the prompt begins the same.
        deadline: When the answer is of no use any more, on the clock of `time.monotonic`.
    """

    model: str
    messages: tuple[PromptMessage, ...]
    max_completion_tokens: int
    tools: tuple[ToolSchema, ...] = ()
    may_call: bool = True
    deadline: float | None = None


class TextDelta(Frozen, frozen=True, kw_only=True):
    """More of the answer."""

    text: str


class ReasoningDelta(Frozen, frozen=True, kw_only=True):
    """More of the model's reasoning; not part of the answer."""

    text: str


class RefusalDelta(Frozen, frozen=True, kw_only=True):
    """More of a refusal, which the provider tells apart from an answer."""

    text: str


class CompleteToolCall(Frozen, frozen=True, kw_only=True):
    """A tool call whose pieces have all come."""

    call: ToolCall


class Usage(Frozen, frozen=True, kw_only=True):
    """Tokens of one call; `cached` are those of the prompt the provider had kept."""

    model: str
    prompt: int
    completion: int
    cached: int = 0


class Restart(Frozen, frozen=True, kw_only=True):
    """The call failed and begins again: all text given so far is void.

    Attributes:
        model: The model of the next try.
        attempt: Counts the tries of this call, from 2.
        wait: Seconds until the next try.
        cause: What failed, in a few words.
    """

    model: str
    attempt: int
    wait: float
    cause: str


class Finish(Frozen, frozen=True, kw_only=True):
    """The last word of a call: `stop`, `length`, `tool_calls`, `content_filter` or the server's own."""

    reason: str


ModelEvent: TypeAlias = (
    TextDelta | ReasoningDelta | RefusalDelta | CompleteToolCall | Usage | Restart | Finish
)


class ModelClient(Protocol):
    """Streams the answer to a request from one server."""

    @property
    def profile(self) -> ModelProfile:
        """The model's limits."""

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Sample once; the last event is a `Finish`. Who stops before it closes the generator.

        Raises:
            ModelUnavailable: Worth another try.
            ModelError: Not worth one.
        """

    async def aclose(self) -> None:
        """Let go of connections and child processes."""


@runtime_checkable
class Warmable(Protocol):
    """A client that answers sooner when it has seen how prompts begin."""

    async def warm(self, messages: tuple[PromptMessage, ...]) -> None:
        """Get ready for prompts that begin with `messages`.

        Raises:
            ModelError: The model does not run.
        """
