"""Whether the process lives, and whether it takes messages: `/healthz` and `/readyz`."""

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route


class Readiness:
    """Says whether the bot takes messages, and if not, why.

    Attributes:
        reason: What keeps it from taking messages; None when nothing does.
    """

    def __init__(self, reason: str | None = "starting") -> None:
        self.reason = reason


def health_routes(readiness: Readiness) -> list[Route]:
    """The two pages that load balancers and supervisors ask; they need no token."""

    async def show_health(request: Request) -> JSONResponse:
        return JSONResponse({"status": "ok"})

    async def show_readiness(request: Request) -> JSONResponse:
        if readiness.reason is None:
            return JSONResponse({"status": "ready"})
        return JSONResponse({"status": "unavailable", "reason": readiness.reason}, status_code=503)

    return [Route("/healthz", show_health), Route("/readyz", show_readiness)]
