"""Outgoing webhooks against a real server: signed, tried again, put aside when nobody takes them."""

import asyncio
import hmac
import json
import socket
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from bot.bus import LocalBus
from bot.messages import AgentEnd, AgentStart, RunId, SessionKey
from bot.web.api.base import DeadLetter
from bot.webhooks import Webhooks
from memory.database import DATABASE, Database
from memory.secrets import SecretStore
from memory.webhooks import WebhookBook


@dataclass
class Receiver:
    """What was posted to a server that answers as a test says."""

    url: str = ""
    status: int = 204
    taken: list[tuple[Message, bytes]] = field(default_factory=list)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A web server on loopback."""
    found = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            found.taken.append((self.headers, body))
            self.send_response(found.status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    found.url = f"http://127.0.0.1:{server.server_port}/take?from=bot"
    yield found
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
async def database(home: Path) -> AsyncIterator[Database]:
    """The store's file."""
    async with Database(home / DATABASE, synchronous="NORMAL") as opened:
        yield opened


@pytest.fixture
def bus() -> LocalBus:
    """Where events come from."""
    return LocalBus()


def webhooks_of(
    database: Database, bus: LocalBus, home: Path, waits: tuple[float, ...] = (0.01, 0.01)
) -> Webhooks:
    """Webhooks that do not wait for long."""
    return Webhooks(bus, WebhookBook(database), SecretStore(database, home, key="test"), waits=waits)


def start_of(number: int = 1) -> AgentStart:
    """An event."""
    return AgentStart(session=SessionKey("web:default:main"), run=RunId(f"run {number}"), attempt=1)


async def until(claim: Callable[[], bool]) -> None:
    """Wait for what another thread does."""
    async with asyncio.timeout(10):
        while not claim():  # noqa: ASYNC110 - the server is a thread, and tells nobody
            await asyncio.sleep(0.005)


async def test_an_event_arrives_once_and_signed(
    database: Database, bus: LocalBus, home: Path, receiver: Receiver
) -> None:
    async with webhooks_of(database, bus, home) as webhooks:
        _, secret = await webhooks.add(receiver.url, ["agent_start"])
        bus.emit(start_of())
        bus.emit(
            AgentEnd(session=SessionKey("web:default:main"), run=RunId("run 1"), reason="done", seconds=1)
        )
        await until(lambda: len(receiver.taken) == 1)
    ((headers, body),) = receiver.taken
    key = b64decode(secret.removeprefix("whsec_"))
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    expected = b64encode(hmac.digest(key, signed, "sha256")).decode()

    assert headers["webhook-signature"] == f"v1,{expected}"
    assert json.loads(body)["type"] == "agent_start"
    assert json.loads(body)["data"]["run"] == "run 1"


async def test_what_is_not_taken_is_tried_again_and_arrives_under_the_same_id(
    database: Database, bus: LocalBus, home: Path, receiver: Receiver
) -> None:
    receiver.status = 503
    async with webhooks_of(database, bus, home) as webhooks:
        await webhooks.add(receiver.url, ["*"])
        bus.emit(start_of())
        await until(lambda: len(receiver.taken) == 1)
        receiver.status = 200
        await until(lambda: len(receiver.taken) == 2)

    assert len({headers["webhook-id"] for headers, _ in receiver.taken}) == 1
    assert len({body for _, body in receiver.taken}) == 1


async def test_what_nobody_takes_is_put_aside_and_can_be_sent_once_more(
    database: Database, bus: LocalBus, home: Path, receiver: Receiver
) -> None:
    receiver.status = 500
    async with webhooks_of(database, bus, home) as webhooks:
        webhook, _ = await webhooks.add(receiver.url, ["*"])
        bus.emit(start_of())
        await until(lambda: len(receiver.taken) == 3)
        letters: list[DeadLetter] = []
        async with asyncio.timeout(10):
            while not letters:
                letters = await webhooks.dead(limit=10)
        receiver.status = 200
        is_there = await webhooks.retry(letters[0].id)
        await until(lambda: len(receiver.taken) == 4)

    assert [(one.webhook, one.error, one.tries) for one in letters] == [(webhook.id, "HTTP 500", 3)]
    assert is_there
    assert not await webhooks.retry("none")


async def test_who_is_gone_is_not_asked_again(
    database: Database, bus: LocalBus, home: Path, receiver: Receiver
) -> None:
    receiver.status = 410
    async with webhooks_of(database, bus, home) as webhooks:
        await webhooks.add(receiver.url, ["*"])
        bus.emit(start_of())
        async with asyncio.timeout(10):
            while not await webhooks.dead(limit=10):
                continue

    assert len(receiver.taken) == 1


async def test_a_letter_survives_a_restart(
    database: Database, bus: LocalBus, home: Path, receiver: Receiver
) -> None:
    receiver.status = 503
    async with webhooks_of(database, bus, home, waits=(3_600.0,)) as webhooks:
        await webhooks.add(receiver.url, ["*"])
        bus.emit(start_of())
        await until(lambda: len(receiver.taken) == 1)
    receiver.status = 200
    later = Webhooks(
        bus,
        WebhookBook(database),
        SecretStore(database, home, key="test"),
        clock=lambda: 10_000_000_000.0,
    )
    async with later:
        await until(lambda: len(receiver.taken) == 2)


async def test_one_that_hangs_holds_up_no_other(
    database: Database, bus: LocalBus, home: Path, receiver: Receiver
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as hanging:  # takes connections up and never says a word
        port = hanging.getsockname()[1]
        async with webhooks_of(database, bus, home) as webhooks:
            await webhooks.add(f"http://127.0.0.1:{port}/", ["*"])
            await webhooks.add(receiver.url, ["*"])
            for number in range(20):
                bus.emit(start_of(number))
            await until(lambda: len(receiver.taken) == 20)


async def test_nothing_is_read_of_the_bus_while_nobody_is_to_be_told(
    database: Database, bus: LocalBus, home: Path, receiver: Receiver
) -> None:
    async with webhooks_of(database, bus, home) as webhooks:
        before = webhooks.is_listening
        webhook, _ = await webhooks.add(receiver.url, ["error"])
        after = webhooks.is_listening
        removed = await webhooks.remove(webhook.id)
        bus.emit(start_of())

    assert (before, after, removed) == (False, True, True)
    assert await webhooks.all() == []


async def test_an_event_that_does_not_exist_is_refused_with_those_that_do(
    database: Database, bus: LocalBus, home: Path
) -> None:
    async with webhooks_of(database, bus, home) as webhooks:
        with pytest.raises(ValueError, match="agent_start"):
            await webhooks.add("http://127.0.0.1/", ["agent_begin"])
        with pytest.raises(ValueError, match="address"):
            await webhooks.add("gopher://x", ["*"])


async def test_what_signs_is_not_readable_in_the_data(
    database: Database, bus: LocalBus, home: Path, receiver: Receiver
) -> None:
    async with webhooks_of(database, bus, home) as webhooks:
        _, secret = await webhooks.add(receiver.url, ["*"])

    kept = [file.read_bytes() for file in files_of(home)]
    assert kept
    assert not any(secret.removeprefix("whsec_").encode() in content for content in kept)


def files_of(home: Path) -> list[Path]:
    """All files of a data directory."""
    return [file for file in home.rglob("*") if file.is_file()]
