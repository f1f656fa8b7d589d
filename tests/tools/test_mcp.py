"""MCP servers, as real processes and over real HTTP."""

import asyncio
import base64
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import get_args

import msgspec
import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr, ValidationError

from bot.models.backoff import Backoff
from bot.settings.mcp import McpServerSettings
from bot.tools.base import Risk, Tool, ToolFault, ToolOutput
from bot.tools.declare import NAME
from bot.tools.mcp import McpServers
from bot.tools.mcp_results import Shelf
from bot.tools.mcp_schema import arguments_model, qualified_name
from bot.tools.mcp_server import McpState
from tests.tools.mcp_servers.hosting import App, Host, Message, Receive, Send
from tests.tools.mcp_servers.workshop import PIXEL, workshop

SERVERS = Path(__file__).parent / "mcp_servers"
ROOT = SERVERS.parents[2]
QUICK = Backoff(base=0.02, cap=0.1)
SECONDS = 20.0
BOT = """
import asyncio, sys
from pathlib import Path
from bot.settings.mcp import McpServerSettings
from bot.tools.mcp import McpServers

async def main():
    settings = McpServerSettings(command=sys.argv[1], args=(sys.argv[2], "--stubborn"))
    async with McpServers({"one": settings}, lambda: None, directory=Path("files")) as servers:
        while not servers.tools():
            await asyncio.sleep(0.01)
        where = next(tool for tool in servers.tools() if tool.name == "one__where")
        print((await where.handler()).text, flush=True)
        await asyncio.sleep(300)

asyncio.run(main())
"""


class Rig:
    """Servers that are kept connected, and what is waited for."""

    def __init__(self, servers: McpServers, news: asyncio.Event) -> None:
        self.servers = servers
        self._news = news

    def state(self, name: str = "one") -> McpState:
        return next(state for state in self.servers.states() if state.name == name)

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(SECONDS):
            while not condition():  # noqa: ASYNC110  # no event tells of it
                await asyncio.sleep(0.005)

    async def ready(self, name: str = "one") -> None:
        await self.until(lambda: self.state(name).status == "ready")

    def tool(self, name: str) -> Tool:
        return {tool.name: tool for tool in self.servers.tools()}[name]

    async def call(self, name: str, **arguments: object) -> ToolOutput:
        tool = self.tool(name)
        output = await tool.handler(**dict(tool.arguments.model_validate(arguments)))
        assert isinstance(output, ToolOutput)
        return output

    async def text(self, name: str, **arguments: object) -> str:
        return (await self.call(name, **arguments)).text


def rough(*args: str, **options: object) -> McpServerSettings:
    """The server by hand, as a program."""
    values = {"command": sys.executable, "args": ("-S", str(SERVERS / "rough.py"), *args), **options}
    return McpServerSettings.model_validate(values)


def at(host: Host, path: str, **options: object) -> McpServerSettings:
    """A server behind an address."""
    return McpServerSettings.model_validate({"url": f"http://127.0.0.1:{host.port}{path}", **options})


def is_gone(process: psutil.Process) -> bool:
    """Ended, though perhaps whoever inherited it has not yet taken note."""
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def legacy() -> App:
    """The workshop, by the protocol that has sessions."""
    app = workshop().streamable_http_app()

    async def older(scope: Message, receive: Receive, send: Send) -> None:
        if (b"mcp-protocol-version", b"2026-07-28") in scope.get("headers", ()):
            await send({"type": "http.response.start", "status": 400, "headers": []})
            await send({"type": "http.response.body", "body": b"no such version"})
        else:
            await app(scope, receive, send)

    return older


@asynccontextmanager
async def connected(
    directory: Path, *, patience: float = SECONDS, backoff: Backoff = QUICK, **settings: McpServerSettings
) -> AsyncIterator[Rig]:
    """Servers by name, being connected."""
    news = asyncio.Event()
    async with McpServers(
        settings, news.set, directory=directory / "files", backoff=backoff, patience=patience
    ) as servers:
        yield Rig(servers, news)


