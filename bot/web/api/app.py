"""The API put together; imports FastAPI, and is loaded at the first request."""

import logging
from typing import Final

from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.security import HTTPBearer
from starlette.exceptions import HTTPException
from starlette.routing import WebSocketRoute
from starlette.types import ASGIApp

from bot.errors import StoreError
from bot.inbox.base import InboxError
from bot.messages import new_id
from bot.web.api import (
    agent,
    doors,
    inbox,
    inbox_acts,
    keyring,
    memories,
    openai,
    operating,
    people,
    runs,
    schedules,
    talks,
    telling,
)
from bot.web.api.base import Parts
from bot.web.api.bodies import Fault
from bot.web.api.completions import error_body
from bot.web.api.events import serve_events

log = logging.getLogger(__name__)

ROUTERS: Final[tuple[APIRouter, ...]] = (
    agent.router,
    runs.router,
    talks.router,
    schedules.router,
    operating.router,
    doors.router,
    keyring.router,
    telling.router,
    people.router,
    memories.router,
    inbox.router,
    inbox_acts.router,
    openai.router,
)
DESCRIPTION: Final = (
    "Runs, sessions, schedules and events of a Switchboard bot. Callers show an API key "
    "(`python -m bot key create`) or the token of the page: `Authorization: Bearer …`."
)


def build(parts: Parts) -> ASGIApp:
    """Make the application; called in a thread."""
    app = FastAPI(
        title="Switchboard",
        version="1",
        description=DESCRIPTION,
        openapi_url="/api/openapi.json",
        docs_url=None,  # those pages come from a CDN, which our policy does not let in
        redoc_url=None,
        dependencies=[Depends(HTTPBearer(auto_error=False, description="An API key, or the page's token."))],
        responses={"4XX": {"model": Fault}, "5XX": {"model": Fault}},
    )
    app.state.parts = parts
    for router in ROUTERS:
        app.include_router(router)
    app.router.routes.append(WebSocketRoute("/ws/events", serve_events))
    app.add_exception_handler(HTTPException, _refuse)
    app.add_exception_handler(RequestValidationError, _explain)
    app.add_exception_handler(InboxError, _conflict)
    app.add_exception_handler(StoreError, _unavailable)
    app.add_exception_handler(Exception, _fail)
    return app


async def _refuse(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    return _fault(request, str(error.detail), error.status_code, dict(error.headers or {}))


async def _explain(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    faults = (f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors())
    return _fault(request, "; ".join(faults), 422)


async def _conflict(request: Request, error: Exception) -> JSONResponse:
    return _fault(request, str(error), 409)


async def _unavailable(request: Request, error: Exception) -> JSONResponse:
    log.error("request not served", extra={"path": request.url.path, "cause": str(error)})
    return _fault(request, "the store does not answer; try again later", 503)


async def _fail(request: Request, error: Exception) -> JSONResponse:
    reference = new_id()[-8:]
    log.error("request failed", exc_info=error, extra={"path": request.url.path, "reference": reference})
    return _fault(request, f"something went wrong; reference: {reference}", 500)


def _fault(request: Request, text: str, status: int, headers: dict[str, str] | None = None) -> JSONResponse:
    """An error in the form that the caller's client knows."""
    if not request.url.path.startswith("/v1/"):
        return JSONResponse({"error": text}, status, headers)
    kind = "invalid_request_error" if status < 500 else "server_error"
    return JSONResponse(error_body(text, kind), status, headers)
