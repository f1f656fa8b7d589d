"""The web server over loopback: who is let in, and what it says of itself."""

import asyncio
import socket
from collections.abc import AsyncIterator, Mapping
from http.client import HTTPConnection
from typing import NamedTuple
from urllib.parse import urlencode

import pytest
from pydantic import SecretStr
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from bot.errors import ConfigError
from bot.settings import WebSettings
from bot.web.health import Readiness
from bot.web.server import WebServer


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    text: str


async def page(request: Request) -> Response:
    return PlainTextResponse("the page")


async def hook(request: Request) -> Response:
    return PlainTextResponse(f"hook {(await request.body()).decode()}")


ROUTES = [Route("/chat", page), Route("/hooks/{rest:path}", hook, methods=["POST"])]


async def call(
    server: WebServer, path: str, *, method: str = "GET", body: str | None = None, **headers: str
) -> Answer:
    """Make a request; `Host` can be any."""

    def talk() -> Answer:
        connection = HTTPConnection("127.0.0.1", server.port, timeout=10)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body, named)
        answer = connection.getresponse()
        found = Answer(
            answer.status, {key.lower(): value for key, value in answer.getheaders()}, answer.read().decode()
        )
        connection.close()
        return found

    return await asyncio.to_thread(talk)


async def log_in(server: WebServer, token: str) -> Answer:
    return await call(
        server,
        "/login",
        method="POST",
        body=urlencode({"token": token}),
        Content_Type="application/x-www-form-urlencoded",
    )


@pytest.fixture
async def server() -> AsyncIterator[WebServer]:
    async with WebServer(WebSettings(port=0), ROUTES, Readiness(None)) as server:
        yield server


@pytest.fixture
async def guarded() -> AsyncIterator[WebServer]:
    settings = WebSettings(port=0, token=SecretStr("open sesame"))
    async with WebServer(settings, ROUTES, Readiness(None)) as server:
        yield server


async def test_the_root_leads_to_the_chat(server: WebServer) -> None:
    answer = await call(server, "/")

    assert (answer.status, answer.headers["location"]) == (307, "/chat")


async def test_every_answer_forbids_what_the_page_does_not_need(server: WebServer) -> None:
    for path in ("/chat", "/missing", "/healthz"):
        headers = (await call(server, path)).headers

        assert "default-src 'none'" in headers["content-security-policy"]
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"
        assert "server" not in headers


async def test_a_name_that_somebody_points_at_us_is_refused(server: WebServer) -> None:
    answer = await call(server, "/chat", Host=f"evil.example:{server.port}")

    assert answer.status == 403
    assert "BOT_WEB__ALLOWED_HOSTS" in answer.text


async def test_a_page_of_another_site_is_refused(server: WebServer) -> None:
    theirs = await call(server, "/chat", Origin="https://evil.example")
    ours = await call(server, "/chat", Origin=server.url)

    assert (theirs.status, ours.status) == (403, 200)


async def test_readiness_says_why_the_bot_takes_no_messages() -> None:
    readiness = Readiness()
    async with WebServer(WebSettings(port=0), ROUTES, readiness) as server:
        starting = await call(server, "/readyz")
        readiness.reason = None
        ready = await call(server, "/readyz")
        readiness.reason = "draining"
        draining = await call(server, "/readyz")
        alive = await call(server, "/healthz")

    assert (starting.status, ready.status, draining.status) == (503, 200, 503)
    assert "starting" in starting.text
    assert "draining" in draining.text
    assert (alive.status, alive.text) == (200, '{"status":"ok"}')


async def test_a_port_in_use_stops_the_start_with_a_clear_word() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]

        with pytest.raises(ConfigError, match=rf"port {port} is in use: .*BOT_WEB__PORT"):
            await WebServer(WebSettings(port=port), ROUTES, Readiness()).__aenter__()


