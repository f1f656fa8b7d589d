"""The HTTP client under the model client, against servers that speak byte by byte, TLS and proxies."""

import asyncio
import gzip
import ssl
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path
from typing import TypeAlias

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from bot.errors import ModelError
from bot.models.http import Broken, HttpClient, HttpError, HungUp, Response, Unreachable, Untrusted
from bot.models.http_connection import MAX_HELD

Handler: TypeAlias = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\n"


class Server:
    """Answers each request with the next of its answers, on connections that it keeps."""

    def __init__(self, *answers: bytes, hangs_up: bool = False) -> None:
        self.answers = list(answers)
        self.requests: list[bytes] = []
        self.was_asked = asyncio.Event()
        self.connections = 0
        self.hangs_up = hangs_up
        self.url = ""

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.rpartition(b"Content-Length: ")[2])
                self.requests.append(head + await reader.readexactly(length))
                self.was_asked.set()
                writer.write(self.answers.pop(0))
                await writer.drain()
                if self.hangs_up:
                    break
        writer.close()


@asynccontextmanager
async def serving(handler: Handler, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """A server on loopback; gives its port."""
    tasks: set[asyncio.Task[None]] = set()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        with suppress(asyncio.CancelledError):
            await handler(reader, writer)
        writer.close()

    async with await asyncio.start_server(handle, "127.0.0.1", 0, ssl=tls) as server:
        yield server.sockets[0].getsockname()[1]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def client_of(url: str, *, keeps: bool = True) -> AsyncIterator[HttpClient]:
    client = HttpClient(url, {"X-Key": "1"}, connect_seconds=2, keeps_connections=keeps)
    try:
        yield client
    finally:
        await client.aclose()


@asynccontextmanager
async def talking(
    *answers: bytes, hangs_up: bool = False, keeps: bool = True
) -> AsyncIterator[tuple[HttpClient, Server]]:
    server = Server(*answers, hangs_up=hangs_up)
    async with (
        serving(server.handle) as port,
        client_of(f"http://127.0.0.1:{port}/v1/chat?x=1", keeps=keeps) as client,
    ):
        yield client, server


def sized(body: bytes, more: bytes = b"") -> bytes:
    return OK + more + b"Content-Length: %d\r\n\r\n" % len(body) + body


def chunked(*pieces: bytes, trailer: bytes = b"") -> bytes:
    body = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces)
    return OK + b"Transfer-Encoding: chunked\r\n\r\n" + body + b"0\r\n" + trailer + b"\r\n"


async def read(response: Response) -> bytes:
    found = b""
    while piece := await response.body.read():
        found += piece
    return found


async def test_a_request_says_where_it_goes_and_how_long_it_is() -> None:
    async with talking(sized(b"fine")) as (client, server):
        response = await client.post(b"hello")

        assert await read(response) == b"fine"

    head, _, body = server.requests[0].partition(b"\r\n\r\n")
    line, *headers = head.split(b"\r\n")
    assert line == b"POST /v1/chat?x=1 HTTP/1.1"
    assert headers[0].startswith(b"Host: 127.0.0.1:")
    assert headers[1:] == [b"X-Key: 1", b"Content-Length: 5"]
    assert body == b"hello"
    assert (response.status, response.content_type) == (200, "text/plain")


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(sized(b"all of it"), id="length"),
        pytest.param(chunked(b"all ", b"of", b" it"), id="chunks"),
        pytest.param(chunked(b"all of it", trailer=b"X-Sum: 9\r\n"), id="trailer"),
        pytest.param(b"HTTP/1.1 100 Continue\r\n\r\n" + sized(b"all of it"), id="100"),
        pytest.param(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + chunked(b"all of it"), id="103"),
        pytest.param(sized(gzip.compress(b"all of it"), b"Content-Encoding: gzip\r\n"), id="gzip"),
    ],
)
async def test_a_body_is_read_in_whatever_frame_it_comes_and_the_connection_is_used_again(
    answer: bytes,
) -> None:
    async with talking(answer, answer) as (client, server):
        bodies = [await read(await client.post(b"")) for _ in range(2)]

    assert bodies == [b"all of it"] * 2
    assert server.connections == 1


