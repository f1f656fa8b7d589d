"""The web server over loopback: who is let in, and what it says of itself."""

import asyncio
import re
import socket
from collections.abc import AsyncIterator, Iterable, Mapping
from http.client import HTTPConnection
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

import pytest
from pydantic import SecretStr
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus
from websockets.typing import Origin

from bot.errors import ConfigError
from bot.settings import WebSettings
from bot.web.guard import MAX_BODY
from bot.web.health import Readiness
from bot.web.server import WebServer

ROOT = Path(__file__).parent.parent.parent
PAGES = sorted([*(ROOT / "bot").rglob("*.html"), *(ROOT / "channels").rglob("*.html")])


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    text: str


async def page(request: Request) -> Response:
    return PlainTextResponse("the page")


async def hook(request: Request) -> Response:
    return PlainTextResponse(f"hook {(await request.body()).decode()}")


async def change(request: Request) -> Response:
    return PlainTextResponse(f"{len(await request.body())} bytes")


ROUTES = [
    Route("/chat", page),
    Route("/api/change", change, methods=["POST"]),
    Route("/hooks/{rest:path}", hook, methods=["POST"]),
]
CROSS = {"Sec_Fetch_Site": "cross-site"}
LINK = CROSS | {"Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"}


async def call(
    server: WebServer,
    path: str,
    *,
    method: str = "GET",
    body: str | Iterable[bytes] | None = None,
    **headers: str,
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


async def test_without_a_token_only_this_machine_sees_the_page() -> None:
    settings = WebSettings(port=0, allowed_hosts=("bot.example.org",))
    async with WebServer(settings, ROUTES, Readiness(None)) as server:
        by_proxy = await call(server, "/chat", Host="bot.example.org")
        renamed = await call(server, "/chat", X_Forwarded_For="203.0.113.7")
        health = await call(server, "/healthz", Host="bot.example.org")
        platform = await call(server, "/hooks/x", method="POST", body="event", Host="bot.example.org")
        owner = await call(server, "/chat")

    assert [one.status for one in (by_proxy, renamed)] == [403, 403]
    assert "BOT_WEB__TOKEN" in by_proxy.text
    assert [one.status for one in (health, platform, owner)] == [200, 200, 200]


async def test_with_a_token_the_page_is_reached_through_a_proxy() -> None:
    settings = WebSettings(port=0, allowed_hosts=("bot.example.org",), token=SecretStr("open sesame"))
    async with WebServer(settings, ROUTES, Readiness(None)) as server:
        proxy = {"Host": "bot.example.org", "X_Forwarded_For": "203.0.113.7", "X_Forwarded_Proto": "https"}
        asked = await call(server, "/chat", **proxy, Accept="text/html")
        form = urlencode({"token": "open sesame"})
        let_in = await call(server, "/login", method="POST", body=form, **proxy)

    assert (asked.status, let_in.status) == (303, 303)
    assert "; secure" in let_in.headers["set-cookie"].lower()


async def test_one_who_guesses_behind_a_proxy_does_not_lock_the_others_out() -> None:
    settings = WebSettings(port=0, allowed_hosts=("bot.example.org",), token=SecretStr("open sesame"))
    async with WebServer(settings, ROUTES, Readiness(None)) as server:
        host = {"Host": "bot.example.org"}
        for _ in range(4):
            await call(server, "/chat", **host, X_Forwarded_For="203.0.113.7", Authorization="Bearer guess")
        right = {"Authorization": "Bearer open sesame"}
        guesser = await call(server, "/chat", **host, X_Forwarded_For="203.0.113.7", **right)
        other = await call(server, "/chat", **host, X_Forwarded_For="203.0.113.8", **right)

    assert (guesser.status, other.status) == (429, 200)


@pytest.mark.parametrize(
    ("method", "path", "headers", "is_let_in"),
    [
        ("GET", "/chat", LINK, True),
        ("GET", "/chat", CROSS | {"Sec_Fetch_Mode": "no-cors", "Sec_Fetch_Dest": "image"}, False),
        ("GET", "/chat", LINK | {"Sec_Fetch_Dest": "iframe"}, False),
        ("POST", "/api/change", LINK, False),
        ("POST", "/api/change", {"Sec_Fetch_Site": "same-site"}, False),
        ("POST", "/api/change", {"Sec_Fetch_Site": "same-origin"}, True),
        ("POST", "/api/change", {"Origin": "http://localhost:1"}, False),
        ("POST", "/api/change", {}, True),
    ],
)
async def test_no_other_site_has_a_browser_ask_for_it(
    server: WebServer, method: str, path: str, headers: dict[str, str], is_let_in: bool
) -> None:
    answer = await call(server, path, method=method, **headers)

    assert answer.status == (200 if is_let_in else 403)


async def test_a_cookie_alone_changes_nothing(guarded: WebServer) -> None:
    cookie = (await log_in(guarded, "open sesame")).headers["set-cookie"].split(";")[0]

    alone = await call(guarded, "/api/change", method="POST", Cookie=cookie)
    from_page = await call(guarded, "/api/change", method="POST", Cookie=cookie, Origin=guarded.url)
    program = await call(guarded, "/api/change", method="POST", Authorization="Bearer open sesame")

    assert (alone.status, from_page.status, program.status) == (401, 200, 200)


async def test_a_request_that_is_too_large_is_refused_with_or_without_its_length(server: WebServer) -> None:
    piece, count = b"x" * 65_536, MAX_BODY // 65_536

    fits = await call(server, "/api/change", method="POST", body=[piece] * count)
    endless = await call(server, "/api/change", method="POST", body=[piece] * (count + 1))
    told = await call(server, "/api/change", method="POST", Content_Length=str(MAX_BODY + 1))

    assert (fits.status, fits.text) == (200, f"{MAX_BODY} bytes")
    assert (endless.status, told.status) == (413, 413)


async def test_many_guesses_at_once_are_as_slow_as_one_after_another(guarded: WebServer) -> None:
    answers = await asyncio.gather(*(log_in(guarded, f"guess {number}") for number in range(20)))

    assert [answer.status for answer in answers].count(403) <= 4


async def test_sockets_are_opened_under_our_names_and_by_our_pages_only() -> None:
    async def talk(socket: WebSocket) -> None:
        await socket.accept()
        await socket.close()

    async with WebServer(WebSettings(port=0), [WebSocketRoute("/ws", talk)], Readiness(None)) as server:
        url = f"ws://127.0.0.1:{server.port}/ws"
        async with connect(url, origin=Origin(server.url)), connect(url):
            pass
        evil = f"ws://evil.example:{server.port}/ws"
        refused = [
            connect(evil, host="127.0.0.1", port=server.port),
            connect(url, origin=Origin("https://evil.example")),
            connect(url, origin=Origin("null")),
        ]
        for connecting in refused:
            with pytest.raises(InvalidStatus, match="403"):
                await connecting


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_carry_no_script_or_style_of_their_own(page: Path) -> None:
    """The content policy would not run them; a page that needs one is a page whose policy gets loosened."""
    text = page.read_text("utf-8")

    assert not re.search(r"<style|\sstyle=|\son[a-z]+\s*=|javascript:", text, re.IGNORECASE)
    assert all("src=" in tag for tag in re.findall(r"<script[^>]*>", text, re.IGNORECASE))
