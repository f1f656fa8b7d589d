"""`api_request`: what is allowed, what is sent along, and that no secret ever comes back."""

import base64
import html
import json
import logging
import re
from collections.abc import Sequence
from typing import Literal
from urllib.parse import quote, quote_plus

import pytest
from aiohttp import web
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import SecretStr, ValidationError

from bot.settings.network import ApiSettings, NetworkSettings, SearchSettings
from bot.tools.api import ApiTools, Body, Query, normal_path
from bot.tools.base import ToolFault
from bot.tools.concealing import MASK, Concealer
from security.network import Network, host_of
from tests.tools.serving import Answer, serve

TOKEN = "ghp_S3cr3t/+value=0123456789"
BEARER = {"Authorization": SecretStr(f"Bearer {TOKEN}")}
Method = Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]


async def ask(
    answer: Answer,
    path: str = "/repos/a/b",
    *,
    method: Method = "GET",
    query: Query | None = None,
    body: Body | None = None,
    prefix: str = "",
    headers: dict[str, SecretStr] | None = None,
    secret_query: dict[str, SecretStr] | None = None,
    methods: Sequence[str] = ("GET", "HEAD", "POST", "DELETE"),
    paths: Sequence[str] = ("/repos/*", "/search"),
) -> str:
    """Call an API on loopback, named `hub`."""
    async with serve(answer) as port:
        settings = ApiSettings(
            base_url=f"http://127.0.0.1:{port}{prefix}",
            headers=BEARER if headers is None else headers,
            query=secret_query or {},
            methods=tuple(methods),
            paths=tuple(paths),
        )
        async with Network(allow=[host_of(settings.base_url)]) as network:
            output = await ApiTools({"hub": settings}, network).request("hub", path, method, query, body)
    return output.text


class Echo:
    """A server that writes down what it was asked."""

    def __init__(self, reply: str = "{}") -> None:
        self.seen: list[tuple[str, str, str]] = []
        self.headers: dict[str, str] = {}
        self._reply = reply

    async def __call__(self, request: web.Request) -> web.Response:
        self.seen.append((request.method, request.raw_path, await request.text()))
        self.headers = dict(request.headers)
        return web.Response(text=self._reply, content_type="application/json")


def moved(location: str) -> web.Response:
    return web.Response(status=302, headers={"Location": location})


async def test_an_api_is_called_with_what_the_operator_has_set() -> None:
    echo = Echo('{"stars": 5}')

    text = await ask(echo, "/repos/a/größe b", query={"page": 2, "all": True, "q": "x&y"}, prefix="/v1")

    assert echo.seen == [("GET", "/v1/repos/a/gr%C3%B6%C3%9Fe%20b?page=2&all=true&q=x%26y", "")]
    assert echo.headers["Authorization"] == f"Bearer {TOKEN}"
    assert text.startswith("HTTP 200 OK\n")
    assert '{"stars": 5}' in text


async def test_a_body_is_sent_as_json() -> None:
    echo = Echo()

    await ask(echo, method="POST", body={"title": "größe", "labels": [1, None]})

    assert echo.headers["Content-Type"] == "application/json"
    assert json.loads(echo.seen[0][2]) == {"title": "größe", "labels": [1, None]}


async def test_secrets_of_the_query_are_added_and_can_not_be_replaced() -> None:
    echo = Echo()
    secret_query = {"api_key": SecretStr("q-1234567890")}

    await ask(echo, "/search", query={"q": "x"}, secret_query=secret_query)
    with pytest.raises(ToolFault, match="Leave api_key out"):
        await ask(echo, "/search", query={"api_key": "mine"}, secret_query=secret_query)

    assert [path for _, path, _ in echo.seen] == ["/search?q=x&api_key=q-1234567890"]


async def test_an_error_of_the_api_is_told_with_its_text() -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(status=422, text='{"error": "title is missing"}', content_type="application/json")

    text = await ask(answer, method="POST", body={})

    assert text.startswith("HTTP 422 ")
    assert "title is missing" in text


