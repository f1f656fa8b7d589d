"""The page that asks for the token."""

from math import ceil
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from bot.web.access import COOKIE, MAX_AGE, Access, Throttle
from bot.web.guard import client_name

STATIC: Final = Path(__file__).parent / "static"
MAX_FORM: Final = 10_000  # bytes of a login form


def login_routes(access: Access, throttle: Throttle) -> list[Route]:
    """The login page, its style, and where its form goes."""

    async def show_login(request: Request) -> Response:
        return _page()

    async def show_style(request: Request) -> Response:
        return FileResponse(STATIC / "login.css", headers={"Cache-Control": "no-cache"})

    async def log_in(request: Request) -> Response:
        client = client_name(request)
        token = await _read_token(request)  # before the look at the clock, or many tries at once pass it
        wait = ceil(throttle.wait(client))
        if wait > 0:
            note = f"Too many wrong tokens. Try again in {wait} s."
            return _page(note, status=429, headers={"Retry-After": str(wait)})
        if not access.is_token(token):
            await throttle.fail(client)
            return _page("That is not the token.", status=403)
        await throttle.succeed(client, is_login=True)
        return _welcome(access, is_secure=request.url.scheme == "https")

    return [
        Route("/login", show_login, methods=["GET"]),
        Route("/login", log_in, methods=["POST"]),
        Route("/login.css", show_style),
    ]


def _welcome(access: Access, *, is_secure: bool) -> Response:
    response = RedirectResponse("/chat", 303)
    response.set_cookie(
        COOKIE, access.make_session(), max_age=MAX_AGE, httponly=True, samesite="strict", secure=is_secure
    )
    return response


async def _read_token(request: Request) -> str:
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > MAX_FORM:
            return ""
    return parse_qs(body.decode("utf-8", "replace")).get("token", [""])[0]


def _page(note: str = "", *, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    text = (STATIC / "login.html").read_text(encoding="utf-8").replace("{note}", note)
    return HTMLResponse(text, status, {"Cache-Control": "no-store", **(headers or {})})
