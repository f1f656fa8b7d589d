"""The way out: where it does not lead, whatever it is called, and how much is taken from there."""

import asyncio
import gzip
import logging
import socket
import tracemalloc
import zlib
from collections.abc import AsyncIterator
from ipaddress import IPv4Address, IPv4Network, IPv6Address

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from bot.tools.base import ToolFault
from bot.tools.web import Page
from security.addresses import SPECIAL_V4, Reach, is_public
from security.network import Network, SafeResolver, host_of, parse_url
from tests.tools.serving import Answer, Names, serve, serve_raw

MB = 1_000_000


async def get(network: Network, url: str, *, max_bytes: int = MB, seconds: float = 5) -> Page:
    return await network.get(url, max_bytes=max_bytes, seconds=seconds)


async def get_from(answer: Answer, path: str = "/", *, max_bytes: int = MB) -> Page:
    """Ask a server on loopback that the operator has allowed."""
    async with serve(answer) as port, Network(allow=[f"127.0.0.1:{port}"]) as network:
        return await get(network, f"http://127.0.0.1:{port}{path}", max_bytes=max_bytes)


async def hello(request: web.Request) -> web.Response:
    return web.Response(text=f"hello {request.path}")


def moved(location: str, *, status: int = 302) -> web.Response:
    return web.Response(status=status, headers={"Location": location})


async def secret(request: web.Request) -> web.Response:
    return web.Response(text="of the house")


