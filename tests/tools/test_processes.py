"""The tool `process`, with the real sandbox."""

import asyncio
import re
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.messages import SessionKey
from bot.settings.sandbox import SandboxSettings
from bot.tools.base import ToolContext, ToolFault
from bot.tools.processes import IN_ALL, PER_SESSION, ProcessTools, Ring
from security.bubblewrap import BubblewrapSandbox
from security.sandbox import NoSandbox
from tests.factories import inbound

HERE = ToolContext(message=inbound(session="web:default:here"))
THERE = ToolContext(message=inbound(session="web:default:there"))


@pytest.fixture
def workspace(home: Path) -> Path:
    path = home / "workspace"
    path.mkdir()
    return path


@pytest.fixture
async def tools(workspace: Path) -> AsyncIterator[ProcessTools]:
    if shutil.which("bwrap") is None:
        pytest.fail("these tests need bubblewrap: apt-get install bubblewrap")
    async with ProcessTools(BubblewrapSandbox(workspace), workspace, SandboxSettings()) as opened:
        yield opened


async def start(tools: ProcessTools, command: str, context: ToolContext = HERE) -> str:
    """Its id."""
    text = await tools.process(context, "start", command=command)
    match = re.match(r"started (p\d+)\n", text)
    assert match is not None, text
    return match[1]


async def output_with(tools: ProcessTools, id_: str, words: str) -> str:
    """Read on until something was printed."""
    text = ""
    async with asyncio.timeout(10):
        while words not in text:
            new = await tools.process(HERE, "output", id=id_, wait=5)
            assert "(no new output)" not in new or words in new, new
            text += new
    return text


def sandboxes() -> list[psutil.Process]:
    """Those that run for this process."""
    return [child for child in psutil.Process().children(recursive=True) if child.name() == "bwrap"]


async def test_a_start_shows_what_is_printed_at_once(tools: ProcessTools) -> None:
    text = await tools.process(HERE, "start", command="echo ready; sleep 60")

    assert text.startswith("started p1\nready\n[p1: running; output up to 6]")


async def test_a_process_answers_its_input(tools: ProcessTools) -> None:
    id_ = await start(tools, "echo ready; while read line; do echo got $line; done")

    await tools.process(HERE, "input", id=id_, text="one")

    assert "got one" in await output_with(tools, id_, "got one")


async def test_output_is_read_on_and_again(tools: ProcessTools) -> None:
    id_ = await start(tools, "seq 10000; echo end")
    await output_with(tools, id_, "exit code 0")

    first = await tools.process(HERE, "output", id=id_, offset=0)
    second = await tools.process(HERE, "output", id=id_)

    assert first.startswith("1\n2\n")
    assert "bytes more from offset 16384" in first
    assert "output up to 32768" in second


async def test_output_ends_with_the_exit_code(tools: ProcessTools) -> None:
    id_ = await start(tools, "echo bad; exit 3")

    assert "exit code 3" in await output_with(tools, id_, "exit code")
    with pytest.raises(ToolFault, match="has ended"):
        await tools.process(HERE, "input", id=id_, text="hello?")


async def test_a_list_names_what_runs_here_only(tools: ProcessTools) -> None:
    id_ = await start(tools, "echo; sleep 60")

    assert "sleep 60" in await tools.process(HERE, "list")
    assert await tools.process(THERE, "list") == "nothing runs in this conversation"
    for action in ("output", "input", "stop"):
        with pytest.raises(ToolFault, match="no process"):
            await tools.process(THERE, action, id=id_)


async def test_a_stopped_process_is_gone_with_all_that_it_started(tools: ProcessTools) -> None:
    id_ = await start(tools, "setsid sleep 61 & trap '' TERM; echo up; sleep 61")

    text = await tools.process(HERE, "stop", id=id_)

    assert "SIGKILL" in text
    assert sandboxes() == []


