"""`/api/schedules`: what is to be done later, by chat and number."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, TypeAlias

from fastapi import APIRouter, HTTPException, Query

from bot.messages import SessionKey
from bot.scheduler.planner import Asking
from bot.scheduler.schedules import Schedule
from bot.scheduler.timing import ScheduleFault
from bot.web.api.access import Looker, Ports, Steerer, Talker
from bot.web.api.asking import message_of
from bot.web.api.base import Caller
from bot.web.api.bodies import Done, ScheduleBody, ScheduleList, ScheduleRequest

router = APIRouter(tags=["schedules"])

Change: TypeAlias = Callable[[Asking, int], Awaitable[Schedule]]
Chat = Annotated[str, Query(min_length=1, max_length=500)]


@router.get("/api/schedules")
async def list_schedules(caller: Looker, parts: Ports, chat: Chat | None = None) -> ScheduleList:
    """The schedules of a chat, or all that this caller may see; what comes next is first."""
    listed = await parts.planner.listed(None if chat is None else SessionKey(chat))
    shown = [one for one in listed if caller.may_see(one.schedule.chat)]
    return ScheduleList(schedules=[ScheduleBody.listed(one) for one in shown])


@router.post("/api/schedules", status_code=201)
async def add_schedule(body: ScheduleRequest, caller: Talker, parts: Ports) -> ScheduleBody:
    """Have the agent do something later, in one of the caller's conversations."""
    message = message_of(caller, body.text, chat=body.session)
    with _faults():
        timing = parts.planner.read(body.when, zone=body.zone)
        schedule = await parts.planner.add(message, timing, body.text, zone=body.zone)
    return ScheduleBody.of(schedule)


@router.post("/api/schedules/{number}/pause")
async def pause_schedule(number: int, chat: Chat, caller: Steerer, parts: Ports) -> ScheduleBody:
    """Let a schedule rest."""
    return ScheduleBody.of(await _change(parts.planner.pause, caller, chat, number))


@router.post("/api/schedules/{number}/resume")
async def resume_schedule(number: int, chat: Chat, caller: Steerer, parts: Ports) -> ScheduleBody:
    """Let a paused schedule go on."""
    return ScheduleBody.of(await _change(parts.planner.resume, caller, chat, number))


@router.delete("/api/schedules/{number}")
async def delete_schedule(number: int, chat: Chat, caller: Steerer, parts: Ports) -> Done:
    """Forget a schedule for good."""
    await _change(parts.planner.delete, caller, chat, number)
    return Done()


async def _change(change: Change, caller: Caller, chat: str, number: int) -> Schedule:
    is_operator = caller.may("operate")
    if not is_operator and not chat.startswith(caller.prefix):
        raise HTTPException(404, f"this chat has no schedule {number}")
    with _faults():
        return await change(Asking(chat=SessionKey(chat), person=caller.actor, is_admin=is_operator), number)


@contextmanager
def _faults() -> Iterator[None]:
    try:
        yield
    except ScheduleFault as fault:
        raise HTTPException(400, str(fault)) from fault
