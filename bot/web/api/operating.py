"""What an operator asks a running bot: its status, the journal, the audit log, the metrics."""

import asyncio
from collections import deque
from datetime import datetime
from fnmatch import fnmatchcase
from itertools import islice
from typing import Annotated, Any, Final, TypeAlias

from fastapi import APIRouter, HTTPException, Query
from starlette.responses import Response

from bot.agent.audit import AuditEntry, Severity
from bot.errors import StoreError
from bot.messages import RunId, encoder
from bot.web.api.access import Admin, Operator, Ports, Reader
from bot.web.api.base import AuditBook
from bot.web.api.bodies import AuditBody, AuditList, Done

router = APIRouter(tags=["operating"])

AUDIT_SECONDS: Final = 30.0
GRAVE: Final[tuple[Severity, ...]] = ("info", "warning", "critical", "alert")
Responses: TypeAlias = dict[int | str, dict[str, Any]]  # `Any`: what FastAPI takes
AS_JSON: Final[Responses] = {200: {"content": {"application/json": {"schema": {"type": "object"}}}}}
AS_LIST: Final[Responses] = {
    200: {"content": {"application/json": {"schema": {"type": "array", "items": {"type": "object"}}}}}
}
AS_TEXT: Final[Responses] = {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}

Pattern = Annotated[
    str | None, Query(max_length=200, description="The whole of it; * and ? stand for others.")
]


@router.get("/api/status", response_class=Response, responses=AS_JSON)
async def show_status(caller: Reader, parts: Ports) -> Response:
    """What the bot is doing: turns, sessions, channels."""
    return _as_kept(parts.bot.status())


@router.get("/api/journal", response_class=Response, responses=AS_LIST)
async def show_journal(caller: Reader, parts: Ports) -> Response:
    """Accepted messages that are not done, the oldest first."""
    return _as_kept(await parts.bot.unfinished())


@router.post("/api/journal/{run}/retry")
async def retry(run: str, caller: Operator, parts: Ports) -> Done:
    """Run a parked message again."""
    try:
        await parts.bot.retry(RunId(run))
    except StoreError as error:
        raise HTTPException(404, str(error)) from error
    await parts.note(caller, "journal retry", run)
    return Done(status="queued")


@router.get("/api/audit")
async def show_audit(
    caller: Admin,
    parts: Ports,
    actor: Pattern = None,
    action: Pattern = None,
    session: Pattern = None,
    severity: Annotated[Severity | None, Query(description="This one, and graver ones.")] = None,
    since: datetime | None = None,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
) -> AuditList:
    """The newest events of the audit log that match all that is asked for."""

    def matches(entry: AuditEntry) -> bool:
        pairs = ((actor, entry.actor), (action, entry.action), (session, entry.session or ""))
        return (
            all(pattern is None or fnmatchcase(value, pattern) for pattern, value in pairs)
            and (severity is None or GRAVE.index(entry.severity) >= GRAVE.index(severity))
            and (since is None or entry.at.timestamp() >= since.timestamp())
        )

    def read() -> list[AuditEntry]:
        book: AuditBook = parts.open_audit()
        entries = (entry for entry in book.read_new() if isinstance(entry, AuditEntry))
        return list(islice(reversed(deque(filter(matches, entries), maxlen=limit)), limit))

    async with asyncio.timeout(AUDIT_SECONDS):
        found = await asyncio.to_thread(read)
    return AuditList(events=[AuditBody.of(entry) for entry in found])


@router.get("/metrics", response_class=Response, responses=AS_TEXT)
async def show_metrics(caller: Reader, parts: Ports) -> Response:
    """Figures for Prometheus; they are counted from the first look on."""
    return Response(await parts.metrics.render(), media_type=parts.metrics.content_type)


def _as_kept(content: object) -> Response:
    """Data as they stand, under the names that they have on the bus and in the store."""
    return Response(encoder.encode(content), media_type="application/json")
