"""The frames over a real server and a real WebSocket."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, get_args
from urllib.request import urlopen

import pytest
from pydantic import SecretStr
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from bot.messages import encoder
from bot.settings import WebSettings
from channels.frames import (
    Accepted,
    ClientFrame,
    Fault,
    Grow,
    Hello,
    Over,
    Refused,
    Said,
    Send,
    ServerFrame,
    Welcome,
    decode_server,
)
from tests.channels.site import Site


async def send(socket: ClientConnection, frame: ClientFrame) -> None:
    await socket.send(encoder.encode(frame).decode())


async def read_until(socket: ClientConnection, kind: type[ServerFrame]) -> list[ServerFrame]:
    seen: list[ServerFrame] = []
    async with asyncio.timeout(10):
        while not (seen and isinstance(seen[-1], kind)):
            seen.append(decode_server(await socket.recv()))
    return seen


async def test_a_message_goes_there_and_its_answer_grows_and_ends(site: Site) -> None:
    go = asyncio.Event()

    async def pause(text: str) -> AsyncIterator[str]:
        yield "to "
        await go.wait()
        yield "and fro"

    site.bot.reply = pause
    async with connect(site.socket_url) as socket:
        await send(socket, Hello())
        welcome = await read_until(socket, Welcome)
        await send(socket, Send(id="m1", text="to and fro"))
        frames = await read_until(socket, Grow)
        go.set()
        over = (await read_until(socket, Over))[-1]

    assert welcome[0].bot == "Echo"  # type: ignore[union-attr]  # read_until gave a welcome
    assert {type(frame) for frame in frames} >= {Said, Grow}
    assert isinstance(over, Over)
    assert over.text == "to and fro"


async def test_the_terminal_has_a_chat_of_its_own(site: Site) -> None:
    async with connect(site.socket_url) as web, connect(site.socket_url) as terminal:
        await send(web, Hello())
        await read_until(web, Welcome)
        await send(web, Send(id="m1", text="hi"))
        await read_until(web, Over)
        await send(terminal, Hello(channel="terminal"))

        welcome = (await read_until(terminal, Welcome))[0]

    assert isinstance(welcome, Welcome)
    assert welcome.messages == ()


@pytest.mark.parametrize(
    "data",
    [
        "",
        "{",
        "[]",
        "null",
        '{"type":"nonsense"}',
        '{"type":"send"}',
        '{"type":"hello","chat":"a:b"}',
        '{"type":"hello","channel":"telegram"}',
        '{"type":"send","id":"","text":"x"}',
        '"\\ud800"',
        b"\xff\xfe",
    ],
)
async def test_what_is_no_frame_gets_a_fault_and_the_connection_stays(site: Site, data: str | bytes) -> None:
    async with connect(site.socket_url) as socket:
        await socket.send(data)
        before = decode_server(await socket.recv())
        await send(socket, Hello())
        await read_until(socket, Welcome)
        await socket.send(data)
        after = decode_server(await socket.recv())
        await send(socket, Send(id="m1", text="still here"))
        await read_until(socket, Over)

    assert isinstance(before, Fault)
    assert isinstance(after, Fault)


async def test_the_longest_message_gets_through_however_it_is_escaped(site: Site) -> None:
    text = "\U0001f600" * 100_000
    async with connect(site.socket_url, max_size=None) as socket:
        await send(socket, Hello())
        await read_until(socket, Welcome)
        escaped = text.encode("unicode_escape").replace(b"\\U0001f600", b"\\ud83d\\ude00").decode()
        await socket.send(f'{{"type":"send","id":"m1","text":"{escaped}"}}')
        over = (await read_until(socket, Over))[-1]
        await send(socket, Send(id="m2", text=text + "x"))
        await read_until(socket, Refused)

    assert isinstance(over, Over)
    assert over.text == f"{text} "


async def test_a_client_that_catches_up_after_a_restart_sees_each_message_once(site: Site) -> None:
    async with connect(site.socket_url) as socket:
        await send(socket, Hello())
        await read_until(socket, Welcome)
        await send(socket, Send(id="m1", text="before"))
        await read_until(socket, Over)
        await site.stop()
        with pytest.raises(ConnectionClosed):
            await socket.recv()
    await site.start()

    async with connect(site.socket_url) as socket:
        await send(socket, Hello())
        welcome = (await read_until(socket, Welcome))[0]
        await send(socket, Send(id="m1", text="before"))
        accepted = (await read_until(socket, Accepted))[0]

    assert isinstance(welcome, Welcome)
    assert isinstance(accepted, Accepted)
    assert [(line.role, line.run) for line in welcome.messages] == [
        ("user", accepted.run),
        ("assistant", accepted.run),
    ]


async def test_another_site_gets_no_connection(site: Site) -> None:
    with pytest.raises(InvalidStatus) as refused:
        await connect(site.socket_url, origin="https://evil.example")  # type: ignore[arg-type]  # a NewType

    assert refused.value.response.status_code == 403


async def test_with_a_token_only_those_who_know_it_get_a_connection() -> None:
    async with Site(settings=WebSettings(port=0, token=SecretStr("sesame"))) as site:
        for headers in ({}, {"Authorization": "Bearer wrong"}):
            with pytest.raises(InvalidStatus) as refused:
                await connect(site.socket_url, additional_headers=headers)
            assert refused.value.response.status_code == 403
        async with connect(site.socket_url, additional_headers={"Authorization": "Bearer sesame"}) as socket:
            await send(socket, Hello())
            await read_until(socket, Welcome)


async def test_all_files_of_the_page_come_from_us_and_are_checked_for_news(site: Site) -> None:
    def load(path: str) -> tuple[str, str | None]:
        with urlopen(f"{site.url}{path}") as answer:
            return answer.headers.get_content_type(), answer.headers["Cache-Control"]

    page = await asyncio.to_thread(load, "/chat")
    script = await asyncio.to_thread(load, "/chat/static/chat.js")

    assert page == ("text/html", "no-cache")
    assert script == ("text/javascript", "no-cache")


async def test_the_client_in_the_document_works(site: Site) -> None:
    document = (Path(__file__).parents[2] / "docs" / "websocket.md").read_text(encoding="utf-8")
    code = document.split("```python\n")[1].split("```")[0]
    space: dict[str, Any] = {"__name__": "document"}  # `Any`: what exec fills in
    exec(compile(code, "websocket.md", "exec"), space)

    assert await space["ask"](site.socket_url, "from the document") == "from the document "


def test_the_document_names_every_frame_and_every_field() -> None:
    document = (Path(__file__).parents[2] / "docs" / "websocket.md").read_text(encoding="utf-8")
    for kind in (*get_args(ClientFrame), *get_args(ServerFrame)):
        row = next(
            line for line in document.splitlines() if line.startswith(f"| `{kind.__struct_config__.tag}`")
        )
        for field in kind.__struct_fields__:
            assert f"`{field}`" in row