@pytest.mark.parametrize(
    "path",
    [
        *("/admin", "/repos", "/", "", "repos/a", "/Repos/a", "/search/x", "//evil.example/repos/a"),
        *("/repos/../admin", "/repos/%2e%2e/admin", "/repos/.%2E/admin", "/repos/./a", "/repos/a/.."),
        *("/repos/%252e%252e/admin", "/repos/..;/admin", "/repos/..%3bx/admin", "/repos/a//b"),
        *(
            "/repos/a%2fb",
            "/repos/a%2Fb",
            "/repos/..%2f..%2fadmin",
            "/repos/a%5cb",
            "/repos/a\\b",
            "/repos/%00",
        ),
        *("/repos/a%0d%0aX: 1", "/repos/a?x=1", "/repos/a#b", "/repos/a%3fx", "/repos/a%23", "/repos/a%255c"),
        *("/repos/．．/admin", "/repos/..／admin", "/repos/‥/admin", "/repos/%ff", "/repos/%c0%ae%c0%ae/"),
        *("@evil.example/repos/a", "http://evil.example/repos/a", "/repos/" + "a" * 3_000, "/repos/a\x7f"),
        *(" /repos/a", "/repos/ .. /admin", "/search%2f", "/repos/..\t/admin"),
    ],
)
async def test_a_path_that_is_not_allowed_is_not_asked_for(path: str) -> None:
    echo = Echo()

    with pytest.raises(ToolFault):
        await ask(echo, path)

    assert echo.seen == []


@given(st.text("/.%;\\2eEfF5cC?#a\u2025\uff0e\uff0f ", max_size=20).map(lambda text: f"/repos/{text}"))
def test_a_path_that_passes_means_the_same_to_everybody(path: str) -> None:
    try:
        plain = normal_path(path)
    except ToolFault:
        return

    assert normal_path(quote(plain)) == plain
    assert ".." not in plain.split("/")
    assert "\\" not in plain
    assert "//" not in plain


async def test_a_method_that_is_not_allowed_is_not_used() -> None:
    echo = Echo()

    with pytest.raises(ToolFault, match="DELETE is not allowed here, only GET"):
        await ask(echo, method="DELETE", methods=["GET"])

    assert echo.seen == []


async def test_an_api_without_a_name_is_not_there() -> None:
    settings = ApiSettings(base_url="http://127.0.0.1:1")

    with pytest.raises(ToolFault, match="no API 'other', only hub"):
        await ApiTools({"hub": settings}, Network()).request("other", "/")


@pytest.mark.parametrize(
    "location",
    [
        *("http://127.0.0.2:{port}/repos/x", "http://localhost:{port}/repos/x", "//evil.example/repos/x"),
        *(
            "https://127.0.0.1:{port}/repos/x",
            "http://user@127.0.0.1:{port}/repos/x",
            "/admin",
            "/repos/../admin",
        ),
        *("/repos/%2e%2e/admin", "/v1", "http://127.0.0.1:{port}\\@evil.example/", "http://[", "/v1/admin"),
    ],
)
async def test_a_redirect_to_another_host_or_path_is_not_followed(location: str) -> None:
    seen: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        seen.append(request.path)
        return moved(location.format(port=request.url.port))

    with pytest.raises(ToolFault):
        await ask(answer, "/repos/start", prefix="/v1")

    assert seen == ["/v1/repos/start"]


async def test_a_redirect_within_what_is_allowed_is_followed() -> None:
    async def answer(request: web.Request) -> web.Response:
        if request.path == "/v1/repos/old":
            return moved("/v1/repos/new%20one?page=2&api_key=stale")
        assert request.headers["Authorization"] == f"Bearer {TOKEN}"
        return web.Response(text=request.raw_path)

    text = await ask(answer, "/repos/old", prefix="/v1", secret_query={"api_key": SecretStr("q-12345678")})

    assert f"/v1/repos/new%20one?page=2&api_key={MASK}" in text


