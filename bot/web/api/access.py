"""Who may call what: each route names the scope that it needs."""

from collections.abc import Awaitable, Callable
from typing import Annotated, TypeAlias

from fastapi import Depends, HTTPException
from starlette.requests import HTTPConnection

from bot.messages import SessionKey
from bot.web.api.base import Caller, Parts, Scope


def parts_of(request: HTTPConnection) -> Parts:
    """What the bot has given the API."""
    parts: Parts = request.app.state.parts
    return parts


def caller_of(request: HTTPConnection) -> Caller:
    """Who calls, as the door has found."""
    caller: Caller = request.scope["caller"]
    return caller


def need(*scopes: Scope) -> Callable[[HTTPConnection], Awaitable[Caller]]:
    """Let in who has one of the scopes."""

    async def check(request: HTTPConnection) -> Caller:
        caller = caller_of(request)
        if not any(caller.may(scope) for scope in scopes):
            raise HTTPException(403, f"this key may not do that: it takes the scope {' or '.join(scopes)}")
        return caller

    return check


def check_sight(caller: Caller, session: SessionKey) -> None:
    """Turn away who may not read a session; to them it looks like one that is not there."""
    if not caller.may_see(session):
        raise HTTPException(404, "there is no such session, or it is not yours to see")


Ports: TypeAlias = Annotated[Parts, Depends(parts_of)]
Reader: TypeAlias = Annotated[Caller, Depends(need("read"))]
Talker: TypeAlias = Annotated[Caller, Depends(need("chat"))]
Looker: TypeAlias = Annotated[Caller, Depends(need("read", "chat"))]  # sees all, or what is theirs
Steerer: TypeAlias = Annotated[Caller, Depends(need("operate", "chat"))]  # the same for what is changed
Operator: TypeAlias = Annotated[Caller, Depends(need("operate"))]
Admin: TypeAlias = Annotated[Caller, Depends(need("admin"))]
