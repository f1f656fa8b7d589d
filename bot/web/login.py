"""The page that asks for the token, or for the API key of an operator."""

from math import ceil
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from bot.web.access import COOKIE, MAX_AGE, Access, Throttle
from bot.web.guard import Keys, client_name, may_operate
from bot.web.keys import PREFIX as KEY_PREFIX
from bot.web.paths import PREFIX

STATIC: Final = Path(__file__).parent / "static"
MAX_FORM: Final = 10_000  # bytes of a login form


def login_routes(access: Access, throttle: Throttle, keys: Keys | None = None) -> list[Route]:
    """The login page, its style, and where its form goes.

    Args:
        keys: With those that may operate, people come in at the operator's pages.
    """

    async def show_login(request: Request) -> Response:
        return _page(to=request.query_params.get("to", ""))

    async def show_style(request: Request) -> Response:
        return FileResponse(STATIC / "login.css", headers={"Cache-Control": "no-cache"})

    async def log_in(request: Request) -> Response:
        client = client_name(request)
        text, to = await _read_form(request)  # before the look at the clock, or many tries at once pass it
        wait = ceil(throttle.wait(client))
        if wait > 0:
            note = f"Too many wrong tokens. Try again in {wait} s."
            return _page(note, to=to, status=429, headers={"Retry-After": str(wait)})
        session = await _session_of(text, access, keys)
        if session is None:
            await throttle.fail(client)
            return _page("That is not the token.", to=to, status=403)
        await throttle.succeed(client, is_login=True)
        is_operator = access.key_of(session) != "" or to.startswith(PREFIX)
        return _welcome(
            session, f"{PREFIX}/" if is_operator else "/chat", is_secure=request.url.scheme == "https"
        )

    return [
        Route("/login", show_login, methods=["GET"]),
        Route("/login", log_in, methods=["POST"]),
        Route("/login.css", show_style),
    ]


async def _session_of(text: str, access: Access, keys: Keys | None) -> str | None:
    if access.is_token(text):
        return access.make_session()
    if keys is None or not text.startswith(KEY_PREFIX):
        return None
    key = await keys.check(text)
    return access.make_session(key.id) if key is not None and may_operate(key) else None


def _welcome(session: str, target: str, *, is_secure: bool) -> Response:
    response = RedirectResponse(target, 303)
    response.set_cookie(COOKIE, session, max_age=MAX_AGE, httponly=True, samesite="strict", secure=is_secure)
    return response


async def _read_form(request: Request) -> tuple[str, str]:
    """What was typed, and where its writer wants to go."""
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > MAX_FORM:
            return "", ""
    fields = parse_qs(body.decode("utf-8", "replace"))
    return fields.get("token", [""])[0], fields.get("to", [""])[0]


def _page(
    note: str = "", *, to: str = "", status: int = 200, headers: dict[str, str] | None = None
) -> Response:
    text = (STATIC / "login.html").read_text(encoding="utf-8").replace("{note}", note)
    text = text.replace("{to}", f"{PREFIX}/" if to.startswith(PREFIX) else "")
    return HTMLResponse(text, status, {"Cache-Control": "no-store", **(headers or {})})
