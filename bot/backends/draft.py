"""The answer of a turn as it grows over the steps of a backend."""

from collections.abc import Sequence
from typing import assert_never

import msgspec
from msgspec.structs import replace

from bot.agent.estimate import estimate_picture
from bot.backends.base import (
    AgentEvent,
    DoneEvent,
    ErrorEvent,
    MessageEvent,
    RetryEvent,
    ThinkingEvent,
    TokenUsageEvent,
    ToolResultEvent,
    TurnInput,
)
from bot.messages import Attachment, new_id
from bot.models.base import (
    CompleteToolCall,
    Finish,
    ModelEvent,
    PromptMessage,
    ReasoningDelta,
    RefusalDelta,
    Restart,
    TextDelta,
    ToolCall,
    Usage,
)
from bot.models.pictures import keep_newest, show_results

BYTES_PER_TOKEN = 3  # a low guess for Latin text, right for most others: too short an answer beats a refusal
FRAME_TOKENS = 4  # of a message, around its text
PARAGRAPH = "\n\n"  # between what the model says before a tool call and after it
EMPTY = {
    "length": "The tokens ran out before an answer came. Ask for less, or raise BOT_OPENAI__MAX_OUTPUT.",
    "content_filter": "The provider's content filter withheld the answer.",
}
NO_ANSWER = "The model gave no answer. Try again, or ask differently."