@pytest.fixture(autouse=True)
def no_process_left_behind() -> Iterator[None]:
    """Count processes, those of processes included."""
    before = {process.pid for process in psutil.Process().children(recursive=True)}
    yield
    left = [one for one in psutil.Process().children(recursive=True) if one.pid not in before]
    assert left == []


async def test_tools_of_a_program_are_found_and_called(tmp_path: Path) -> None:
    program = McpServerSettings(
        command=sys.executable, args=(str(SERVERS / "workshop.py"),), tools=("add", "f*"), risk="read"
    )
    async with connected(tmp_path, one=program) as rig:
        await rig.ready()
        tool = rig.tool("one__add")

        assert {tool.name for tool in rig.servers.tools()} == {"one__add", "one__fail"}
        assert (tool.schema.description, tool.group, tool.risk) == ("Add two numbers.", "mcp:one", "read")
        assert msgspec.json.decode(tool.schema.parameters)["required"] == ["a", "b"]
        assert await rig.text("one__add", a=2, b=40) == "42"


@pytest.mark.parametrize(
    ("path", "options"),
    [("/mcp", {}), ("/mcp", {"transport": "http"}), ("/sse", {"transport": "sse"}), ("/sse", {})],
)
async def test_a_server_is_reached_over_http_by_the_transport_it_has(
    tmp_path: Path, path: str, options: dict[str, object]
) -> None:
    server = workshop()
    app = server.sse_app() if path == "/sse" else server.streamable_http_app()
    async with Host(app) as host, connected(tmp_path, one=at(host, path, **options)) as rig:
        await rig.ready()

        assert await rig.text("one__add", a=2, b=40) == "42"
        with pytest.raises(ToolFault, match="no such luck"):
            await rig.call("one__fail", reason="no such luck")


async def test_every_kind_of_content_reaches_the_model(tmp_path: Path) -> None:
    async with (
        Host(workshop().streamable_http_app()) as host,
        connected(tmp_path, one=at(host, "/mcp")) as rig,
    ):
        await rig.ready()
        output = await rig.call("one__everything")
        structured = await rig.text("one__structured")
        long = await rig.text("one__long", signs=60_000)

    image = output.images[0]
    assert (tmp_path / "files" / image.name).read_bytes() == PIXEL  # a few bytes
    assert (image.kind, image.mime, image.size) == ("image", "image/png", len(PIXEL))
    assert {Path(one.path or "").parent for one in output.images} == {tmp_path / "files"}
    assert len(output.images) == 2, "text that is said to be an image is none"
    for part in ("Look:", "can't be read", "[notes://1]\na note", "https://example.org/report", "saved as"):
        assert part in output.text
    assert structured == '{"degrees":21}'
    assert len(long) < 51_000
    assert "10,000 more characters" in long


async def test_a_server_is_told_its_headers_and_nothing_of_them_is_shown(tmp_path: Path) -> None:
    inner = workshop().streamable_http_app()
    seen: list[bytes] = []

    async def outer(scope: Message, receive: Receive, send: Send) -> None:
        seen.append(dict(scope.get("headers", ())).get(b"authorization", b""))
        await inner(scope, receive, send)

    async with Host(outer) as host:
        settings = at(host, "/mcp", headers={"Authorization": "Bearer abc"})
        async with connected(tmp_path, one=settings) as rig:
            await rig.ready()

    assert b"Bearer abc" in seen
    assert "abc" not in repr(settings)


async def test_a_call_that_takes_too_long_is_a_fault_and_cancelled_at_the_server(tmp_path: Path) -> None:
    async with connected(tmp_path, one=rough(timeout=0.2)) as rig:
        await rig.ready()

        with pytest.raises(ToolFault, match=r"'one' has not answered within 0\.2 s"):
            await rig.call("one__hang")
        assert len(json.loads(await rig.text("one__cancelled"))) == 1