async def test_without_a_length_the_body_ends_with_the_connection() -> None:
    async with talking(OK + b"\r\nall of it", hangs_up=True) as (client, _):
        response = await client.post(b"")

        assert await read(response) == b"all of it"


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(OK + b"Content-Length: 99\r\n\r\nhalf", id="length"),
        pytest.param(OK + b"Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n", id="chunks"),
    ],
)
async def test_a_body_that_is_cut_off_is_told_from_a_whole_one(answer: bytes) -> None:
    async with talking(answer, hangs_up=True) as (client, _):
        response = await client.post(b"")

        with pytest.raises(Broken):
            await read(response)


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(b"SSH-2.0-OpenSSH_9\r\n", id="another protocol"),
        pytest.param(OK + b"X: " + b"y" * 70_000 + b"\r\n\r\n", id="endless head"),
        pytest.param(OK + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nab", id="two lengths"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Le", id="half a head"),
    ],
)
async def test_what_is_no_answer_is_an_error(answer: bytes) -> None:
    async with talking(answer, hangs_up=True) as (client, _):
        with pytest.raises(HttpError):
            await read(await client.post(b""))


async def test_what_is_said_to_be_compressed_and_is_not_is_an_error() -> None:
    async with talking(sized(b"plain", b"Content-Encoding: gzip\r\n")) as (client, _):
        with pytest.raises(Broken):
            await read(await client.post(b""))


async def test_a_server_that_hangs_up_on_a_new_connection_is_not_asked_again() -> None:
    async with talking(b"", b"", hangs_up=True) as (client, server):
        with pytest.raises(HungUp):
            await client.post(b"")

    assert len(server.requests) == 1


async def test_a_kept_connection_that_was_closed_meanwhile_is_replaced() -> None:
    async with talking(sized(b"1"), sized(b"2"), hangs_up=True) as (client, server):
        assert await read(await client.post(b"")) == b"1"
        assert await read(await client.post(b"")) == b"2"

    assert server.connections == 2


async def test_what_comes_after_the_answer_ends_the_connection() -> None:
    async with talking(sized(b"1") + sized(b"nobody asked"), sized(b"2")) as (client, server):
        assert await read(await client.post(b"")) == b"1"
        await asyncio.sleep(0.01)
        assert await read(await client.post(b"")) == b"2"

    assert server.connections == 2


@pytest.mark.parametrize(
    ("answer", "keeps"), [(sized(b"1", b"Connection: close\r\n"), True), (sized(b"1"), False)]
)
async def test_a_connection_is_only_kept_where_both_sides_want_it(answer: bytes, keeps: bool) -> None:
    async with talking(answer, answer, keeps=keeps) as (client, server):
        for _ in range(2):
            await read(await client.post(b""))

    assert server.connections == 2


async def test_an_answer_that_is_left_early_takes_its_connection_with_it() -> None:
    async with talking(OK + b"Content-Length: 99\r\n\r\nhalf", sized(b"2")) as (client, server):
        response = await client.post(b"")
        response.close()

        assert await read(await client.post(b"")) == b"2"

    assert server.connections == 2


async def test_a_request_that_is_cancelled_leaves_nothing_behind() -> None:
    async with talking(b"", sized(b"2")) as (client, server):
        asking = asyncio.create_task(client.post(b""))
        await server.was_asked.wait()
        asking.cancel()
        await asyncio.wait({asking})

        assert await read(await client.post(b"")) == b"2"

    assert server.connections == 2


async def test_a_server_waits_while_nobody_reads() -> None:
    sent = 0
    piece = b"x" * 65_536

    async def pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        await reader.readuntil(b"\r\n\r\n")
        writer.write(OK + b"Content-Length: %d\r\n\r\n" % (1_000 * len(piece)))
        for _ in range(1_000):
            writer.write(piece)
            await writer.drain()
            sent += len(piece)

    async with serving(pour) as port, client_of(f"http://127.0.0.1:{port}/") as client:
        response = await client.post(b"")
        before = -1
        while sent != before:
            before = sent
            await asyncio.sleep(0.05)

        assert MAX_HELD // 2 < sent < 1_000 * len(piece)
        assert len(await read(response)) == 1_000 * len(piece)


async def test_a_large_request_arrives_whole() -> None:
    body = bytes(range(256)) * 8_192
    async with talking(sized(b"fine")) as (client, server):
        await read(await client.post(body))

    assert server.requests[0].endswith(body)


async def test_where_nobody_listens_nobody_is_reached() -> None:
    async with serving(Server().handle) as port:
        pass
    async with client_of(f"http://127.0.0.1:{port}/") as client:
        with pytest.raises(Unreachable):
            await client.post(b"")