class Draft:
    """What was said, called and used so far; one instance a turn.

    Attributes:
        messages: The prompt of the next step.
        prompt_tokens: About what it takes.
    """

    __slots__ = (
        "_attachments",
        "_calls",
        "_failed",
        "_final",
        "_finish",
        "_is_void",
        "_kept",
        "_number",
        "_parts",
        "_replaces",
        "_results",
        "_spoken",
        "_usage",
        "_used_ids",
        "messages",
        "prompt_tokens",
    )

    def __init__(self, turn: TurnInput) -> None:
        self.messages = turn.messages
        self.prompt_tokens = turn.prompt_tokens
        self._kept = ""  # shown by earlier steps
        self._parts: list[str] = []  # shown by this one
        self._replaces = False  # the next message event has to
        self._is_void = False  # text of a try that failed is still on the screen
        self._calls: list[ToolCall] = []
        self._used_ids = {call.id for message in turn.messages for call in message.tool_calls}
        self._usage: Usage | None = None
        self._finish = "stop"
        self._number = 0
        self._results = 0
        self._failed: list[str] = []  # names of tools, a failure each
        self._spoken: list[str] = []  # what tools have told the person
        self._attachments: list[Attachment] = []
        self._final: str | None = None  # the answer, where a tool has given it

    def take(self, event: ModelEvent) -> AgentEvent | None:
        """Take in an event of the model; gives what the turn is to hear of it."""
        match event:
            case TextDelta(text=text) | RefusalDelta(text=text):
                return self._say(text)
            case ReasoningDelta(text=text):
                return ThinkingEvent(content=text)
            case CompleteToolCall(call=call):
                self._calls.append(self._with_own_id(call))
                return None
            case Usage():
                self._usage = event
                return TokenUsageEvent(
                    model=event.model, prompt=event.prompt, completion=event.completion, cached=event.cached
                )
            case Restart():
                return self._begin_again(event)
            case Finish(reason=reason):
                self._finish = reason
                return None
            case _:
                assert_never(event)

    def _say(self, text: str) -> MessageEvent:
        if self._parts and not self._replaces:
            self._parts.append(text)
            return MessageEvent(content=text)
        gap = "" if self._parts else self._gap()
        self._parts.append(text)
        if not self._replaces:
            return MessageEvent(content=gap + text)
        self._replaces = self._is_void = False
        return MessageEvent(content=self._kept + gap + text, replaces=True)

    def _gap(self) -> str:
        return "" if not self._kept or self._kept.endswith(PARAGRAPH) else PARAGRAPH

    def _begin_again(self, event: Restart) -> RetryEvent:
        self._is_void = self._is_void or bool(self._parts)
        self._parts.clear()
        self._calls.clear()
        self._replaces = True
        return RetryEvent(model=event.model, attempt=event.attempt, wait=event.wait, cause=event.cause)

    def correction(self) -> MessageEvent | None:
        """What takes void text off the screen, where a try without text has followed it."""
        if not self._is_void:
            return None
        self._replaces = self._is_void = False
        return MessageEvent(content=self._kept, replaces=True)

    def calls(self) -> tuple[ToolCall, ...]:
        """The calls of this step, in the order in which the model began them."""
        return tuple(self._calls)

    def next_step(self, results: Sequence[ToolResultEvent]) -> None:
        """Put what was said and called, and what came of it, into the prompt."""
        said = "".join(self._parts)
        calls = tuple(map(_with_sound_arguments, self._calls))
        asked = PromptMessage(role="assistant", content=said, tool_calls=calls)
        answers = [
            PromptMessage(role="tool", content=result.content, tool_call_id=result.call.id)
            for result in results
        ]
        shown = show_results([(result.call.function.name, result.pictures) for result in results])
        if shown is not None:
            answers.append(shown)
        self._count(asked, answers)
        self._extend(asked, *answers)
        for result in results:
            self._note(result)
        if said:
            self._kept += self._gap() + said
        self._parts, self._calls, self._usage = [], [], None

    def _count(self, asked: PromptMessage, answers: list[PromptMessage]) -> None:
        """Measure the prompt anew, from what the server has counted if it did."""
        if (usage := self._usage) is not None and usage.prompt:
            self.prompt_tokens = usage.prompt + usage.completion
        else:
            self.prompt_tokens += _guess(asked.content) + sum(
                _guess(call.function.name + call.function.arguments) for call in asked.tool_calls
            )
        self.prompt_tokens += sum(map(_guess_message, answers))

    def _extend(self, *messages: PromptMessage) -> None:
        """Put more into the prompt; older pictures leave it where they would become too many."""
        longer = (*self.messages, *messages)
        self.messages = keep_newest(longer)
        if self.messages is not longer:
            self.prompt_tokens += sum(map(_guess_message, self.messages)) - sum(map(_guess_message, longer))

    def _note(self, result: ToolResultEvent) -> None:
        self._results += 1
        self._attachments += result.attachments
        if result.status == "error":
            self._failed.append(result.call.function.name)
        if result.is_final:
            self._final = result.content
        if result.has_spoken:
            self._spoken.append(_plain(_text_argument(result.call)))

    def next_number(self) -> int:
        """Counts the model calls of the turn, from 1."""
        self._number += 1
        return self._number

    def refit(self, messages: tuple[PromptMessage, ...]) -> None:
        """Go on with another prompt, where it had to be shortened."""
        if messages is not self.messages:
            self.messages = messages
            self.prompt_tokens = sum(map(_guess_message, messages))

    @property
    def reported(self) -> int | None:
        """What the server has counted of the prompt of this step, if it did."""
        return self._usage.prompt if self._usage is not None and self._usage.prompt else None

    def hear(self, messages: tuple[PromptMessage, ...]) -> None:
        """Put into the prompt what people have said meanwhile."""
        self.prompt_tokens += sum(map(_guess_message, messages))
        self._extend(*messages)

    @property
    def is_over(self) -> bool:
        """A tool has given the answer."""
        return self._final is not None

    @property
    def has_answer(self) -> bool:
        """Whether there is something to show, or was shown by a tool."""
        shown = self._kept or "".join(self._parts) or self._final or ""
        return bool(shown.strip() or self._spoken or self._attachments)

    def replacement(self) -> MessageEvent | None:
        """What makes the screen show the end: the answer of a tool, or nothing that was said already."""
        if self._final is not None:
            return MessageEvent(content=self._gap() + self._final)
        said = _plain("".join(self._parts))
        if said and said in self._spoken:
            return MessageEvent(content=self._kept, replaces=True)
        return None

    def last_word(self) -> DoneEvent | ErrorEvent:
        """How the turn ends: answered, or with the reason why not."""
        if self.has_answer:
            return DoneEvent(reason=self._finish, attachments=tuple(self._attachments))
        text = EMPTY.get(self._finish, NO_ANSWER)
        if self._failed:
            names = ", ".join(f"`{name}`" for name in dict.fromkeys(self._failed))
            text += f" ({len(self._failed)} of {self._results} tool calls failed: {names}.)"
        return ErrorEvent(content=text)

    def _with_own_id(self, call: ToolCall) -> ToolCall:
        """Give a call another id if the turn has one of that id: some servers count from 0 at each step."""
        if call.id in self._used_ids:
            call = replace(call, id=f"call_{new_id().replace('-', '')}")
        self._used_ids.add(call.id)
        return call


def _with_sound_arguments(call: ToolCall) -> ToolCall:
    """The call as servers take it back: arguments that are no JSON, cut short mostly, would be refused."""
    try:
        msgspec.json.decode(call.function.arguments)
    except msgspec.DecodeError:
        return replace(call, function=replace(call.function, arguments="{}"))
    return call


def _text_argument(call: ToolCall) -> str:
    """What a messaging tool was asked to say."""
    try:
        arguments = msgspec.json.decode(call.function.arguments)
    except msgspec.DecodeError:
        return ""
    text = arguments.get("text") if isinstance(arguments, dict) else None
    return text if isinstance(text, str) else ""


def _plain(text: str) -> str:
    """A text without what may differ when the same is said again."""
    return " ".join(text.lower().split()).strip(".!")


def _guess_message(message: PromptMessage) -> int:
    pictures = sum(estimate_picture(picture.width, picture.height) for picture in message.pictures)
    return _guess(message.content) + pictures


def _guess(text: str) -> int:
    return len(text.encode(errors="replace")) // BYTES_PER_TOKEN + FRAME_TOKENS
