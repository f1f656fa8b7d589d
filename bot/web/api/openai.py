"""`/v1`: the agent as OpenAI's clients know a model."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Annotated, Any, Final

import msgspec
from fastapi import APIRouter, Header
from starlette.responses import JSONResponse, Response, StreamingResponse

from bot.messages import Chunk, End, InboundMessage, Missed, TokenUsage, new_id
from bot.web.api.access import Ports, Talker
from bot.web.api.asking import ask, message_of
from bot.web.api.base import Caller, Parts, RunState
from bot.web.api.bodies import ChatName
from bot.web.api.completions import (
    ChatRequest,
    OpenAIFault,
    Said,
    Unfit,
    Usage,
    chunk_body,
    completion_body,
    error_body,
    last_message,
    usage_body,
    whole_talk,
)
from bot.web.api.feed import Entry
from bot.web.api.following import follow_run
from bot.web.api.runs import STREAM, STREAM_HEADERS

MODEL: Final = "switchboard"
FAILED: Final = 424  # the run has failed, not the request; OpenAI's clients try what is 5xx again, all of it
RUN_FAILED: Final = "run_failed"

router = APIRouter(tags=["openai"], responses={"4XX": {"model": OpenAIFault}, "5XX": {"model": OpenAIFault}})

SessionName = Annotated[
    ChatName | None,
    Header(alias="X-Session", description="Which conversation goes on; its history is the bot's."),
]
UserName = Annotated[str | None, Header(alias="X-User", max_length=200, description="As `user` in the body.")]
Again = Annotated[str | None, Header(alias="Idempotency-Key", max_length=200)]
AS_OPENAI: Final[dict[int | str, dict[str, Any]]] = {  # `Any`: what FastAPI takes
    200: {
        "content": {
            "application/json": {"schema": {"type": "object"}},
            STREAM: {},  # a schema would be that of one event, which OpenAPI 3.1 has no word for
        }
    }
}


@router.get("/v1/models", responses={200: {"content": {"application/json": {"schema": {"type": "object"}}}}})
async def list_models(caller: Talker, parts: Ports) -> dict[str, object]:
    """The one model that there is: the agent."""
    model = {"id": MODEL, "object": "model", "created": 0, "owned_by": parts.name}
    return {"object": "list", "data": [model]}


@router.post("/v1/chat/completions", response_class=Response, responses=AS_OPENAI)
async def complete(
    body: ChatRequest,
    caller: Talker,
    parts: Ports,
    session: SessionName = None,
    user: UserName = None,
    key: Again = None,
) -> Response:
    """Have the agent answer a conversation.

    With `X-Session` or a user, the conversation goes on: the bot has its history, and only the last message
    is taken. Without, it is that of the request, and nothing is remembered. Model and sampling parameters
    are the bot's own.
    """
    try:
        message = _message(body, caller, session, user or body.user, key)
    except Unfit as error:
        return JSONResponse(error_body(str(error), "invalid_request_error"), 400)
    parts.feed.open()
    asked = await ask(parts, message)
    state = await parts.runs.find(asked.run)
    if state is None:
        state = RunState(run=asked.run, session=message.session, status="queued")
    if body.stream:
        return StreamingResponse(_stream(body, parts, state), media_type=STREAM, headers=STREAM_HEADERS)
    return await _whole(body, parts, state)


def _message(
    body: ChatRequest, caller: Caller, session: str | None, user: str | None, key: str | None
) -> InboundMessage:
    if session is None and not user:
        return message_of(caller, whole_talk(body), chat=f"once-{new_id()}", key=key)
    return message_of(caller, last_message(body), chat=session or "user", user=user or None, key=key)


async def _whole(body: ChatRequest, parts: Parts, state: RunState) -> Response:
    usage = Usage()
    async with aclosing(follow_run(parts, state)) as news:
        async for one in news:
            match one:
                case Entry(_, TokenUsage() as event):
                    usage.add(event)
                case Entry(_, End(reason=reason, text=text)) | RunState(status=reason, text=text):
                    if reason == "error":
                        return JSONResponse(error_body(text, RUN_FAILED), FAILED)
                    return JSONResponse(completion_body(body, state.run, text, usage))
    return JSONResponse(error_body("the bot is shutting down", "server_error"), 503)


async def _stream(body: ChatRequest, parts: Parts, state: RunState) -> AsyncIterator[bytes]:
    said, usage, run = Said(), Usage(), state.run
    yield _line(chunk_body(body, run, {"role": "assistant", "content": ""}))
    async with aclosing(follow_run(parts, state)) as news:
        async for one in news:
            match one:
                case None:
                    yield b": still here\n\n"
                case Entry(_, Missed()):
                    said.lose()
                case Entry(_, TokenUsage() as event):
                    usage.add(event)
                case Entry(_, Chunk(text=text, replaces=replaces)):
                    if more := said.grow(text, replaces=replaces):
                        yield _line(chunk_body(body, run, {"content": more}))
                case Entry(_, End(reason="error", text=text)) | RunState(status="error", text=text):
                    yield _line(error_body(text, RUN_FAILED))
                    return
                case Entry(_, End(text=text)) | RunState(text=text):
                    if more := said.end(text):
                        yield _line(chunk_body(body, run, {"content": more}))
                    yield _line(chunk_body(body, run, {}, "stop"))
    if body.stream_options is not None and body.stream_options.include_usage:
        yield _line(usage_body(body, run, usage))
    yield b"data: [DONE]\n\n"


def _line(body: dict[str, Any]) -> bytes:  # `Any`: JSON
    return b"data: %s\n\n" % msgspec.json.encode(body)
