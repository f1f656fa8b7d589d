"""`/api/sessions` and `/api/messages`: what was said."""

from typing import Annotated

from fastapi import APIRouter, Query

from bot.messages import SessionKey
from bot.web.api.access import Looker, Ports, check_sight
from bot.web.api.bodies import MessageBody, MessageList, SessionBody, SessionList

router = APIRouter(tags=["sessions"])

Most = Annotated[int, Query(ge=1, le=500)]
Key = Annotated[str, Query(min_length=1, max_length=500)]


@router.get("/api/sessions")
async def list_sessions(
    caller: Looker, parts: Ports, before: float | None = None, limit: Most = 50
) -> SessionList:
    """The sessions that this caller may see, the newest first."""
    prefix = "" if caller.may("read") else caller.prefix
    found = await parts.runs.sessions(prefix=prefix, before=before, limit=limit)
    more = found[-1].updated_at if len(found) == limit else None
    return SessionList(sessions=[SessionBody.of(state) for state in found], next=more)


@router.get("/api/messages")
async def list_messages(
    session: Key,
    caller: Looker,
    parts: Ports,
    before: Annotated[int | None, Query(ge=1, le=2**53)] = None,
    limit: Most = 50,
) -> MessageList:
    """The newest lines of a session, or the newest before a number; the oldest first."""
    check_sight(caller, SessionKey(session))
    lines = await parts.transcript.recent(SessionKey(session), before=before, limit=limit)
    more = lines[0].number if lines and lines[0].number > 1 else None
    return MessageList(messages=[MessageBody.of(line) for line in lines], before=more)
