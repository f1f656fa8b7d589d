"""`/api/agent`: a message in, a run out; and waiting for it."""

import asyncio
import time
from typing import Final

from fastapi import APIRouter, HTTPException

from bot.messages import End, RunId
from bot.web.api.access import Looker, Ports, Talker, check_sight
from bot.web.api.asking import ask, message_of
from bot.web.api.base import Caller, Parts, RunState
from bot.web.api.bodies import AgentAccepted, AgentRequest, WaitRequest, WaitResult, moment

NO_RUN: Final = "there is no such run, or it is not yours to see"

router = APIRouter(tags=["agent"])


@router.post("/api/agent", status_code=202)
async def post_message(body: AgentRequest, caller: Talker, parts: Ports) -> AgentAccepted:
    """Hand the agent a message; comes back at once."""
    message = message_of(caller, body.message, chat=body.session, user=body.user, key=body.idempotency_key)
    parts.feed.open()  # so that whoever asks for the run in a moment sees it from its beginning
    asked = await ask(parts, message)
    return AgentAccepted(run_id=asked.run, accepted_at=message.received_at, session=message.session)


@router.post("/api/agent/wait", response_model_exclude_none=True)
async def wait_for_run(body: WaitRequest, caller: Looker, parts: Ports) -> WaitResult:
    """Wait until a run is over, or for so long; the run does not notice."""
    run = RunId(body.run_id)
    with parts.feed.watch(run) as watch:
        state = await find_run(parts, caller, run)
        if state.is_over:
            return _result(state)
        try:
            async with asyncio.timeout(body.timeout_ms / 1000):
                async for entry in watch:
                    if isinstance(entry.item, End):
                        return _result(await _after(parts, state, entry.item))
        except TimeoutError:
            pass
    return WaitResult(status="timeout", started_at=moment(state.started_at))


async def find_run(parts: Parts, caller: Caller, run: RunId) -> RunState:
    """How a run stands.

    Raises:
        HTTPException: There is none that this caller may see.
    """
    state = await parts.runs.find(run)
    if state is None:
        raise HTTPException(404, NO_RUN)
    check_sight(caller, state.session)
    return state


async def _after(parts: Parts, before: RunState, end: End) -> RunState:
    """The state behind an end; where that could not be saved, what the end says."""
    state = await parts.runs.find(before.run)
    if state is not None and state.is_over and (state.text or not end.text):
        return state
    return RunState(
        run=before.run,
        session=before.session,
        status=end.reason,
        started_at=before.started_at,
        ended_at=time.time(),
        text=end.text,
    )


def _result(state: RunState) -> WaitResult:
    is_ok = state.status in ("done", "silent")
    return WaitResult(
        status="ok" if is_ok else "error",
        started_at=moment(state.started_at),
        ended_at=moment(state.ended_at),
        error=None if is_ok else state.text or state.status,
        text=state.text,
    )
