"""Commands in the sandbox can't see, touch or outlive what they should not. With the real bubblewrap."""

import asyncio
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import psutil
import pytest

from bot.settings.sandbox import SandboxSettings
from bot.tools.base import ToolFault
from bot.tools.exec import Finished, Limits, Sandbox
from security.bubblewrap import BubblewrapSandbox
from security.confined import run_to_end
from security.plain import PlainSandbox
from security.sandbox import NoSandbox, find_sandbox

LIMITS = Limits(seconds=20, memory=256 << 20, processes=16, file=1 << 20, output=1_000)
BRIEF = Limits(seconds=0.3, memory=256 << 20, processes=16, file=1 << 20, output=1_000)

# Ends by itself, in case nobody ends it: at most 1,000 processes, for three seconds.
BOMB = (
    "import os,time\nfor _ in range(1000):\n    if not os.fork(): time.sleep(3); os._exit(0)\ntime.sleep(3)"
)


@pytest.fixture
def workspace(home: Path) -> Path:
    """Inside of the data directory, as it is in life."""
    path = home / "workspace"
    path.mkdir()
    (home / "secret.txt").write_text("s3cret")
    return path


@pytest.fixture
def sandbox(home: Path, workspace: Path) -> BubblewrapSandbox:
    """The real one."""
    if shutil.which("bwrap") is None:
        pytest.fail("these tests need bubblewrap: apt-get install bubblewrap")
    return BubblewrapSandbox(workspace, hidden=[home])


async def run(
    sandbox: Sandbox,
    command: str | Sequence[str],
    directory: Path,
    *,
    limits: Limits = LIMITS,
    stdin: bytes | None = None,
) -> Finished:
    """A command in a directory, without more."""
    return await sandbox.run(command, directory=directory, environment={}, limits=limits, stdin=stdin)


def running(argument: str) -> list[psutil.Process]:
    """Processes, anywhere on the machine, that were started with an argument."""
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        if argument in (process.info["cmdline"] or []) and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(process)
    return found


def open_files() -> set[str]:
    """What this process holds open."""
    return set(os.listdir("/proc/self/fd"))


def unique_seconds() -> str:
    """An argument of `sleep` that nobody else uses."""
    return f"1000.{os.getpid()}{os.urandom(4).hex()}".translate(str.maketrans("abcdef", "123456"))


async def test_a_command_works_in_the_workspace(sandbox: BubblewrapSandbox, workspace: Path) -> None:
    finished = await run(sandbox, "echo hello > a.txt; pwd; echo no >&2; exit 3", workspace)

    assert finished.text == f"{workspace}\nno\n"
    assert (finished.ending.code, finished.ending.breach) == (3, None)
    assert (workspace / "a.txt").read_text() == "hello\n"


@pytest.mark.parametrize(
    "command",
    ["cat ../secret.txt", "cat {home}/secret.txt", "ls /root", "cat /etc/shadow", "ls /run /var /home /sys"],
)
async def test_what_is_outside_can_not_be_read(
    sandbox: BubblewrapSandbox, workspace: Path, home: Path, command: str
) -> None:
    finished = await run(sandbox, command.format(home=home), workspace)

    assert finished.ending.code != 0
    assert "s3cret" not in finished.text


async def test_a_link_in_the_workspace_leads_nowhere(
    sandbox: BubblewrapSandbox, workspace: Path, home: Path
) -> None:
    (workspace / "file").symlink_to(home / "secret.txt")
    (workspace / "folder").symlink_to(home)

    finished = await run(sandbox, "cat file folder/secret.txt; touch folder/new", workspace)

    assert "s3cret" not in finished.text
    assert not (home / "new").exists()


