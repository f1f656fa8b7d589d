"""The tools `exec` and `script`, with the real sandbox."""

import json
import shutil
from pathlib import Path

import pytest

from bot.settings.sandbox import SandboxSettings
from bot.tools.base import ToolFault
from bot.tools.exec import Ending, ExecTools, describe_ending
from security.bubblewrap import BubblewrapSandbox
from security.sandbox import NoSandbox

SETTINGS = SandboxSettings(seconds=20, output_kb=1)


@pytest.fixture
def workspace(home: Path) -> Path:
    path = home / "workspace"
    path.mkdir()
    return path


@pytest.fixture
def tools(workspace: Path) -> ExecTools:
    if shutil.which("bwrap") is None:
        pytest.fail("these tests need bubblewrap: apt-get install bubblewrap")
    return ExecTools(BubblewrapSandbox(workspace), workspace, SETTINGS)


async def test_output_and_errors_come_in_order_with_the_exit_code(tools: ExecTools) -> None:
    text = await tools.exec("echo one; echo two >&2; echo three; exit 4")

    assert text.startswith("one\ntwo\nthree\n[exit code 4 after ")


async def test_a_silent_command_says_so(tools: ExecTools) -> None:
    assert (await tools.exec("true")).startswith("(no output)\n[exit code 0 ")


async def test_a_directory_of_the_workspace_can_be_named(tools: ExecTools, workspace: Path) -> None:
    (workspace / "sub").mkdir()

    relative = await tools.exec("pwd", directory="sub")
    absolute = await tools.exec("pwd", directory=str(workspace / "sub"))

    assert relative.split("\n")[0] == absolute.split("\n")[0] == str(workspace / "sub")


@pytest.mark.parametrize(
    "directory", ["..", "/", "/root", "sub/../..", "gone", "a\0b", "x" * 5_000, "link", "loop"]
)
async def test_a_directory_outside_is_refused(tools: ExecTools, workspace: Path, directory: str) -> None:
    (workspace / "link").symlink_to(workspace.parent)
    (workspace / "loop").symlink_to("loop")

    with pytest.raises(ToolFault, match="directory"):
        await tools.exec("pwd", directory=directory)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("  ", "empty"),
        ("a\0b", "NUL"),
        ("echo \ud800", "half a character"),
        ("x" * 100_001, "write it to a file"),
    ],
)
async def test_a_command_that_can_not_be_run_is_refused_with_a_way_out(
    tools: ExecTools, command: str, words: str
) -> None:
    with pytest.raises(ToolFault, match=words):
        await tools.exec(command)
    with pytest.raises(ToolFault, match=words):
        await tools.script(command)


async def test_a_command_that_takes_too_long_is_killed_and_keeps_its_output(tools: ExecTools) -> None:
    text = await tools.exec("echo begun; sleep 60", timeout=1)

    assert text.startswith("begun\n[killed after 1.")
    assert "longer than allowed" in text


async def test_long_output_keeps_its_head_and_its_tail(tools: ExecTools) -> None:
    text = await tools.exec("seq 10000")

    assert text.startswith("1\n2\n3\n")
    assert "bytes left out" in text
    assert "\n9999\n10000\n[exit code 0" in text


async def test_bytes_that_are_no_text_are_shown_as_such(tools: ExecTools) -> None:
    assert (await tools.exec(r"printf 'a\377b'")).startswith("a\N{REPLACEMENT CHARACTER}b\n")


async def test_a_python_script_runs(tools: ExecTools) -> None:
    text = await tools.script("import sys\nfor i in range(2):\n    print(i, 'é\"$x')\nsys.exit(5)")

    assert text.startswith('0 é"$x\n1 é"$x\n[exit code 5 ')


async def test_a_bash_script_runs(tools: ExecTools) -> None:
    text = await tools.script("a=(1 2)\ncat\necho ${a[1]}", language="bash")

    assert text.startswith("2\n[exit code 0 ")


async def test_a_script_that_is_wrong_shows_its_error(tools: ExecTools) -> None:
    text = await tools.script("print(")

    assert "SyntaxError" in text
    assert "[exit code 1 " in text


def test_without_a_sandbox_there_are_no_tools(workspace: Path) -> None:
    assert ExecTools(NoSandbox("off"), workspace, SETTINGS).tools() == ()


def test_the_tools_say_what_they_can_do(workspace: Path) -> None:
    sandbox = BubblewrapSandbox(workspace)
    closed = ExecTools(sandbox, workspace, SETTINGS).tools()
    connected = ExecTools(sandbox, workspace, SandboxSettings(network=True)).tools()

    assert [tool.name for tool in closed] == ["exec", "script"]
    assert {tool.risk for tool in closed} == {"exec"}
    assert all("No network" in tool.schema.description for tool in closed)
    assert not any("No network" in tool.schema.description for tool in connected)
    assert all(tool.timeout > 600 for tool in closed)
    assert json.loads(closed[0].schema.parameters)["properties"]["timeout"]["maximum"] == 600


@pytest.mark.parametrize(
    ("ending", "words"),
    [
        (Ending(code=0, seconds=1), "exit code 0 after 1.0 s"),
        (Ending(code=139, seconds=1), "exit code 139 (SIGSEGV) after 1.0 s"),
        (Ending(code=255, seconds=1), "exit code 255 after 1.0 s"),
        (
            Ending(code=137, seconds=1, breach="memory"),
            "killed after 1.0 s: it used more memory than allowed",
        ),
    ],
)
def test_an_ending_is_told_in_words(ending: Ending, words: str) -> None:
    assert describe_ending(ending) == words