async def test_a_redirect_of_a_change_is_not_followed() -> None:
    async def answer(request: web.Request) -> web.Response:
        return moved("/repos/other")

    with pytest.raises(ToolFault, match="redirects to /repos/other"):
        await ask(answer, method="POST", body={})


async def test_a_circle_of_redirects_ends() -> None:
    async def answer(request: web.Request) -> web.Response:
        return moved("/repos/a")

    with pytest.raises(ToolFault, match="more than 5 times"):
        await ask(answer, "/repos/a")


def lower_escapes(text: str) -> str:
    return re.sub("%..", lambda escape: escape[0].lower(), text)


def forms(secret: str) -> list[str]:
    """How a server may write a secret."""
    data = secret.encode()
    return [
        *(
            secret,
            quote(secret),
            lower_escapes(quote(secret, safe="")),
            quote_plus(secret),
            quote(quote(secret, safe="")),
        ),
        *("".join(f"%{byte:02X}" for byte in data), "".join(f"&#{ord(sign)};" for sign in secret)),
        *(json.dumps(secret), secret.replace("/", "\\/"), "".join(f"\\u{ord(sign):04x}" for sign in secret)),
        *(html.escape(secret), data.hex(), data.hex().upper()),
        *(base64.b64encode(b"x" * before + data + b"tail").decode() for before in range(4)),
        *(base64.urlsafe_b64encode(b"{}"[:before] + data).decode().rstrip("=") for before in range(3)),
    ]


def leaks(text: str, secret: str) -> bool:
    """Whether a text gives a piece of a secret away, decoded or not."""
    return any(
        form[start : start + 9] in text for form in forms(secret) for start in range(6, len(form) - 14)
    )


@pytest.mark.parametrize("number", range(len(forms(TOKEN))))
async def test_a_secret_that_the_server_echoes_is_hidden_in_every_form(number: int) -> None:
    echoed = forms(TOKEN)[number]

    text = await ask(Echo(f'{{"you sent": "{echoed}", "and": "more"}}'))

    assert MASK in text
    assert '"and": "more"' in text
    assert not leaks(text, TOKEN)


@settings(max_examples=25, deadline=None)
@given(st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=12, max_size=40))
def test_any_secret_is_hidden_in_every_form(secret: str) -> None:
    concealer = Concealer([f"Bearer {secret}"])

    for form in forms(secret):
        assert MASK in concealer.conceal(f"<{form}>"), form


async def test_the_password_of_a_basic_login_is_hidden_too() -> None:
    login = base64.b64encode(b"ann:correct horse").decode()

    text = await ask(
        Echo('{"password": "correct horse"}'), headers={"authorization": SecretStr(f"Basic {login}")}
    )

    assert "correct" not in text


async def test_headers_that_are_no_secrets_hide_nothing() -> None:
    headers = {"Accept": SecretStr("application/json"), "X-GitHub-Api-Version": SecretStr("2022-11-28")}

    text = await ask(Echo('{"type": "application/json", "version": "2022-11-28"}'), headers=headers)

    assert '"application/json", "version": "2022-11-28"' in text


async def test_a_secret_is_hidden_where_a_long_answer_is_cut() -> None:
    secret = "S" * 150

    for filler in (*range(0, 300, 37), 19_950):
        reply = "." * filler + secret * 600
        text = await ask(Echo(reply), headers={"X-Key": SecretStr(secret)})
        assert "SS" not in text


async def test_a_secret_in_a_redirect_is_hidden() -> None:
    async def answer(request: web.Request) -> web.Response:
        return moved(f"http://evil.example/?token={quote(TOKEN, safe='')}")

    with pytest.raises(ToolFault, match=r"redirects to http://evil\.example/\?token=\[hidden\]"):
        await ask(answer)


