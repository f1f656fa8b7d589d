"""`/api/pairings`: who waits to be let in, and letting them in."""

from typing import Annotated

from fastapi import APIRouter, HTTPException, Query
from msgspec.structs import replace
from starlette.responses import Response

from bot.errors import BotError
from bot.messages import Role, encoder
from bot.web.api.access import Admin, Operator, Ports
from bot.web.api.operating import AS_JSON, AS_LIST

router = APIRouter(tags=["pairings"])


@router.get("/api/pairings", response_class=Response, responses=AS_LIST)
async def show_waiting(caller: Operator, parts: Ports) -> Response:
    """Who waits to be let in, without the codes."""
    waiting = [replace(one, code="", message=None) for one in await parts.doors.waiting()]
    return Response(encoder.encode(waiting), media_type="application/json")


@router.post("/api/pairings/{code}", response_class=Response, responses=AS_JSON)
async def let_in(
    code: str,
    caller: Admin,
    parts: Ports,
    role: Annotated[Role | None, Query(description="As what; default: as their request has it.")] = None,
) -> Response:
    """Let in who waits with a code."""
    try:
        done = await parts.doors.let_in(code, role)
    except BotError as error:
        raise HTTPException(404, str(error)) from error
    content = encoder.encode(replace(done, request=replace(done.request, code="")))
    return Response(content, media_type="application/json")