async def test_the_data_directory_stays_hidden_inside_of_a_directory_that_may_be_read(
    workspace: Path, home: Path, tmp_path: Path
) -> None:
    (tmp_path / "tool.txt").write_text("a tool")
    sandbox = BubblewrapSandbox(workspace, hidden=[home], paths=[str(tmp_path)])

    finished = await run(sandbox, f"cat {tmp_path}/tool.txt {home}/secret.txt; touch {home}/new a", workspace)

    assert "a tool" in finished.text
    assert "s3cret" not in finished.text
    assert "Read-only file system" in finished.text
    assert (workspace / "a").exists()


async def test_the_variables_of_the_bot_are_not_there(
    sandbox: BubblewrapSandbox, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "s3cret")
    monkeypatch.setenv("BOT_TELEGRAM__TOKEN", "s3cret")

    finished = await run(sandbox, "env; cat /proc/*/environ", workspace)

    assert "s3cret" not in finished.text
    assert {line.split("=")[0] for line in finished.text.split("\n\n")[0].split("\n") if "=" in line} >= {
        "PATH"
    }


async def test_the_processes_of_others_are_not_there(sandbox: BubblewrapSandbox, workspace: Path) -> None:
    finished = await run(sandbox, "cd /proc; echo [0-9]*; cat [0-9]*/comm", workspace)

    assert finished.text == "1 2\nbwrap\nsh\n" or finished.text == "1 2 3\nbwrap\nsh\ncat\n"


@pytest.mark.parametrize(
    "path", ["/x", "/usr/x", "/etc/x", "/dev/x", "/bin/x", "/proc/sys/kernel/core_pattern"]
)
async def test_what_is_outside_can_not_be_written(
    sandbox: BubblewrapSandbox, workspace: Path, path: str
) -> None:
    finished = await run(sandbox, f": >> {path}", workspace)  # opened, but nothing written

    assert finished.ending.code != 0


async def test_the_data_directory_can_not_be_written(
    sandbox: BubblewrapSandbox, workspace: Path, home: Path
) -> None:
    await run(
        sandbox, f"touch ../x; touch {home}/x; rm -rf {home}/secret.txt; mv {workspace} {home}/y", workspace
    )

    assert set(os.listdir(home)) == {"workspace", "secret.txt"}


async def test_tmp_is_empty_each_time_and_holds_the_home_directory(
    sandbox: BubblewrapSandbox, workspace: Path
) -> None:
    await run(sandbox, "touch /tmp/a $HOME/b /dev/shm/c", workspace)

    finished = await run(sandbox, "ls /tmp $HOME /dev/shm; echo $HOME", workspace)

    assert not {"a", "b", "c"} & set(finished.text.split())
    assert "/tmp/home" in finished.text


async def test_a_command_has_no_rights_and_gets_none(sandbox: BubblewrapSandbox, workspace: Path) -> None:
    finished = await run(
        sandbox, "grep -E 'CapEff|CapBnd|NoNewPrivs' /proc/self/status; unshare -U true", workspace
    )

    assert finished.text.split()[:6] == ["CapEff:", "0" * 16, "CapBnd:", "0" * 16, "NoNewPrivs:", "1"]
    assert finished.ending.code != 0