@pytest.mark.parametrize(
    "url", ["", "example.org", "ftp://example.org/", "http://", "http://a:99999/", "http://a b/"]
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(ModelError, match="not an address"):
        HttpClient(url, {}, connect_seconds=1)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key and a certificate for 127.0.0.1, which signs itself, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "loopback")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))]), critical=False
        )
        .sign(key, hashes.SHA256())
    )
    file = tmp_path_factory.mktemp("tls") / "both.pem"
    file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        + made.public_bytes(serialization.Encoding.PEM)
    )
    return file


def tls_of(certificate: Path) -> ssl.SSLContext:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)
    return tls


async def test_tls_is_spoken_with_a_server_that_can_be_trusted(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    server = Server(chunked(b"se", b"cret"), sized(b"2"))
    async with (
        serving(server.handle, tls_of(certificate)) as port,
        client_of(f"https://127.0.0.1:{port}/") as client,
    ):
        assert await read(await client.post(b"")) == b"secret"
        assert await read(await client.post(b"")) == b"2"

    assert server.connections == 1


async def test_a_server_that_can_not_be_trusted_gets_no_request(certificate: Path) -> None:
    server = Server(sized(b"1"))
    async with (
        serving(server.handle, tls_of(certificate)) as port,
        client_of(f"https://127.0.0.1:{port}/") as client,
    ):
        with pytest.raises(Untrusted):
            await client.post(b"key")

    assert server.requests == []


class Proxy:
    """Leads on to wherever it is asked, and remembers what it was asked."""

    def __init__(self, *, refuses: bool = False) -> None:
        self.heads: list[bytes] = []
        self._refuses = refuses

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.heads.append(await reader.readuntil(b"\r\n\r\n"))
        if self._refuses:
            writer.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
            return
        if not self.heads[0].startswith(b"CONNECT"):
            writer.write(sized(b"by proxy"))
            return
        host, port = self.heads[0].split()[1].decode().split(":")
        there, back = await asyncio.open_connection(host, int(port))
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await asyncio.gather(_pour(reader, back), _pour(there, writer))


async def _pour(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    try:
        while data := await source.read(65_536):
            sink.write(data)
            await sink.drain()
    finally:
        sink.close()


async def test_the_system_s_proxy_is_told_the_whole_address(monkeypatch: pytest.MonkeyPatch) -> None:
    proxy = Proxy()
    async with serving(proxy.handle) as port:
        monkeypatch.setenv("http_proxy", f"http://ann:s%40crt@127.0.0.1:{port}")
        monkeypatch.setenv("no_proxy", "")
        async with client_of("http://models.example/v1") as client:
            assert await read(await client.post(b"")) == b"by proxy"

    head = proxy.heads[0]
    assert head.startswith(b"POST http://models.example/v1 HTTP/1.1\r\nHost: models.example\r\n")
    assert b"Proxy-Authorization: Basic " + b64encode(b"ann:s@crt") in head


async def test_tls_goes_through_a_proxy_that_sees_nothing_of_it(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    monkeypatch.setenv("no_proxy", "")
    server, proxy = Server(sized(b"secret")), Proxy()
    async with serving(server.handle, tls_of(certificate)) as port, serving(proxy.handle) as gate:
        monkeypatch.setenv("https_proxy", f"127.0.0.1:{gate}")
        async with client_of(f"https://127.0.0.1:{port}/") as client:
            assert await read(await client.post(b"")) == b"secret"

    assert proxy.heads[0].startswith(b"CONNECT 127.0.0.1:%d HTTP/1.1" % port)


async def test_a_proxy_that_refuses_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "")
    async with serving(Proxy(refuses=True).handle) as port:
        monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{port}")
        async with client_of("https://models.example/") as client:
            with pytest.raises(Unreachable, match="403"):
                await client.post(b"")


async def test_closing_ends_what_is_under_way() -> None:
    async with talking(OK + b"Content-Length: 99\r\n\r\nhalf") as (client, _):
        response = await client.post(b"")
        await response.body.read()
        waiting = asyncio.create_task(response.body.read())
        await asyncio.sleep(0)
        await client.aclose()

        with pytest.raises(Broken):
            await waiting


async def test_behind_a_failure_only_what_had_come_is_read() -> None:
    async def trickle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(OK + b"Content-Length: 999999\r\n\r\n")
        while True:
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0)

    async with serving(trickle) as port, client_of(f"http://127.0.0.1:{port}/") as client:
        response = await client.post(b"")
        await response.body.read()
        response.body.fail(Broken("enough"))

        with pytest.raises(Broken, match="enough"):
            await read(response)