async def test_a_host_that_is_not_ours_stops_the_start() -> None:
    settings = WebSettings(host="203.0.113.7", port=0, token=SecretStr("x"))

    with pytest.raises(ConfigError, match="BOT_WEB__HOST"):
        await WebServer(settings, ROUTES, Readiness()).__aenter__()


async def test_a_server_that_stopped_frees_its_port_at_once() -> None:
    async with WebServer(WebSettings(port=0), ROUTES, Readiness(None)) as first:
        port = first.port
        await call(first, "/chat")
    async with WebServer(WebSettings(port=port), ROUTES, Readiness(None)) as second:
        answer = await call(second, "/chat")

    assert answer.text == "the page"


async def test_without_the_token_a_person_is_asked_for_it_and_a_program_told(guarded: WebServer) -> None:
    person = await call(guarded, "/chat", Accept="text/html")
    program = await call(guarded, "/chat")

    assert (person.status, person.headers["location"]) == (303, "/login")
    assert (program.status, program.headers["www-authenticate"]) == (401, "Bearer")


async def test_health_needs_no_token(guarded: WebServer) -> None:
    assert (await call(guarded, "/healthz")).status == 200
    assert (await call(guarded, "/readyz")).status == 200
    assert (await call(guarded, "/login")).status == 200
    assert (await call(guarded, "/login.css")).status == 200


async def test_the_token_opens_a_session_that_does_not_contain_it(guarded: WebServer) -> None:
    answer = await log_in(guarded, "open sesame")
    cookie = answer.headers["set-cookie"]

    inside = await call(guarded, "/chat", Cookie=cookie.split(";")[0])

    assert (answer.status, answer.headers["location"]) == (303, "/chat")
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    assert "sesame" not in cookie
    assert inside.text == "the page"


async def test_a_forged_session_opens_nothing(guarded: WebServer) -> None:
    for value in ("x", "9999999999.abc", "", "1.2.3"):
        assert (await call(guarded, "/chat", Cookie=f"switchboard_session={value}")).status == 401


async def test_a_program_shows_the_token_in_a_header(guarded: WebServer) -> None:
    right = await call(guarded, "/chat", Authorization="Bearer open sesame")
    wrong = await call(guarded, "/chat", Authorization="Bearer open")

    assert (right.status, wrong.status) == (200, 401)


async def test_who_guesses_has_to_wait(guarded: WebServer) -> None:
    first = [await log_in(guarded, "guess") for _ in range(3)]

    then = await log_in(guarded, "open sesame")
    bearer = await call(guarded, "/chat", Authorization="Bearer open sesame")

    assert [answer.status for answer in first] == [403, 403, 403]
    assert (then.status, bearer.status) == (429, 429)
    assert int(then.headers["retry-after"]) >= 1


async def test_a_huge_login_form_is_refused(guarded: WebServer) -> None:
    assert (await log_in(guarded, "x" * 100_000)).status == 403


async def test_platforms_come_in_without_a_token_and_only_to_their_hooks(guarded: WebServer) -> None:
    answer = await call(guarded, "/hooks/other/default", method="POST", body="event")
    refused = {
        path: (await call(guarded, path, method="POST", body="event")).status
        for path in ("/hooks", "/hooksother", "/chat", "//hooks/other", "/chat/../hooks/", "/x/hooks/other")
    }

    assert (answer.status, answer.text) == (200, "hook event")
    assert set(refused.values()) == {401}


async def test_a_way_through_the_hooks_leads_nowhere_else(guarded: WebServer) -> None:
    for path in ("/hooks/../chat", "/hooks/%2e%2e/chat", "/hooks/..%2fchat"):
        answer = await call(guarded, path)

        assert "the page" not in answer.text


async def test_hooks_too_are_reached_under_our_own_names_only(guarded: WebServer) -> None:
    under_another = await call(guarded, "/hooks/other/default", method="POST", Host="evil.example")
    from_a_page = await call(guarded, "/hooks/other/default", method="POST", Origin="https://evil.example")

    assert (under_another.status, from_a_page.status) == (403, 403)
