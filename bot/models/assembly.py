"""The pieces of a streamed answer, put together into model events."""

from collections.abc import Sequence
from typing import Final

import msgspec

from bot.errors import ModelUnavailable
from bot.messages import new_id
from bot.models.base import (
    CompleteToolCall,
    Finish,
    FunctionCall,
    ModelEvent,
    ReasoningDelta,
    RefusalDelta,
    TextDelta,
    ToolCall,
    Usage,
)
from bot.models.faults import stream_fault
from bot.models.wire import Chunk, Part, ToolPiece, UsageBody, decode_chunk, decode_chunks

DONE: Final = b"[DONE]"


class Assembler:
    """Takes the chunks of one answer; what came since the last look is given out in one piece.

    Attributes:
        is_over: The server has said that nothing follows.
        finish_reason: Why the model stopped, once it has.
    """

    __slots__ = (
        "_calls",
        "_model",
        "_reasoning",
        "_refusal",
        "_text",
        "_usage",
        "finish_reason",
        "is_over",
    )

    def __init__(self, model: str) -> None:
        self._model = model
        self._text = ""
        self._reasoning = ""
        self._refusal = ""
        self._calls = CallAssembler()
        self._usage: UsageBody | None = None
        self.is_over = False
        self.finish_reason: str | None = None

    def take_all(self, events: Sequence[bytes]) -> None:
        """Take the data of several events: in one go where they are what they mostly are; see `take`."""
        is_last = bool(events) and events[-1] == DONE
        each = events[:-1] if is_last else events
        try:
            chunks = decode_chunks(b"[%b]" % b",".join(each))
        except msgspec.DecodeError:
            chunks = []
        if len(chunks) != len(each):  # something else is among them
            for data in events:
                self.take(data)
            return
        for chunk in chunks:
            self._add_chunk(chunk)
        self.is_over = self.is_over or is_last

    def take(self, data: bytes) -> None:
        """Take the data of one event, or the whole body of an answer that isn't streamed.

        Raises:
            ModelUnavailable: It is not a chunk, or the server says that it failed.
            ModelError: The server says that it refuses.
        """
        if data == DONE:
            self.is_over = True
            return
        if not data:
            return
        try:
            chunk = decode_chunk(data)
        except msgspec.DecodeError as error:
            raise ModelUnavailable("The model server sent something that is not an answer.") from error
        self._add_chunk(chunk)

    def _add_chunk(self, chunk: Chunk) -> None:
        if chunk.error is not None:
            raise stream_fault(chunk.error)
        if chunk.usage is not None:
            self._usage = chunk.usage
            self._model = chunk.model or self._model
        if not chunk.choices:
            return
        choice = chunk.choices[0]
        if choice.finish_reason:
            self.finish_reason = choice.finish_reason
        delta = choice.delta or choice.message
        if delta is None:
            return
        if content := delta.content:
            self._text += content if isinstance(content, str) else _join(content)
        if reasoning := delta.reasoning_content or delta.reasoning:
            self._reasoning += reasoning
        if delta.refusal:
            self._refusal += delta.refusal
        if delta.tool_calls:
            for piece in delta.tool_calls:
                self._calls.add(piece)

    def drain(self) -> list[ModelEvent]:
        """What came since the last time, each kind in one event."""
        events: list[ModelEvent] = []
        if self._reasoning:
            events.append(ReasoningDelta(text=self._reasoning))
            self._reasoning = ""
        if self._text:
            events.append(TextDelta(text=self._text))
            self._text = ""
        if self._refusal:
            events.append(RefusalDelta(text=self._refusal))
            self._refusal = ""
        return events

    def close(self) -> list[ModelEvent]:
        """The end of the answer: tool calls, usage, finish."""
        events = self.drain()
        events += [CompleteToolCall(call=call) for call in self._calls.complete()]
        if (usage := self._usage) is not None:
            details = usage.prompt_tokens_details
            events.append(
                Usage(
                    model=self._model,
                    prompt=usage.prompt_tokens or 0,
                    completion=usage.completion_tokens or 0,
                    cached=details.cached_tokens or 0 if details else 0,
                )
            )
        events.append(Finish(reason=self.finish_reason or "stop"))
        return events


class Draft:
    """A tool call of which pieces have come."""

    __slots__ = ("arguments", "id", "name")

    def __init__(self) -> None:
        self.id = ""
        self.name = ""
        self.arguments = ""

    def add(self, piece: ToolPiece) -> None:
        """Append a piece; a name that is merely said again is not."""
        self.id = self.id or piece.id or ""
        if (function := piece.function) is None:
            return
        if function.name and function.name != self.name:
            self.name += function.name
        if isinstance(function.arguments, str):
            self.arguments += function.arguments
        elif function.arguments is not None:
            self.arguments += msgspec.json.encode(function.arguments).decode()


class CallAssembler:
    """Sorts pieces to their calls, for servers that count them and for those that don't."""

    __slots__ = ("_by_index", "_drafts")

    def __init__(self) -> None:
        self._drafts: list[Draft] = []
        self._by_index: dict[int, Draft] = {}

    def add(self, piece: ToolPiece) -> None:
        """Append a piece to the call it belongs to, or begin a new one."""
        draft = self._find(piece)
        if draft is None or _begins_another(piece, draft):
            draft = Draft()
            self._drafts.append(draft)
        if piece.index is not None:
            self._by_index[piece.index] = draft
        draft.add(piece)

    def _find(self, piece: ToolPiece) -> Draft | None:
        if piece.index is not None:
            return self._by_index.get(piece.index)
        return self._drafts[-1] if self._drafts else None

    def complete(self) -> list[ToolCall]:
        """The calls in the order they began, each under an id of its own."""
        calls: dict[str, ToolCall] = {}
        for draft in self._drafts:
            id_ = draft.id if draft.id and draft.id not in calls else f"call_{new_id().replace('-', '')}"
            function = FunctionCall(name=draft.name, arguments=draft.arguments or "{}")
            calls[id_] = ToolCall(id=id_, function=function)
        return list(calls.values())


def _begins_another(piece: ToolPiece, draft: Draft) -> bool:
    """Whether a piece that would go to `draft` is the first of a new call.

    Some servers send whole calls, all under index 0 or without one: a new id tells them apart, or,
    where there are no ids, a name after arguments that are complete.
    """
    if piece.function is None or not piece.function.name:
        return False
    if piece.id:
        return bool(draft.id) and piece.id != draft.id
    return not draft.id and bool(draft.arguments) and _is_json(draft.arguments)


def _is_json(text: str) -> bool:
    try:
        msgspec.json.decode(text)
    except msgspec.DecodeError:
        return False
    return True


def _join(parts: list[Part]) -> str:
    return "".join(part.text for part in parts if part.type == "text" and part.text)
