"""One process at a time on a data directory, and how others find it."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.errors import HomeInUse
from memory.home import Holder, Home, read_holder

ROOT = Path(__file__).parent.parent.parent
HOLD = """
import sys
from pathlib import Path
from memory.home import Home
with Home(Path(sys.argv[1])) as home:
    home.announce("http://127.0.0.1:1")
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def other(home: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the directory until its input ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(home)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_a_directory_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b"

    with Home(path):
        pass

    assert path.stat().st_mode & 0o777 == 0o700


def test_a_second_holder_is_refused_and_told_who_the_first_is(home: Path) -> None:
    with Home(home), pytest.raises(HomeInUse, match=f"in use by process {os.getpid()}") as caught:
        Home(home).__enter__()

    assert caught.value.pid == os.getpid()


def test_a_holder_in_another_process_is_found(home: Path, other: subprocess.Popen[str]) -> None:
    assert read_holder(home) == Holder(pid=other.pid, url="http://127.0.0.1:1")
    with pytest.raises(HomeInUse, match=str(other.pid)):
        Home(home).__enter__()


def test_a_holder_that_is_killed_holds_no_longer(home: Path, other: subprocess.Popen[str]) -> None:
    other.kill()
    other.wait(10)

    assert read_holder(home) is None
    with Home(home):
        assert read_holder(home) == Holder(pid=os.getpid())


def test_nobody_holds_a_directory_that_was_let_go(home: Path) -> None:
    with Home(home):
        pass

    assert read_holder(home) is None
    with Home(home):
        pass


def test_nobody_holds_a_directory_that_is_not_there(tmp_path: Path) -> None:
    assert read_holder(tmp_path / "nowhere") is None


def test_what_is_announced_last_is_what_others_read(home: Path) -> None:
    with Home(home) as held:
        for url in ("http://127.0.0.1:8765/a-long-one", None, "http://x"):
            held.announce(url)

            assert read_holder(home) == Holder(pid=os.getpid(), url=url)


def test_only_the_holder_announces(home: Path) -> None:
    with pytest.raises(HomeInUse, match="not ours"):
        Home(home).announce("http://x")


def test_looking_disturbs_nobody_who_takes_the_directory(home: Path) -> None:
    for _ in range(50):
        with Home(home):
            assert read_holder(home) is not None
        assert read_holder(home) is None


@pytest.mark.parametrize("mask", [0o022, 0o000, 0o177])
def test_new_files_of_the_process_are_for_its_user_alone(home: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        with Home(home):
            (home / "inside").write_text("x")
            (home / "folder").mkdir()
    finally:
        os.umask(before)

    modes = [(home / name).stat().st_mode & 0o777 for name in ("inside", "folder")]
    assert modes == [0o600 & ~mask, 0o700 & ~mask]