@pytest.mark.parametrize("path", ["/mcp", "/sse"])
async def test_a_call_that_is_cancelled_here_is_cancelled_there(tmp_path: Path, path: str) -> None:
    server = workshop()
    app = server.sse_app() if path == "/sse" else server.streamable_http_app()
    async with Host(app) as host, connected(tmp_path, one=at(host, path)) as rig:
        await rig.ready()
        call = asyncio.create_task(rig.call("one__wait", directory=str(tmp_path)))
        await rig.until((tmp_path / "begun").exists)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

        await rig.until((tmp_path / "cancelled").exists)
        assert await rig.text("one__add", a=1, b=1) == "2"


async def test_death_in_the_middle_of_a_call_is_told_and_the_server_started_again(tmp_path: Path) -> None:
    async with connected(tmp_path, one=rough()) as rig:
        await rig.ready()
        first = await rig.text("one__where")

        with pytest.raises(ToolFault, match="may have taken effect"):
            await rig.call("one__die")
        second = await rig.text("one__where")

        assert first != second
        assert rig.state().status == "ready"


async def test_a_server_that_is_killed_between_calls_is_back_for_the_next_one(tmp_path: Path) -> None:
    async with connected(tmp_path, one=rough()) as rig:
        await rig.ready()
        os.kill(int(await rig.text("one__where")), signal.SIGKILL)
        await rig.until(lambda: rig.state().status != "ready")

        assert await rig.text("one__echo", word="again") == '{"word": "again"}'


async def test_a_web_server_that_is_away_is_waited_for(tmp_path: Path) -> None:
    async with (
        Host(workshop().streamable_http_app()) as host,
        connected(tmp_path, one=at(host, "/mcp")) as rig,
    ):
        await rig.ready()
        await host.stop()
        call = asyncio.create_task(rig.text("one__add", a=2, b=2))
        await rig.until(lambda: rig.state().status != "ready")

        async with Host(workshop().streamable_http_app(), port=host.port):
            assert await call == "4"


async def test_a_stream_of_events_that_ended_is_begun_again(tmp_path: Path) -> None:
    async with Host(workshop().sse_app()) as host, connected(tmp_path, one=at(host, "/sse")) as rig:
        await rig.ready()
        await host.stop()
        await rig.until(lambda: rig.state().status != "ready")

        async with Host(workshop().sse_app(), port=host.port):
            assert await rig.text("one__add", a=2, b=2) == "4"


async def test_a_session_that_the_server_forgot_is_begun_anew(tmp_path: Path) -> None:
    async with Host(legacy()) as host, connected(tmp_path, one=at(host, "/mcp")) as rig:
        await rig.ready()
        await host.stop()
        async with Host(legacy(), port=host.port):
            assert await rig.text("one__add", a=3, b=4) == "7"


async def test_a_call_while_a_server_is_away_gets_a_clear_fault_in_the_end(tmp_path: Path) -> None:
    async with connected(tmp_path, one=rough(), patience=0.2, backoff=Backoff(base=30, cap=60)) as rig:
        await rig.ready()
        with pytest.raises(ToolFault):
            await rig.call("one__die")

        with pytest.raises(ToolFault, match=r"'one' is away \(.*\)\. Nothing was done"):
            await rig.call("one__echo")


@pytest.mark.parametrize("kind", ["program", "web"])
async def test_tools_that_a_server_gets_later_are_offered(tmp_path: Path, kind: str) -> None:
    async with Host(workshop().streamable_http_app()) as host:
        settings = rough() if kind == "program" else at(host, "/mcp")
        async with connected(tmp_path, one=settings) as rig:
            await rig.ready()
            assert "one__grown" not in rig.state().tools
            await asyncio.sleep(0.1)  # the stream of changes is opened after the first look
            rig._news.clear()
            await rig.call("one__grow")

            async with asyncio.timeout(SECONDS):
                await rig._news.wait()
            assert "one__grown" in rig.state().tools


