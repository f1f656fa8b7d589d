"""Chat completions as OpenAI's clients write and read them; pure, without the web around it.

Source: OpenAI API reference, "Create chat completion" and "The chat completion chunk object".
"""

import time
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from bot.messages import TokenUsage
from bot.web.api.bodies import MAX_TEXT

MAX_MESSAGES: Final = 1_000
TITLES: Final = {  # plain words: what looks like a prompt inside a message looks like an attack to guards
    "system": "Application",
    "developer": "Application",
    "user": "Person",
    "assistant": "Answer",
    "tool": "Result",
    "function": "Result",
}
TALK: Final = "[What was said before]\n{before}\n\n[What is asked now]\n{now}"

Role: TypeAlias = Literal["system", "developer", "user", "assistant", "tool", "function"]


class _Lenient(BaseModel):
    """Clients send more than we know of."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class TextPart(_Lenient):
    """A part of a message."""

    type: Literal["text", "input_text"]
    text: str


class ChatMessage(_Lenient):
    """A message of the conversation; of the content, text is taken."""

    role: Role
    content: str | list[TextPart] | None = None

    @property
    def text(self) -> str:
        """The content, as one text."""
        match self.content:
            case None:
                return ""
            case str(text):
                return text
            case parts:
                return "\n".join(part.text for part in parts)


class StreamOptions(_Lenient):
    """What a stream has beside the answer."""

    include_usage: bool = False


class ChatRequest(_Lenient):
    """A request for a chat completion; sampling parameters are the bot's own, and passed over."""

    model: Annotated[str, StringConstraints(min_length=1, max_length=200)] = "switchboard"
    messages: Annotated[list[ChatMessage], Field(min_length=1, max_length=MAX_MESSAGES)]
    stream: bool = False
    stream_options: StreamOptions | None = None
    n: Annotated[int, Field(ge=1, le=1)] = 1
    user: Annotated[str, StringConstraints(max_length=200)] | None = None


class OpenAIError(BaseModel):
    """What went wrong."""

    message: str
    type: str
    param: str | None
    code: str | None


class OpenAIFault(BaseModel):
    """Why there is no completion, as OpenAI's clients read it."""

    error: OpenAIError


class Unfit(ValueError):
    """A request that can't be answered; the text says why."""


def last_message(request: ChatRequest) -> str:
    """What the person says now, for a session that knows what came before.

    Raises:
        Unfit: There is nothing.
    """
    last = request.messages[-1]
    if last.role != "user" or not last.text.strip():
        raise Unfit("the last message has to be the user's, with text in it")
    return _checked(last.text)


def whole_talk(request: ChatRequest) -> str:
    """The whole conversation as one message, for a session that begins with it.

    Raises:
        Unfit: There is nothing to answer, or it is too long.
    """
    said = last_message(request)
    before = [message for message in request.messages[:-1] if message.text.strip()]
    if not before:
        return said
    lines = [f"{TITLES[message.role]}: {message.text}" for message in before]
    return _checked(TALK.format(before="\n\n".join(lines), now=said))


def _checked(text: str) -> str:
    if len(text) > MAX_TEXT:
        raise Unfit(f"the conversation has {len(text)} characters, and {MAX_TEXT} are taken")
    return text


class Usage:
    """Adds up the tokens of a run."""

    def __init__(self) -> None:
        self.prompt = self.completion = self.cached = 0

    def add(self, event: TokenUsage) -> None:
        """One more model call."""
        self.prompt += event.prompt
        self.completion += event.completion
        self.cached += event.cached

    def body(self) -> dict[str, object]:
        """As a completion has it."""
        return {
            "prompt_tokens": self.prompt,
            "completion_tokens": self.completion,
            "total_tokens": self.prompt + self.completion,
            "prompt_tokens_details": {"cached_tokens": self.cached},
        }


class Said:
    """What of an answer was sent already: a stream can't take anything back.

    Where the answer begins anew, or a piece of it was missed, the rest waits for the end, which has all.
    """

    def __init__(self) -> None:
        self._sent = ""
        self._is_broken = False

    def grow(self, text: str, *, replaces: bool) -> str:
        """What is to be sent of a chunk."""
        if replaces and self._sent:
            self._is_broken = not text.startswith(self._sent)
            text = text.removeprefix(self._sent)
        if self._is_broken:
            return ""
        self._sent += text
        return text

    def lose(self) -> None:
        """A piece is missing."""
        self._is_broken = True

    def end(self, text: str) -> str:
        """What is to be sent at the end, given the whole answer."""
        if text.startswith(self._sent):
            return text[len(self._sent) :]
        return f"\n\n{text}"


def completion_body(request: ChatRequest, run: str, text: str, usage: Usage) -> dict[str, Any]:  # JSON
    """A whole completion."""
    message = {"role": "assistant", "content": text, "refusal": None}
    choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
    return {**_head(request, run, "chat.completion"), "choices": [choice], "usage": usage.body()}


def chunk_body(
    request: ChatRequest, run: str, delta: dict[str, str], finish: str | None = None
) -> dict[str, Any]:  # JSON
    """A piece of one."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
    return {**_head(request, run, "chat.completion.chunk"), "choices": [choice]}


def usage_body(request: ChatRequest, run: str, usage: Usage) -> dict[str, Any]:  # JSON
    """The last piece, where it was asked for."""
    return {**_head(request, run, "chat.completion.chunk"), "choices": [], "usage": usage.body()}


def error_body(text: str, kind: str, code: str | None = None) -> dict[str, object]:
    """Why there is none."""
    return {"error": {"message": text, "type": kind, "param": None, "code": code}}


def _head(request: ChatRequest, run: str, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{run}", "object": kind, "created": int(time.time()), "model": request.model}