PRIVATE = [
    *("0.0.0.0", "10.1.2.3", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.255.255.254"),
    *("169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.192", "192.0.2.1", "192.168.1.1"),
    *("198.18.0.1", "203.0.113.9", "224.0.0.1", "240.0.0.1", "255.255.255.255", "168.63.129.16"),
    *(
        "::",
        "::1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "::127.0.0.1",
        "fe80::1",
        "fc00::1",
        "fd00:ec2::254",
    ),
    *("ff02::1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "2002:7f00:1::", "2001::1"),
    *("2001:db8::1", "100::1", "3fff::1", "fe80::1%eth0", "fec0::1"),
]
PUBLIC = [
    *("1.1.1.1", "8.8.8.8", "100.63.255.255", "172.32.0.1", "192.0.1.1", "223.255.255.255"),
    *("2606:4700:4700::1111", "2a00:1450:4001::1", "64:ff9b::808:808", "::ffff:8.8.8.8"),
]


@pytest.mark.parametrize("address", PRIVATE)
def test_an_address_inside_is_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", PUBLIC)
def test_an_address_of_the_internet_is_public(address: str) -> None:
    assert is_public(address)


@given(st.integers(0, 2**32 - 1).map(IPv4Address))
def test_an_ipv4_address_hides_in_no_ipv6_address(inner: IPv4Address) -> None:
    wraps = [IPv6Address(0xFFFF << 32 | int(inner)), IPv6Address((0x64FF9B << 96) | int(inner))]

    assert {is_public(str(wrap)) for wrap in wraps} == {is_public(str(inner))}


@given(st.sampled_from(SPECIAL_V4), st.integers(0, 2**32 - 1))
def test_no_address_of_a_special_range_is_public(network: IPv4Network, number: int) -> None:
    assert not is_public(str(network[number % network.num_addresses]))


@pytest.mark.parametrize(
    "host",
    [
        *(
            "127.0.0.1",
            "localhost",
            "LOCALHOST",
            "localhost.",
            "a.localhost",
            "0.0.0.0",
            "127.1",
            "127.0.0.1.",
        ),
        *(
            "2130706433",
            "0x7f000001",
            "0x7f.1",
            "017700000001",
            "0177.0.0.1",
            "012.0.0.1",
            "0",
            "１２７.0.0.1",
        ),
        *(
            "[::1]",
            "[::ffff:127.0.0.1]",
            "[::ffff:7f00:1]",
            "[0:0:0:0:0:0:0:1]",
            "[64:ff9b::7f00:1]",
            "①②⑦.0.0.1",
        ),
    ],
)
async def test_this_machine_is_not_reached_however_it_is_written(host: str) -> None:
    async with serve(secret) as port, Network(ports=[port]) as network:
        with pytest.raises(ToolFault):
            await get(network, f"http://{host}:{port}/")


@pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.1", "::1", "::ffff:127.0.0.1", "8.8.8.8 127.0.0.1"])
async def test_a_name_that_leads_inside_is_not_followed(address: str) -> None:
    names = Names(evil_test=[address])
    async with serve(secret) as port, Network(ports=[port], resolver=names) as network:
        with pytest.raises(ToolFault, match=r"'evil\.test' leads to an address that is not public") as caught:
            await get(network, f"http://evil.test:{port}/")

    assert address not in str(caught.value)


async def test_a_name_that_leads_elsewhere_the_second_time_is_looked_at_again() -> None:
    names = Names(evil_test=["8.8.8.8", "127.0.0.1"])
    resolver = SafeResolver(Reach(), names)  # what the connector asks, once a connection

    first = await resolver.resolve("evil.test", 80)

    assert [one["host"] for one in first] == ["8.8.8.8"]
    with pytest.raises(ToolFault, match="not public"):
        await resolver.resolve("evil.test", 80)


async def test_the_address_that_was_checked_is_the_one_that_is_connected_to() -> None:
    names = Names(once_test=["127.0.0.1", "127.0.0.2"])
    async with serve(hello) as port, Network(allow=[f"once.test:{port}"], resolver=names) as network:
        page = await get(network, f"http://once.test:{port}/")

    assert page.body == b"hello /"
    assert names.asked == {"once.test": 1}


async def test_every_hop_is_looked_up_and_checked_anew() -> None:
    names = Names(evil_test=["127.0.0.1"])

    async def redirect(request: web.Request) -> web.Response:
        return moved(f"http://evil.test:{request.url.port}/inside")

    async with serve(redirect) as port:
        allow = [f"127.0.0.1:{port}"]
        async with Network(allow=allow, ports=[port], resolver=names) as network:
            with pytest.raises(ToolFault, match="not public"):
                await get(network, f"http://127.0.0.1:{port}/")

    assert names.asked == {"evil.test": 1}


@pytest.mark.parametrize(
    "target",
    [
        "http://127.0.0.2:{port}/",
        "http://localhost:{port}/",
        "//[::1]:{port}/",
        "http://169.254.169.254/latest/meta-data/",
        "http://2130706433:{port}/",
        "file:///etc/passwd",
        "gopher://127.0.0.1:{port}/",
        "http://user:pass@127.0.0.1:{port}/",
        "http://127.0.0.1:22/",
        "http://[",
        "http://[]@",
        "javascript:alert(1)",
    ],
)
async def test_a_redirect_does_not_lead_where_a_url_would_not(target: str) -> None:
    seen: list[str] = []

    async def redirect(request: web.Request) -> web.Response:
        seen.append(request.path)
        return moved(target.format(port=request.url.port))

    with pytest.raises(ToolFault):
        await get_from(redirect, "/start")

    assert seen == ["/start"]


async def test_redirects_are_followed_and_the_last_address_is_told() -> None:
    async def answer(request: web.Request) -> web.Response:
        step = int(request.path.strip("/"))
        return moved(f"/{step - 1}#part") if step else web.Response(text="there")

    page = await get_from(answer, "/5")

    assert page.url.endswith("/0")
    assert page.body == b"there"


async def test_a_circle_of_redirects_ends() -> None:
    seen: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        seen.append(request.path)
        return moved("/b" if request.path == "/a" else "/a")

    with pytest.raises(ToolFault, match="redirects more than 5 times"):
        await get_from(answer, "/a")

    assert len(seen) == 6


async def test_headers_of_the_caller_stay_with_the_host_they_were_meant_for() -> None:
    got: dict[str, str | None] = {}

    async def answer(request: web.Request) -> web.Response:
        got[request.host.partition(":")[0]] = request.headers.get("X-Key")
        if request.host.startswith("one"):
            return moved(f"http://two.test:{request.url.port}/")
        return web.Response(text="ok")

    names = Names(one_test=["127.0.0.1"], two_test=["127.0.0.1"])
    async with serve(answer) as port:
        allow = [f"one.test:{port}", f"two.test:{port}"]
        async with Network(allow=allow, resolver=names) as network:
            await network.get(f"http://one.test:{port}/", headers={"X-Key": "k"}, max_bytes=MB, seconds=5)

    assert got == {"one.test": "k", "two.test": None}


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("ftp://example.com/", "Only http and https"),
        ("example.com", "Only http and https"),
        ("http://", "http"),
        ("http:///path", "http"),
        ("", "http"),
        ("http://a b.example/", "blanks"),
        ("http://example.com\\@127.0.0.1/", "backslashes"),
        ("http://example.com/\r\nX-Header: 1", "blanks"),
        ("http://user@example.com/", "user name"),
        ("http://:pass@example.com/", "user name"),
        ("http://example.com:22/", "Port 22"),
        ("http://example.com:99999/", "not a URL"),
        ("http://example.com/" + "a" * 5_000, "longer than"),
        ("http://[::1", "not a URL"),
    ],
)
async def test_a_url_that_is_not_to_be_fetched_is_refused_with_the_reason(url: str, why: str) -> None:
    async with Network(resolver=Names()) as network:
        with pytest.raises(ToolFault, match=why):
            await get(network, url)