async def test_lists_of_many_pages_are_read_to_their_end(tmp_path: Path) -> None:
    async with connected(tmp_path, one=rough("--pages", "7"), two=rough("--endless")) as rig:
        await rig.ready("one")
        await rig.ready("two")

        assert [name for name in rig.state("one").tools if "page" in name] == [
            f"one__page{n}" for n in range(1, 8)
        ]
        assert len(rig.state("two").tools) < 100


async def test_a_hundred_calls_at_once_get_each_its_own_answer(tmp_path: Path) -> None:
    async with (
        Host(workshop().streamable_http_app()) as host,
        connected(tmp_path, web=at(host, "/mcp"), program=rough()) as rig,
    ):
        await rig.ready("web")
        await rig.ready("program")
        sums = [rig.text("web__add", a=number, b=0) for number in range(100)]
        echoes = [rig.text("program__echo", number=number) for number in range(100)]

        assert await asyncio.gather(*sums) == [str(number) for number in range(100)]
        assert await asyncio.gather(*echoes) == [json.dumps({"number": number}) for number in range(100)]


async def test_lines_that_are_no_messages_are_passed_over(tmp_path: Path) -> None:
    async with connected(tmp_path, one=rough("--junk")) as rig:
        await rig.ready()

        assert await rig.text("one__echo", word="heard") == '{"word": "heard"}'


async def test_an_answer_without_end_costs_the_connection_and_not_the_memory(tmp_path: Path) -> None:
    async with connected(tmp_path, one=rough()) as rig:
        await rig.ready()

        with pytest.raises(ToolFault, match="broke during the call"):
            await rig.call("one__huge")
        assert await rig.text("one__echo", word="back") == '{"word": "back"}'


async def test_a_server_that_starts_slowly_holds_up_nobody(tmp_path: Path) -> None:
    async with connected(tmp_path, slow=rough("--slow", "0.3"), quick=rough()) as rig:
        await rig.ready("quick")
        was_waiting = rig.state("slow").status == "connecting"
        await rig.ready("slow")

        assert was_waiting
        assert await rig.text("slow__echo") == "{}"


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        (McpServerSettings(command="no-such-program-anywhere"), "there is no program"),
        (McpServerSettings(command=sys.executable, args=("-c", "raise SystemExit(3)")), "it ended"),
        (McpServerSettings(url="http://127.0.0.1:9/mcp"), "can't be reached"),
        (McpServerSettings(url="http://127.0.0.1:9/sse", transport="sse"), "HTTP 503|can't be reached"),
        (McpServerSettings(url="http://[::1"), "address"),
    ],
)
async def test_a_server_that_cannot_be_reached_is_named_with_the_reason(
    tmp_path: Path, settings: McpServerSettings, fault: str
) -> None:
    async with connected(tmp_path, one=settings) as rig:
        await rig.until(lambda: rig.state().status == "away")

        assert re.search(fault, rig.state().fault)
        assert rig.servers.tools() == ()


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("packed", "compresses answers"),
        ("long", "has more than 16,777,216 bytes"),
        ("torn", "connection broke"),
        ("broken", "HTTP 500"),
        ("odd", "can't be read"),
        ("page", "content type"),
    ],
)
async def test_a_bad_answer_costs_no_call_but_its_own(tmp_path: Path, fault: str, words: str) -> None:
    app = workshop().streamable_http_app()

    async def moody(scope: Message, receive: Receive, send: Send) -> None:
        if (b"mcp-name", b"long") in scope.get("headers", ()):
            await badly(fault, receive, send)
        else:
            await app(scope, receive, send)

    async with Host(moody) as host, connected(tmp_path, one=at(host, "/mcp")) as rig:
        await rig.ready()
        other = asyncio.create_task(rig.text("one__wait", directory=str(tmp_path), seconds=0.2))
        await rig.until((tmp_path / "begun").exists)

        with pytest.raises(ToolFault, match=words):
            await rig.call("one__long", signs=1)
        assert await other == "waited"
        assert rig.state().status == "ready"