async def test_a_session_has_so_many_and_no_more(tools: ProcessTools) -> None:
    results = await asyncio.gather(
        *(tools.process(HERE, "start", command="echo; sleep 60") for _ in range(PER_SESSION + 2)),
        return_exceptions=True,
    )

    assert [isinstance(one, ToolFault) for one in results].count(True) == 2
    assert len(sandboxes()) >= PER_SESSION
    await tools.process(HERE, "stop", id="p1")
    await start(tools, "echo again")


async def test_there_are_so_many_in_all_and_no_more(tools: ProcessTools) -> None:
    for number in range(IN_ALL):
        context = ToolContext(message=inbound(session=f"web:default:{number // PER_SESSION}"))
        await start(tools, "echo; sleep 60", context)

    with pytest.raises(ToolFault, match="in all"):
        await start(tools, "echo")


async def test_a_deleted_session_takes_its_processes_along(tools: ProcessTools) -> None:
    await start(tools, "echo; sleep 60")
    there = await start(tools, "echo; sleep 60", THERE)

    await tools.close_session(SessionKey("web:default:here"))

    assert await tools.process(HERE, "list") == "nothing runs in this conversation"
    assert "running" in await tools.process(THERE, "output", id=there)


async def test_nothing_runs_on_after_the_end(workspace: Path) -> None:
    async with ProcessTools(BubblewrapSandbox(workspace), workspace, SandboxSettings()) as tools:
        await start(tools, "echo; sleep 60")
        await start(tools, "echo; sleep 60", THERE)
        assert sandboxes()

    assert sandboxes() == []


async def test_a_process_that_nobody_cares_for_is_stopped(workspace: Path) -> None:
    sandbox = BubblewrapSandbox(workspace)
    async with ProcessTools(sandbox, workspace, SandboxSettings(), idle_seconds=0.2) as tools:
        await start(tools, "echo; sleep 60")

        async with asyncio.timeout(10):
            while "idle for too long" not in await tools.process(HERE, "list"):  # noqa: ASYNC110
                await asyncio.sleep(0.01)

        assert sandboxes() == []


async def test_output_without_end_stays_within_bounds(tools: ProcessTools) -> None:
    id_ = await start(tools, "yes")

    async with asyncio.timeout(10):
        text = ""
        while "are gone" not in text:
            text = await tools.process(HERE, "output", id=id_, offset=0)
            await asyncio.sleep(0.01)

    assert len(text) < 20_000


async def test_a_directory_outside_is_refused(tools: ProcessTools) -> None:
    with pytest.raises(ToolFault, match="outside"):
        await tools.process(HERE, "start", command="true", directory="..")


async def test_a_character_is_never_cut_in_two(tools: ProcessTools) -> None:
    id_ = await start(tools, "printf 'a%.0s' $(seq 16383); printf '\N{EURO SIGN}b'")
    await output_with(tools, id_, "b\n[")

    first = await tools.process(HERE, "output", id=id_, offset=0)
    second = await tools.process(HERE, "output", id=id_)

    assert "\N{REPLACEMENT CHARACTER}" not in first + second
    assert second.startswith("\N{EURO SIGN}b\n")


def test_without_a_sandbox_there_is_no_tool(workspace: Path) -> None:
    assert ProcessTools(NoSandbox("off"), workspace, SandboxSettings()).tools() == ()


def test_the_tool_is_declared(workspace: Path) -> None:
    (tool,) = ProcessTools(BubblewrapSandbox(workspace), workspace, SandboxSettings()).tools()

    assert (tool.name, tool.risk, tool.context_name) == ("process", "exec", "context")


@given(pieces=st.lists(st.binary(max_size=20)), limit=st.integers(1, 30), offset=st.integers(0, 100))
def test_a_ring_gives_the_bytes_that_it_still_has(pieces: list[bytes], limit: int, offset: int) -> None:
    whole = b"".join(pieces)
    ring = Ring(limit)
    for piece in pieces:
        ring.add(piece)

    begin, data = ring.read(offset, 10)

    assert len(whole) - ring.begin <= limit
    assert data == whole[begin : begin + 10]
    assert begin == min(max(offset, ring.begin), len(whole))
