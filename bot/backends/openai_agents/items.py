"""What was said and called, in the shapes of the SDK, which are those of the Responses API."""

import time

from agents import ModelResponse, Usage
from agents.items import TResponseOutputItem
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

from bot.messages import new_id
from bot.models.base import ToolCall


def output_items(said: str, calls: tuple[ToolCall, ...]) -> list[TResponseOutputItem]:
    """The output of a model call; an answer of no words is a message, too, for the loop to end with."""
    items: list[TResponseOutputItem] = []
    if said or not calls:
        text = ResponseOutputText(type="output_text", text=said, annotations=[])
        items.append(
            ResponseOutputMessage(
                id=f"msg_{new_id()}", type="message", role="assistant", status="completed", content=[text]
            )
        )
    items += [
        ResponseFunctionToolCall(
            type="function_call",
            call_id=call.id,
            name=call.function.name,
            arguments=call.function.arguments,
            status="completed",
        )
        for call in calls
    ]
    return items


def whole_response(output: list[TResponseOutputItem]) -> ModelResponse:
    """The output as the answer to a call that was not streamed."""
    return ModelResponse(output=output, usage=Usage(requests=1), response_id=None)


def completed(output: list[TResponseOutputItem]) -> ResponseCompletedEvent:
    """The last event of a streamed call, the only one that the loop needs."""
    response = Response(
        id=f"resp_{new_id()}",
        created_at=time.time(),
        model="",
        object="response",
        output=output,
        parallel_tool_calls=True,
        tool_choice="auto",
        tools=[],
    )
    return ResponseCompletedEvent(type="response.completed", response=response, sequence_number=0)