async def badly(fault: str, receive: Receive, send: Send) -> None:
    """Answer in a way that nobody should."""
    kinds = {"odd": b"application/json", "page": b"text/html", "broken": b"text/html"}
    headers = [(b"content-type", kinds.get(fault, b"application/json"))]
    if fault == "packed":
        headers.append((b"content-encoding", b"gzip"))
    body = json.loads((await receive())["body"])
    odd = {"jsonrpc": "2.0", "id": body["id"], "result": {"content": "what?"}}
    content = json.dumps(odd).encode() if fault == "odd" else b"{"
    if fault == "torn":
        headers.append((b"content-length", b"100"))
    status = 500 if fault == "broken" else 200
    await send({"type": "http.response.start", "status": status, "headers": headers})
    for _ in range(18 if fault == "long" else 0):
        await send({"type": "http.response.body", "body": b" " * 2**20, "more_body": True})
    if fault == "torn":
        await send({"type": "http.response.body", "body": content, "more_body": True})
        raise ConnectionResetError
    await send({"type": "http.response.body", "body": content})


async def test_half_a_letter_in_an_argument_does_no_harm(tmp_path: Path) -> None:
    async with connected(tmp_path, one=rough()) as rig:
        await rig.ready()

        assert await rig.text("one__echo", word="half \ud800") == '{"word": "half ?"}'
        assert rig.state().status == "ready"


async def test_the_oldest_files_go_when_they_get_too_many(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path / "files", max_bytes=25)
    kept = [await shelf.keep(base64.b64encode(bytes(10)).decode(), "text/plain") for _ in range(4)]
    names = [file.name for file in kept if file is not None]

    assert sorted(file.name for file in (tmp_path / "files").iterdir()) == names[2:]


async def test_a_door_that_is_locked_is_named_by_its_status(tmp_path: Path) -> None:
    async def locked(scope: Message, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 401, "headers": []})
        await send({"type": "http.response.body", "body": b"<html>who are you?"})

    async with Host(locked) as host, connected(tmp_path, one=at(host, "/mcp")) as rig:
        await rig.until(lambda: rig.state().status == "away")

        assert rig.state().fault == "it answers with HTTP 401"


async def test_tools_that_fit_no_model_are_left_out_and_the_others_made_to_fit(tmp_path: Path) -> None:
    async with connected(tmp_path, one=rough("--odd")) as rig:
        await rig.ready()
        odd = {name for name in rig.state().tools if "too_big" in name or "no_number" in name}
        large = rig.tool("one__large").schema.parameters
        dotted = next(
            tool
            for tool in rig.servers.tools()
            if tool.name.startswith("one__a_b_") and "y" in tool.schema.description
        )
        hidden = next(tool for tool in rig.servers.tools() if "hidden" in tool.schema.description)

        assert odd == set()
        assert json.loads(large)["properties"]["a"]["maximum"] == 10**30
        assert len(dotted.schema.description) == 1_000
        assert hidden.schema.description == "hidden [31mtext"
        assert await rig.text(hidden.name, a=1) == '{"a": 1}'


async def test_a_program_gets_no_variables_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    async with connected(tmp_path, one=rough(env={"TOKEN": SecretStr("its own")})) as rig:
        await rig.ready()
        seen = json.loads(await rig.text("one__environment"))

    assert seen["TOKEN"] == "its own"
    assert "PATH" in seen
    assert not {name for name in seen if name.startswith(("BOT_", "OPENAI_", "PYTEST_"))}


async def test_what_a_server_has_started_goes_with_it(tmp_path: Path) -> None:
    async with connected(tmp_path, one=rough()) as rig:
        await rig.ready()
        child = psutil.Process(int(await rig.text("one__spawn")))
        assert child.is_running()

    await rig.until(lambda: is_gone(child))


async def test_a_server_that_ignores_its_end_is_ended(tmp_path: Path) -> None:
    async with connected(tmp_path, one=rough("--stubborn")) as rig:
        await rig.ready()
        server = psutil.Process(int(await rig.text("one__where")))
        child = psutil.Process(int(await rig.text("one__spawn")))

    await rig.until(lambda: is_gone(server) and is_gone(child))