@pytest.mark.parametrize("network", [False, True])
async def test_the_network_is_there_only_where_it_is_allowed(workspace: Path, network: bool) -> None:
    heard = asyncio.Event()

    async def hear(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.set()
        writer.close()

    server = await asyncio.start_server(hear, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    sandbox = BubblewrapSandbox(workspace, network=network)

    async with server:
        finished = await run(sandbox, ("bash", "-c", f"echo hi > /dev/tcp/127.0.0.1/{port}"), workspace)

    assert (finished.ending.code == 0) == network
    assert heard.is_set() == network


async def test_too_many_processes_end_the_command(sandbox: BubblewrapSandbox, workspace: Path) -> None:
    finished = await run(sandbox, ("python3", "-c", BOMB), workspace)

    assert finished.ending.breach == "processes"
    assert not running(BOMB)


@pytest.mark.parametrize(
    ("code", "breach"),
    [
        ("bytearray(400_000_000)", None),  # refused by the kernel, so that the program can say so
        ("import mmap\nm = mmap.mmap(-1, 400_000_000)\nwhile m.write(bytes(1_000_000)): pass", "memory"),
    ],
)
async def test_a_command_gets_no_more_memory_than_allowed(
    sandbox: BubblewrapSandbox, workspace: Path, code: str, breach: str | None
) -> None:
    finished = await run(sandbox, ("python3", "-c", code), workspace)

    assert finished.ending.code != 0
    assert finished.ending.breach == breach
    assert breach or "MemoryError" in finished.text


@pytest.mark.parametrize("path", ["big", "/tmp/big", "/dev/shm/big"])
async def test_a_file_has_a_limit(sandbox: BubblewrapSandbox, workspace: Path, path: str) -> None:
    finished = await run(sandbox, f"head -c 3000000 /dev/zero > {path}; wc -c < {path}", workspace)

    assert finished.text.split()[-1] == str(LIMITS.file)


async def test_output_without_end_is_ended_and_kept_by_head_and_tail(
    sandbox: BubblewrapSandbox, workspace: Path
) -> None:
    finished = await run(sandbox, "echo first; yes", workspace)

    assert finished.ending.breach == "output"
    assert finished.text.startswith("first\ny\n")
    assert "bytes left out" in finished.text
    assert len(finished.text) < LIMITS.output + 100


@pytest.mark.parametrize(
    "command", ["while :; do :; done", "trap '' TERM INT HUP; sleep 60", "cat /dev/zero > /dev/null"]
)
async def test_a_command_that_does_not_end_is_ended(
    sandbox: BubblewrapSandbox, workspace: Path, command: str
) -> None:
    finished = await run(sandbox, command, workspace, limits=BRIEF)

    assert finished.ending.breach == "time"
    assert finished.ending.code == 137


@pytest.mark.parametrize("kind", ["bubblewrap", "plain"])
async def test_what_a_command_leaves_in_the_background_ends_with_it(
    sandbox: BubblewrapSandbox, workspace: Path, kind: str
) -> None:
    seconds = unique_seconds()
    chosen = sandbox if kind == "bubblewrap" else PlainSandbox(workspace)

    finished = await run(
        chosen,
        f"sleep {seconds} & setsid sleep {seconds} & (setsid nohup sleep {seconds} &) ; echo done",
        workspace,
    )

    assert finished.text == "done\n"
    assert finished.ending.breach is None
    assert not running(seconds)


@pytest.mark.parametrize("kind", ["bubblewrap", "plain"])
async def test_a_cancelled_command_is_gone(sandbox: BubblewrapSandbox, workspace: Path, kind: str) -> None:
    seconds = unique_seconds()
    chosen = sandbox if kind == "bubblewrap" else PlainSandbox(workspace)
    process = await chosen.spawn(
        f"echo started; sleep {seconds}", directory=workspace, environment={}, limits=LIMITS
    )
    assert await process.read() == b"started\n"
    task = asyncio.create_task(run_to_end(process, b"", LIMITS))
    await asyncio.sleep(0)

    task.cancel()
    await asyncio.wait({task})

    assert task.cancelled()
    assert not running(seconds)


async def test_input_is_given_whole_and_may_be_left_unread(
    sandbox: BubblewrapSandbox, workspace: Path
) -> None:
    data = b"x" * 3_000_000

    read = await run(sandbox, "wc -c", workspace, stdin=data)
    unread = await run(sandbox, "true", workspace, stdin=data)

    assert read.text.strip() == "3000000"
    assert unread.ending.code == 0


async def test_without_input_a_command_reads_the_end(sandbox: BubblewrapSandbox, workspace: Path) -> None:
    finished = await run(sandbox, "cat; echo end", workspace)

    assert finished.text == "end\n"


@pytest.mark.parametrize("command", ["echo a\0b", "true " + "x" * 200_000])
async def test_a_command_that_the_system_can_not_take_is_a_fault(
    sandbox: BubblewrapSandbox, workspace: Path, command: str
) -> None:
    before = open_files()

    with pytest.raises(ToolFault, match="can't be started"):
        await run(sandbox, command, workspace)
    await asyncio.sleep(0)  # pipes are closed in the next round of the event loop

    assert open_files() == before


async def test_fifty_commands_leave_nothing_behind(sandbox: BubblewrapSandbox, workspace: Path) -> None:
    seconds = unique_seconds()
    await run(sandbox, "true", workspace)
    before = open_files()

    for _ in range(10):
        await asyncio.gather(*(run(sandbox, f"sleep {seconds} & echo", workspace) for _ in range(5)))

    assert not running(seconds)
    assert not [child for child in psutil.Process().children(recursive=True) if child.name() == "bwrap"]
    assert open_files() == before


async def test_bubblewrap_is_found_and_tried(workspace: Path, home: Path) -> None:
    found = await find_sandbox(SandboxSettings(), workspace=workspace, home=home)

    assert isinstance(found, BubblewrapSandbox), found.fault
    assert found.fault is None


async def test_without_bubblewrap_commands_are_off_and_it_is_said_what_to_install(
    workspace: Path, home: Path
) -> None:
    found = await find_sandbox(SandboxSettings(), workspace=workspace, home=home, program="no-such-bwrap")

    assert isinstance(found, NoSandbox)
    assert "apt-get install bubblewrap" in found.fault
    with pytest.raises(ToolFault, match="apt-get install bubblewrap"):
        await run(found, "true", workspace)


async def test_without_bubblewrap_an_operator_may_do_without(
    workspace: Path, home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    found = await find_sandbox(
        SandboxSettings(unsafe=True), workspace=workspace, home=home, program="no-such-bwrap"
    )

    assert isinstance(found, PlainSandbox)
    assert [record.levelname for record in caplog.records] == ["WARNING"]


async def test_the_words_of_a_bubblewrap_that_fails_are_passed_on(
    workspace: Path, home: Path, tmp_path: Path
) -> None:
    broken = tmp_path / "broken-bwrap"
    broken.write_text("#!/bin/sh\necho 'bwrap: no permission for namespaces'\nexit 1\n")
    broken.chmod(0o700)
    before = open_files()

    found = await find_sandbox(SandboxSettings(), workspace=workspace, home=home, program=str(broken))

    await asyncio.sleep(0)

    assert "no permission for namespaces" in (found.fault or "")
    assert open_files() == before


async def test_an_older_bubblewrap_does(workspace: Path, home: Path, tmp_path: Path) -> None:
    old = tmp_path / "old-bwrap"
    refusal = 'for a in "$@"; do [ "$a" = --disable-userns ] && echo "Unknown option $a" && exit 1; done'
    old.write_text(f'#!/bin/sh\n{refusal}\nexec {shutil.which("bwrap")} "$@"\n')
    old.chmod(0o700)

    found = await find_sandbox(SandboxSettings(), workspace=workspace, home=home, program=str(old))

    assert found.fault is None
    assert (await run(found, "echo works", workspace)).text == "works\n"


async def test_a_workspace_around_the_data_directory_is_refused(home: Path, tmp_path: Path) -> None:
    found = await find_sandbox(SandboxSettings(), workspace=tmp_path, home=home)

    assert "holds the data directory" in (found.fault or "")


async def test_plain_commands_get_none_of_our_variables(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "s3cret")

    finished = await run(PlainSandbox(workspace), "env; pwd", workspace)

    assert "s3cret" not in finished.text
    assert finished.text.endswith(f"{workspace}\n")


async def test_plain_commands_have_limits(workspace: Path) -> None:
    many = "for i in $(seq 40); do sleep 2 & done; wait"  # a few, as nothing else would hold them

    crowd = await run(PlainSandbox(workspace), many, workspace)
    slow = await run(PlainSandbox(workspace), "sleep 60", workspace, limits=BRIEF)

    assert crowd.ending.breach == "processes"
    assert slow.ending.breach == "time"
