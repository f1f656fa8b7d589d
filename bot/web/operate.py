"""What an operator asks a running bot: its status, and the journal."""

from collections.abc import Sequence
from typing import Protocol

from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from bot.commands.pairing import ROLES, LetIn
from bot.commands.pairing import Request as Waiting
from bot.errors import BotError, StoreError
from bot.messages import Role, RunId, encoder


class Operated(Protocol):
    """What the routes need of the bot."""

    def status(self) -> object: ...

    async def unfinished(self) -> Sequence[object]: ...

    async def retry(self, run: RunId) -> None: ...


class Doors(Protocol):
    """Where people are let in."""

    async def waiting(self) -> Sequence[Waiting]:
        """Who waits."""

    async def let_in(self, code: str, role: Role | None = None) -> LetIn:
        """Let somebody in.

        Raises:
            BotError: Nobody waits with this code.
        """


def operator_routes(bot: Operated, doors: Doors) -> list[BaseRoute]:
    """`GET /api/status`, `GET /api/journal`, `POST /api/journal/{run}/retry`, `GET /api/pairings`,
    `POST /api/pairings/{code}?role=…`.
    """

    async def show_status(request: Request) -> Response:
        return _json(bot.status())

    async def show_journal(request: Request) -> Response:
        return _json(await bot.unfinished())

    async def retry(request: Request) -> Response:
        try:
            await bot.retry(RunId(request.path_params["run"]))
        except StoreError as error:
            return _json({"error": str(error)}, status=404)
        return _json({"status": "queued"})

    async def show_waiting(request: Request) -> Response:
        return _json([replace(one, code="", message=None) for one in await doors.waiting()])

    async def let_in(request: Request) -> Response:
        role = request.query_params.get("role")
        if role is not None and role not in ROLES:
            return _json({"error": f"a role is one of {', '.join(ROLES)}"}, status=400)
        try:
            done = await doors.let_in(request.path_params["code"], Role(role) if role is not None else None)
        except BotError as error:
            return _json({"error": str(error)}, status=404)
        return _json(replace(done, request=replace(done.request, code="")))

    return [
        Route("/api/status", show_status),
        Route("/api/journal", show_journal),
        Route("/api/journal/{run}/retry", retry, methods=["POST"]),
        Route("/api/pairings", show_waiting),
        Route("/api/pairings/{code}", let_in, methods=["POST"]),
    ]


def _json(content: object, *, status: int = 200) -> Response:
    return Response(encoder.encode(content), status, media_type="application/json")
