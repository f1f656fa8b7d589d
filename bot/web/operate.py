"""What an operator asks a running bot: its status, and the journal."""

from collections.abc import Sequence
from typing import Protocol

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from bot.errors import StoreError
from bot.messages import RunId, encoder


class Operated(Protocol):
    """What the routes need of the bot."""

    def status(self) -> object: ...

    async def unfinished(self) -> Sequence[object]: ...

    async def retry(self, run: RunId) -> None: ...


def operator_routes(bot: Operated) -> list[BaseRoute]:
    """`GET /api/status`, `GET /api/journal`, `POST /api/journal/{run}/retry`."""

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

    return [
        Route("/api/status", show_status),
        Route("/api/journal", show_journal),
        Route("/api/journal/{run}/retry", retry, methods=["POST"]),
    ]


def _json(content: object, *, status: int = 200) -> Response:
    return Response(encoder.encode(content), status, media_type="application/json")