async def test_no_server_outlives_a_bot_that_is_killed(tmp_path: Path) -> None:
    bot = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", BOT, sys.executable, str(SERVERS / "rough.py")),
        stdout=asyncio.subprocess.PIPE,
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"]},
    )
    assert bot.stdout is not None
    async with asyncio.timeout(SECONDS):
        server = psutil.Process(int(await bot.stdout.readline()))
    family = [server, *server.parents()[:1]]
    assert family[1].pid != bot.pid, "the keeper is in between"

    bot.kill()
    await bot.wait()

    async with asyncio.timeout(SECONDS):
        while not all(is_gone(one) for one in family):  # noqa: ASYNC110  # not our children
            await asyncio.sleep(0.02)


async def test_closing_does_not_wait_for_a_server_that_never_answers(tmp_path: Path) -> None:
    async with connected(tmp_path, one=rough("--silent")) as rig:
        await rig.until(lambda: bool(psutil.Process().children(recursive=True)))
        assert rig.state().status == "connecting"


def test_nothing_of_the_sdk_is_loaded_without_a_server(tmp_path: Path) -> None:
    code = (
        "import asyncio, sys; from pathlib import Path; from bot.tools.mcp import McpServers\n"
        "async def main():\n"
        "    async with McpServers({}, print, directory=Path('x')): pass\n"
        "asyncio.run(main()); print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=True,
        timeout=SECONDS,
    )

    assert {"mcp", "mcp_types", "httpx2", "bot.tools.mcp_link"}.isdisjoint(done.stdout.split())


@given(server=st.from_regex(r"[a-z0-9]{1,24}", fullmatch=True), tool=st.text(max_size=100))
def test_names_are_valid_and_stay_the_same(server: str, tool: str) -> None:
    name = qualified_name(server, tool)

    assert NAME.fullmatch(name)
    assert name.startswith(f"{server}__")
    assert name == qualified_name(server, tool)


@given(names=st.sets(st.text(alphabet="ab._/ ", min_size=1, max_size=80), max_size=20))
def test_different_tools_have_different_names(names: set[str]) -> None:
    assert len({qualified_name("one", name) for name in names}) == len(names)


@given(
    arguments=st.dictionaries(
        st.text(min_size=1), st.integers() | st.lists(st.text(), max_size=3), max_size=5
    )
)
def test_any_object_is_taken_as_it_is(arguments: dict[str, object]) -> None:
    model = arguments_model("any", {"type": "object", "properties": {}})

    assert dict(model.model_validate(arguments)) == arguments


@pytest.mark.parametrize(
    ("given", "words"), [({}, "missing: a"), ({"a": 1, "c": 2}, "unknown: c; it takes a, b")]
)
def test_arguments_without_the_names_that_are_asked_for_are_refused(given: object, words: str) -> None:
    schema = {"properties": {"a": {}, "b": {}}, "required": ["a"], "additionalProperties": False}
    model = arguments_model("some", schema)

    with pytest.raises(ValidationError, match=words):
        model.model_validate(given)


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"command": "a", "url": "https://b"},
        {"command": "a", "transport": "http"},
        {"url": "https://b", "transport": "stdio"},
        {"url": "https://b", "args": ["c"]},
        {"command": "a", "headers": {"c": "d"}},
        {"url": "https://b", "headers": {"c": "d\ne: f"}},
        {"url": "https://b", "headers": {"c d": "e"}},
        {"command": "a", "env": {"c=d": "e"}},
        {"url": "file:///b"},
        {"command": "a", "timeout": 0},
    ],
)
def test_settings_that_contradict_themselves_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        McpServerSettings.model_validate(wrong)


def test_the_risks_of_the_settings_are_those_of_tools() -> None:
    assert get_args(McpServerSettings.model_fields["risk"].annotation) == get_args(Risk)
