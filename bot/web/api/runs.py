"""`/api/runs`: how a run stands, what happens in it as it happens, and stopping it."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Final

import msgspec
from fastapi import APIRouter, Header, HTTPException, Request
from fastapi.responses import StreamingResponse
from starlette.responses import Response

from bot.messages import (
    AgentStart,
    Chunk,
    Compaction,
    End,
    Failure,
    Killed,
    LongRunning,
    Missed,
    Retry,
    RunId,
    TakenUp,
    Thinking,
    TokenUsage,
    ToolResult,
    ToolStart,
)
from bot.web.api.access import Looker, Ports, Steerer
from bot.web.api.agent import find_run
from bot.web.api.base import Parts, RunState
from bot.web.api.bodies import Cancelled, RunBody
from bot.web.api.feed import Entry, Item
from bot.web.api.following import follow_run

STREAM: Final = "text/event-stream"
STREAM_HEADERS: Final = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}

router = APIRouter(tags=["runs"])


@router.get(
    "/api/runs/{run}",
    response_model=RunBody,
    responses={200: {"content": {STREAM: {}}}},
)
async def show_run(
    run: str,
    request: Request,
    caller: Looker,
    parts: Ports,
    last_event_id: str | None = Header(default=None, max_length=20),
) -> Response | RunBody:
    """How a run stands; with `Accept: text/event-stream`, what happens in it, up to its end.

    The events are `lifecycle`, `assistant`, `thinking`, `tool`, `usage` and `missed`; each has JSON for its
    data. Whoever comes back with `Last-Event-ID` gets what came after it.
    """
    if STREAM not in request.headers.get("accept", ""):
        return RunBody.of(await find_run(parts, caller, RunId(run)))
    parts.feed.open()
    state = await find_run(parts, caller, RunId(run))
    after = int(last_event_id) if last_event_id and last_event_id.isdecimal() else 0
    return StreamingResponse(_stream(parts, state, after), media_type=STREAM, headers=STREAM_HEADERS)


@router.post("/api/runs/{run}/cancel")
async def cancel_run(run: str, caller: Steerer, parts: Ports) -> Cancelled:
    """Stop a run, as `/kill` does; what was said of the answer is kept."""
    state = await parts.runs.find(RunId(run))
    if state is None or not (caller.may("operate") or state.session.startswith(caller.prefix)):
        raise HTTPException(404, "there is no such run, or it is not yours to stop")
    return Cancelled(cancelled=await parts.bot.cancel(RunId(run), actor=caller.actor))


async def _stream(parts: Parts, state: RunState, after: int) -> AsyncIterator[bytes]:
    yield b": this is the run\n\n"
    grown = Grown()
    async with aclosing(follow_run(parts, state)) as news:
        async for one in news:
            match one:
                case None:
                    yield b": still here\n\n"
                case RunState(status=status, text=text):
                    number = parts.feed.newest
                    if (rest := grown.rest(text)) is not None:
                        yield format_event("assistant", rest, number - 1)
                    yield format_event("lifecycle", _over(status, text), number)
                case Entry(number, item):
                    grown.note(item)
                    rest = grown.rest(item.text) if isinstance(item, End) else None
                    if rest is not None and number - 1 > after:
                        yield format_event("assistant", rest, number - 1)
                    if number > after and (told := describe(item)) is not None:
                        yield format_event(*told, number)


class Grown:
    """What of an answer its pieces show, so that together they are always the whole of it."""

    def __init__(self) -> None:
        self._text = ""
        self._is_whole = True

    def note(self, item: Item) -> None:
        """Take what is told."""
        match item:
            case Chunk(text=text, replaces=replaces):
                self._text = text if replaces else self._text + text
                self._is_whole = self._is_whole or replaces
            case Missed():
                self._is_whole = False

    def rest(self, text: str) -> dict[str, object] | None:
        """The piece that is lacking, given the whole answer; `None` where none is."""
        if self._is_whole and text == self._text:
            return None
        if self._is_whole and text.startswith(self._text):
            return {"delta": text[len(self._text) :], "replaces": False}
        return {"delta": text, "replaces": True}


def format_event(name: str, data: dict[str, object], number: int) -> bytes:
    """An event as it is sent.

    Source: HTML Standard, section 9.2.6, "Interpreting an event stream".
    """
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (number, name.encode(), msgspec.json.encode(data))


def describe(item: Item) -> tuple[str, dict[str, object]] | None:
    """The name and the data of an event for who follows a run; `None` for what is not told."""
    match item:
        case Chunk(text=text, replaces=replaces):
            return "assistant", {"delta": text, "replaces": replaces}
        case End(reason=reason, text=text):
            return "lifecycle", _over(reason, text)
        case Thinking(text=text):
            return "thinking", {"text": text}
        case ToolStart(call_id=id_, name=name, arguments=arguments):
            return "tool", {"phase": "start", "callId": id_, "name": name, "arguments": arguments}
        case ToolResult(call_id=id_, name=name, status=status, preview=preview):
            return "tool", {
                "phase": "result",
                "callId": id_,
                "name": name,
                "status": status,
                "preview": preview,
            }
        case TokenUsage(model=model, prompt=prompt, completion=completion, cached=cached):
            return "usage", {"model": model, "prompt": prompt, "completion": completion, "cached": cached}
        case Missed(count=count):
            return "missed", {"count": count}
        case _:
            phase = _phase(item)
            return None if phase is None else ("lifecycle", phase)


def _phase(item: Item) -> dict[str, object] | None:
    match item:
        case AgentStart(attempt=attempt):
            return {"phase": "start", "attempt": attempt}
        case Retry(model=model, wait=wait, cause=cause):
            return {"phase": "retry", "model": model, "wait": wait, "cause": cause}
        case Compaction(phase=phase):
            return {"phase": f"compaction_{phase}"}
        case TakenUp(by=by):
            return {"phase": "taken_up", "by": by}
        case LongRunning(stage=stage, seconds=seconds):
            return {"phase": "long_running", "stage": stage, "seconds": seconds}
        case Killed(by=by):
            return {"phase": "killed", "by": by}
        case Failure(reference=reference):
            return {"phase": "failure", "reference": reference}
        case _:
            return None


def _over(reason: str, text: str) -> dict[str, object]:
    return {"phase": "error" if reason == "error" else "end", "reason": reason, "text": text}