async def test_no_secret_is_in_a_fault_or_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    async def answer(request: web.Request) -> web.Response:
        assert request.transport is not None
        request.transport.close()
        return web.Response()

    with pytest.raises(ToolFault, match="broke") as caught:
        await ask(answer, "/search", secret_query={"key": SecretStr(TOKEN)})

    shown = f"{caught.value!r} {caught.value.__cause__!r} " + " ".join(
        f"{vars(one)}" for one in caplog.records
    )
    assert not leaks(shown, TOKEN)


async def test_a_change_of_unknown_outcome_is_told_as_such() -> None:
    async def answer(request: web.Request) -> web.Response:
        assert request.transport is not None
        request.transport.close()
        return web.Response()

    with pytest.raises(ToolFault, match="may have taken effect"):
        await ask(answer, method="POST", body={})


async def test_bytes_are_told_of_by_type_and_size() -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(body=TOKEN.encode() + bytes(72), content_type="application/zip")

    text = await ask(answer)

    assert "Not text: application/zip, 100 bytes." in text


async def test_a_body_that_is_too_large_is_not_sent() -> None:
    echo = Echo()

    with pytest.raises(ToolFault, match="send less"):
        await ask(echo, method="POST", body={"x": "y" * 200_000})

    assert echo.seen == []


def test_the_tool_is_there_only_where_an_api_has_a_name() -> None:
    assert ApiTools({}, Network()).tools() == ()


def test_the_tool_names_its_apis_and_none_of_their_secrets() -> None:
    hub = ApiSettings(
        base_url="https://api.hub.example", description="Code.", headers=BEARER, paths=("/repos/*",)
    )

    (tool,) = ApiTools({"hub": hub}, Network()).tools()

    assert tool.schema.description.endswith("APIs:\n- hub: Code. (GET /repos/*)")
    assert (tool.name, tool.risk, tool.is_idempotent) == ("api_request", "network", True)
    assert not leaks(f"{tool.schema} {hub!r}", TOKEN)


def test_a_tool_that_changes_things_is_no_reading_one() -> None:
    hub = ApiSettings(base_url="https://api.hub.example", methods=("GET", "POST"))

    (tool,) = ApiTools({"hub": hub}, Network()).tools()

    assert (tool.risk, tool.is_idempotent) == ("write", False)


@pytest.mark.parametrize(
    "wrong",
    [
        {"base_url": "ftp://x.example"},
        {"base_url": "https://user:pass@x.example"},
        {"base_url": "https://x.example/?a=1"},
        {"base_url": "https:///path"},
        {"methods": "TRACE"},
        {"paths": "repos/*"},
        {"headers": {"Bad Name": "x"}},
        {"headers": {"Host": "other.example"}},
        {"headers": {"X-Key": "a\r\nX-Other: b"}},
    ],
)
def test_an_api_that_can_not_work_is_refused_by_the_settings(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        ApiSettings.model_validate({"base_url": "https://x.example", **wrong})


def test_settings_are_read_as_people_write_them() -> None:
    api = ApiSettings.model_validate({"base_url": "https://x.example/v1/", "methods": "get, post"})
    network = NetworkSettings.model_validate({"allow": "127.0.0.1:8080, intranet.example", "ports": "80,443"})

    assert (api.base_url, api.methods) == ("https://x.example/v1", ("GET", "POST"))
    assert (network.allow, network.ports) == (("127.0.0.1:8080", "intranet.example"), (80, 443))


@pytest.mark.parametrize("entry", ["http://intranet.example", "10.0.0.0/8", "a:b", "user@host"])
def test_what_is_no_host_can_not_be_allowed(entry: str) -> None:
    with pytest.raises(ValidationError, match="is not a host"):
        NetworkSettings(allow=(entry,))


def test_a_search_server_has_an_address() -> None:
    with pytest.raises(ValidationError):
        SearchSettings(url="searx.example")