async def test_an_allowed_host_is_reached_on_its_port_only() -> None:
    names = Names(intranet_test=["127.0.0.1"])
    async with (
        serve(hello) as port,
        serve(secret) as other,
        Network(allow=[f"intranet.test:{port}"], resolver=names) as network,
    ):
        page = await get(network, f"http://INTRANET.test:{port}/x")
        with pytest.raises(ToolFault, match=f"Port {other}"):
            await get(network, f"http://intranet.test:{other}/")
        with pytest.raises(ToolFault, match="can't be reached"):
            await get(network, f"http://127.0.0.1:{port}/")

    assert page.body == b"hello /x"


async def test_a_host_that_is_allowed_without_a_port_is_reached_on_the_usual_ones() -> None:
    names = Names(intranet_test=["127.0.0.1"])
    async with (
        serve(hello) as port,
        serve(secret) as other,
        Network(allow=["intranet.test"], ports=[port], resolver=names) as network,
    ):
        page = await get(network, f"http://intranet.test:{port}/")
        with pytest.raises(ToolFault, match="can't be reached"):
            await get(network, f"http://intranet.test:{other}/")

    assert page.status == 200


async def test_a_name_in_any_script_is_asked_for_in_its_ascii_form() -> None:
    names = Names(**{"xn--bcher-kva_test": ["127.0.0.1"]})
    async with serve(hello) as port:
        allow = [f"xn--bcher-kva.test:{port}"]
        async with Network(allow=allow, resolver=names) as network:
            page = await get(network, f"http://bücher.test:{port}/größe")

    assert page.body.decode() == "hello /größe"
    assert names.asked == {"xn--bcher-kva.test": 1}


async def test_a_name_that_does_not_exist_is_told_as_such() -> None:
    async with Network(resolver=Names()) as network:
        with pytest.raises(ToolFault, match=r"no host 'nowhere\.test'"):
            await get(network, "http://nowhere.test/")


async def test_a_closed_port_is_told_as_such() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
        names = Names(closed_test=["127.0.0.1"])
        async with Network(allow=[f"closed.test:{port}"], resolver=names) as network:
            with pytest.raises(ToolFault, match=f"can't be connected to on port {port}") as caught:
                await get(network, f"http://closed.test:{port}/")

    assert "127.0.0.1" not in str(caught.value)


async def test_an_endless_body_is_taken_as_far_as_wanted() -> None:
    async def forever() -> AsyncIterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"
        while True:
            yield b"x" * 65_536

    async with serve_raw(forever()) as port, Network(allow=[f"127.0.0.1:{port}"]) as network:
        page = await get(network, f"http://127.0.0.1:{port}/")

    assert page.is_cut
    assert page.body == b"x" * MB


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
async def test_a_bomb_is_unpacked_no_further_than_wanted(encoding: str) -> None:
    plain = bytes(20 * MB)
    bomb = gzip.compress(plain) if encoding == "gzip" else zlib.compress(plain)

    async def answer(request: web.Request) -> web.Response:
        return web.Response(body=bomb, headers={"Content-Encoding": encoding})

    tracemalloc.start()
    try:
        page = await get_from(answer)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert page.is_cut
    assert page.body == bytes(MB)
    assert peak < 10 * MB


RAW_DEFLATE = zlib.compressobj(wbits=-15)


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", gzip.compress(b"text" * 50_000)),
        ("deflate", zlib.compress(b"text" * 50_000)),
        ("deflate", RAW_DEFLATE.compress(b"text" * 50_000) + RAW_DEFLATE.flush()),
        ("gzip", gzip.compress(b"text" * 50_000) + b"and what follows"),
        ("identity", b"text" * 50_000),
    ],
)
async def test_a_packed_body_is_unpacked(encoding: str, body: bytes) -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(body=body, headers={"Content-Encoding": encoding})

    page = await get_from(answer)

    assert page.body == b"text" * 50_000
    assert not page.is_cut


@pytest.mark.parametrize("encoding", ["br", "gzip, gzip", "zstd"])
async def test_what_is_packed_in_a_way_nobody_asked_for_is_not_read(encoding: str) -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(body=b"??", headers={"Content-Encoding": encoding})

    with pytest.raises(ToolFault, match="nobody asked for"):
        await get_from(answer)


async def test_what_is_not_packed_as_it_says_is_not_read() -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(body=b"\xff\xff\xff plain", headers={"Content-Encoding": "gzip"})

    with pytest.raises(ToolFault, match="can't be unpacked"):
        await get_from(answer)


