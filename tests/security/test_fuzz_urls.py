"""Whatever a URL looks like, it leads to no private address: spelled, wrapped, redirected or looked up."""

import ipaddress
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from ipaddress import IPv4Address

from aiohttp import web
from aiohttp.abc import AbstractResolver, ResolveResult
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bot.tools.base import ToolFault
from security.addresses import SPECIAL_V4, Reach, is_public
from security.network import Network, parse_url
from tests.tools.serving import serve

REACH = Reach()
FULL_WIDTH = str.maketrans("0123456789abcdef.:", "０１２３４５６７８９ａｂｃｄｅｆ．：")
CIRCLED = str.maketrans("123456789", "①②③④⑤⑥⑦⑧⑨")
DOTS = "。．｡"

private = st.builds(
    lambda network, number: network[number % network.num_addresses],
    st.sampled_from(SPECIAL_V4),
    st.integers(0, 2**32 - 1),
)


def spellings(address: IPv4Address) -> list[str]:
    """Ways to write an address that some program or other takes."""
    number, parts = int(address), str(address).split(".")
    a, b, c, d = map(int, parts)
    dotted = ".".join(parts)
    return [
        *(dotted, f"{dotted}.", str(number), hex(number), f"0{number:o}", f"{a}.{number & 0xFFFFFF}"),
        *(f"{a}.{b}.{c << 8 | d}", f"{a:#x}.{b:#x}.{c:#x}.{d:#x}", f"0{a:o}.0{b:o}.0{c:o}.0{d:o}"),
        *(f"{a}.{b:#x}.0{c:o}.{d}", f"000{a}.{b}.{c}.{d}", dotted.translate(FULL_WIDTH)),
        *(dotted.replace(".", dot) for dot in DOTS),
        *(dotted.translate(CIRCLED), "".join(f"%{ord(sign):02x}" for sign in dotted)),
        *(f"[::ffff:{dotted}]", f"[::{dotted}]", f"[64:ff9b::{dotted}]", f"[::ffff:0:{dotted}]"),
        *(
            f"[2002:{a:02x}{b:02x}:{c:02x}{d:02x}::1]",
            f"[::ffff:{dotted}%25lo]",
            f"[0:0:0:0:0:ffff:{dotted}]",
        ),
        *(f"[64:ff9b:1::{dotted}]", f"[2001:0:{a:02x}{b:02x}:{c:02x}{d:02x}::]"),
    ]


host_of_private = private.flatmap(lambda address: st.sampled_from(spellings(address)))
user = st.sampled_from(["", "", "a@", "example.com@", "example.com:80@", "%40", "a:b@"])
port = st.sampled_from(["", "", ":80", ":443", ":8080", ":0", ":22", ":00080", ":+80", ":８０"])
tail = st.sampled_from(["", "/", "/x", "?q", "#f", "#@example.com/", "\\@example.com/", "/..//"])
scheme = st.sampled_from(
    ["http://", "https://", "HTTP://", "http:", "http:/", "http:\\\\", "//", "ftp://", ""]
)
url_to_private = st.builds("".join, st.tuples(scheme, user, host_of_private, port, tail))
odd_signs = st.text(st.sampled_from("0127x.:[]@/\\%#?abf①１。．\u200b\u00ad\t http"), max_size=60)


def leads_inside(url: str) -> bool:
    """Whether a URL that was let through as it stands names an address that is not public.

    aiohttp connects to what looks like an address without asking anybody; for a name, the system's own idea
    of what is a number counts, which takes more spellings than Python.
    """
    try:
        target = parse_url(url)
        host = target.raw_host or ""
        REACH.check_host(host, target.port or 0)
    except ToolFault:
        return False
    name = host.strip("[]")
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return any(not is_public(found) for found in numeric(name))
    return not is_public(name)


def numeric(name: str) -> set[str]:
    """What the system makes of a name without asking anybody."""
    try:
        found = socket.getaddrinfo(name, 80, flags=socket.AI_NUMERICHOST)
    except (OSError, UnicodeError, ValueError):
        return set()
    return {str(entry[4][0]) for entry in found}


@settings(max_examples=1_000, deadline=None)
@given(url=url_to_private)
@example(url="http://127.1/")
@example(url="http://0/")
@example(url="http://[::]/")
@example(url="http://[::ffff:7f00:1]/")
@example(url="http://0x7f.0.0.0x1:80/")
def test_no_spelling_of_a_private_address_is_let_through(url: str) -> None:
    assert not leads_inside(url)


@settings(max_examples=500, deadline=None)
@given(text=odd_signs)
@example(text="[]@")
def test_no_text_is_let_through_that_is_a_private_address(text: str) -> None:
    assert not leads_inside(text)
    assert not leads_inside(f"http://{text}")


@settings(max_examples=300, deadline=None)
@given(address=private, number=st.integers(0, 2**128 - 1))
def test_what_the_guard_calls_public_python_calls_global(address: IPv4Address, number: int) -> None:
    """Ours is the stricter of two lists made by others."""
    for one in (str(address), str(ipaddress.IPv6Address(number)), str(IPv4Address(number & 0xFFFF_FFFF))):
        mapped = getattr(ipaddress.ip_address(one), "ipv4_mapped", None)
        is_nat = ipaddress.ip_address(one) in ipaddress.ip_network("64:ff9b::/96") if ":" in one else False
        if is_public(one) and mapped is None and not is_nat:
            assert ipaddress.ip_address(one).is_global, one


class Everywhere(AbstractResolver):
    """Says that every name is at this machine, by the address that was chosen."""

    def __init__(self, address: str) -> None:
        self._address = address

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        kind = socket.AF_INET6 if ":" in self._address else socket.AF_INET
        return [
            ResolveResult(hostname=host, host=self._address, port=port, family=kind, proto=0, flags=0),
        ]

    async def close(self) -> None:
        return


@asynccontextmanager
async def watched(address: str) -> AsyncIterator[tuple[Network, int, list[str]]]:
    """A network whose names all lead to a real server on this machine, and what that one was asked."""
    asked: list[str] = []

    async def note(request: web.Request) -> web.Response:
        asked.append(request.path)
        return web.Response(text="of the house")

    async with (
        serve(note) as port,
        Network(ports=[port, 80, 443], resolver=Everywhere(address)) as network,
    ):
        yield network, port, asked


@settings(max_examples=150, deadline=None)
@given(urls=st.lists(st.one_of(url_to_private, odd_signs.map("http://".__add__)), min_size=1, max_size=8))
async def test_a_server_of_this_machine_is_asked_for_nothing(urls: list[str]) -> None:
    for address in ("127.0.0.1", "::ffff:127.0.0.1"):
        async with watched(address) as (network, port, asked):
            for url in (*urls, f"http://localhost:{port}/", f"http://name.test:{port}/"):
                try:
                    await network.get(url, max_bytes=1_000, seconds=2)
                except ToolFault:
                    continue
            assert asked == []