async def test_a_body_that_drips_ends_with_the_time() -> None:
    async def drip() -> AsyncIterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"
        while True:
            await asyncio.sleep(0.02)
            yield b"x"

    async with serve_raw(drip()) as port, Network(allow=[f"127.0.0.1:{port}"]) as network:
        with pytest.raises(ToolFault, match=r"did not answer within 0\.2 s"):
            await get(network, f"http://127.0.0.1:{port}/", seconds=0.2)


async def test_a_server_that_says_nothing_is_given_up() -> None:
    async def silence() -> AsyncIterator[bytes]:
        for _ in range(12):
            await asyncio.sleep(0.02)
            yield b""

    async with serve_raw(silence()) as port, Network(allow=[f"127.0.0.1:{port}"]) as network:
        with pytest.raises(ToolFault, match="did not answer"):
            await get(network, f"http://127.0.0.1:{port}/", seconds=0.1)


@pytest.mark.parametrize(
    "pieces",
    [
        [b"HTTP/1.1 200 OK\r\nX: ", *[b"y" * 10_000] * 50, b"\r\n\r\n"],
        [b"HTTP/1.1 200 OK\r\n", *[b"X-%d: y\r\n" % number for number in range(10_000)], b"\r\n"],
        [b"SSH-2.0-OpenSSH_9.6\r\n"],
        [b"HTTP/1.1 999999 ?\r\n\r\n"],
        [b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort"],
        [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"],
        [b""],
    ],
    ids=["long header", "many headers", "other protocol", "odd status", "cut short", "bad chunk", "nothing"],
)
async def test_nonsense_is_told_as_such(pieces: list[bytes]) -> None:
    async with serve_raw(pieces) as port, Network(allow=[f"127.0.0.1:{port}"]) as network:
        with pytest.raises(ToolFault, match=r"not proper HTTP|broke"):
            await get(network, f"http://127.0.0.1:{port}/")


async def test_cookies_of_one_call_are_not_sent_with_the_next() -> None:
    cookies: list[str | None] = []

    async def answer(request: web.Request) -> web.Response:
        cookies.append(request.headers.get("Cookie"))
        return web.Response(headers={"Set-Cookie": "id=1; Path=/"})

    async with serve(answer) as port, Network(allow=[f"127.0.0.1:{port}"]) as network:
        await get(network, f"http://127.0.0.1:{port}/")
        await get(network, f"http://127.0.0.1:{port}/")

    assert cookies == [None, None]


async def test_a_call_does_not_follow_redirects() -> None:
    async def answer(request: web.Request) -> web.Response:
        assert request.headers["X-Key"] == "k"
        assert await request.read() == b"{}"
        return moved("/elsewhere", status=307)

    async with serve(answer) as port, Network(allow=[f"127.0.0.1:{port}"]) as network:
        page = await network.call(
            *("POST", f"http://127.0.0.1:{port}/a"),
            headers={"X-Key": "k"},
            body=b"{}",
            max_bytes=MB,
            seconds=5,
        )

    assert (page.status, page.location, page.body) == (307, "/elsewhere", b"")


async def test_the_proxy_of_the_environment_is_not_used_unless_wanted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def proxy(request: web.Request) -> web.Response:
        return web.Response(text="through the proxy")

    async with serve(proxy) as port, serve(hello) as other:
        for name in ("no_proxy", "NO_PROXY"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{port}")
        names = Names(site_test=["127.0.0.1"])
        async with Network(allow=[f"site.test:{other}"], resolver=names) as network:
            direct = await get(network, f"http://site.test:{other}/")
        async with Network(use_proxy=True, resolver=Names()) as network:
            proxied = await get(network, "http://example.test/")
            for inside in ("http://127.0.0.1/", "http://localhost/", "http://169.254.169.254/"):
                with pytest.raises(ToolFault, match="not a public host"):
                    await get(network, inside)

    assert direct.body == b"hello /"
    assert proxied.body == b"through the proxy"


async def test_the_log_names_the_host_and_nothing_of_the_address_behind_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)

    await get_from(hello, "/private/path?token=s3cret")

    assert "host answered" in caplog.messages
    assert "s3cret" not in " ".join(f"{vars(record)}" for record in caplog.records)


@pytest.mark.parametrize(
    ("url", "entry"),
    [
        ("https://api.github.com", "api.github.com:443"),
        ("http://127.0.0.1:8123/api", "127.0.0.1:8123"),
        ("http://[::1]:8123", "[::1]:8123"),
    ],
)
def test_a_url_of_the_settings_is_allowed_by_host_and_port(url: str, entry: str) -> None:
    assert host_of(url) == entry


@given(st.text(max_size=60).map(lambda text: f"http://{text}"))
def test_any_text_is_a_url_or_a_fault(text: str) -> None:
    try:
        url = parse_url(text)
    except ToolFault:
        return

    assert url.raw_host
    assert url.raw_user is None
