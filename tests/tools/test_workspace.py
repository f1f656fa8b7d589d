"""The jail: nothing outside of the root is ever opened, whatever a path says and whatever lies on its way."""

import ctypes
import os
import resource
import shutil
import socket
import stat
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.tools.base import ToolFault
from bot.tools.workspace import Jail, Missing

SECRET = b"nobody in the workspace may read this"
IN_OPEN = 0x20

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs inotify and /proc")


class Watch:
    """Hears from the kernel of each file and folder that is opened, among those it was told of.

    Source: inotify(7).
    """

    def __init__(self, paths: Iterable[Path]) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self._descriptor: int = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        for path in paths:
            assert libc.inotify_add_watch(self._descriptor, os.fsencode(path), IN_OPEN) > 0

    def opened(self) -> int:
        """How many bytes of news there are; none if nothing was opened since this was last asked."""
        try:
            return len(os.read(self._descriptor, 65_536))
        except BlockingIOError:
            return 0

    def close(self) -> None:
        os.close(self._descriptor)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root with traps, and beside it what must stay unread."""
    base = tmp_path_factory.mktemp("world")
    root, outside = base / "root", base / "outside"
    (root / "a" / "b").mkdir(parents=True)
    outside.mkdir()
    (outside / "secret").write_bytes(SECRET)
    (root / "a" / "file").write_bytes(b"inside")
    (root / "a" / "b" / "file").write_bytes(b"inside")
    (root / "link-to-file").symlink_to(outside / "secret")
    (root / "link-to-folder").symlink_to(outside)
    (root / "a" / "up").symlink_to("../..")
    (root / "a" / "loop").symlink_to("loop")
    (root / "a" / "inner").symlink_to("file")
    (root / "proc").symlink_to("/proc/self/root")
    os.mkfifo(root / "pipe")
    return base


@pytest.fixture(scope="module")
def watch(world: Path) -> Iterator[Watch]:
    """Over all beside the root."""
    outside = world / "outside"
    watch = Watch([outside, outside / "secret"])
    yield watch
    watch.close()


@pytest.fixture
def jail(tmp_path: Path) -> Jail:
    return Jail(tmp_path / "root")


PARTS = st.sampled_from(
    [
        "..",
        ".",
        "",
        "a",
        "b",
        "file",
        "secret",
        "outside",
        "root",
        "~",
        "link-to-file",
        "link-to-folder",
        "up",
        "loop",
        "inner",
        "proc",
        "pipe",
        "etc",
        "passwd",
        "\x00",
        "A",
        "a\\..",
        "..\u200b",
        "．．",
    ]
)
PATHS = st.lists(PARTS, max_size=9).map("/".join) | st.text(max_size=40)


def test_the_watch_hears_of_what_is_opened(world: Path, watch: Watch) -> None:
    watch.opened()
    Jail(world / "outside").read("secret", 1)

    assert watch.opened()


@settings(max_examples=400)
@given(path=PATHS, is_absolute=st.booleans())
def test_no_path_opens_anything_outside(world: Path, watch: Watch, path: str, is_absolute: bool) -> None:
    jail = Jail(world / "root")
    path = f"{world}/root/{path}" if is_absolute else path
    watch.opened()

    found = []
    for act in (jail.stat, jail.entries, jail.real, lambda text: jail.read(text, 100)):
        with suppress(ToolFault):
            found.append(repr(act(path)))

    assert not watch.opened()
    assert "secret" not in "".join(found)


@settings(max_examples=200)
@given(path=PATHS)
def test_no_path_writes_outside(world: Path, path: str) -> None:
    jail = Jail(world / "written" / "root")
    (world / "written" / "root").mkdir(parents=True, exist_ok=True)

    with suppress(ToolFault):
        jail.write(path, b"x")

    assert [entry.name for entry in (world / "written").iterdir()] == ["root"]
    assert [entry.name for entry in (world / "outside").iterdir()] == ["secret"]
    assert (world / "outside" / "secret").read_bytes() == SECRET


@given(path=PATHS)
def test_a_path_leads_to_the_same_place_when_it_is_given_back(path: str) -> None:
    jail = Jail(Path("/srv/workspace"))
    try:
        place = jail.locate(path)
    except ToolFault:
        return

    assert ".." not in place.parts
    assert not place.is_absolute()
    with suppress(ToolFault):  # `./~` is a file, `~` is a home
        assert jail.locate(str(place)) == place


@pytest.mark.parametrize(
    "path",
    [
        "..",
        "a/../..",
        "/etc/passwd",
        "/",
        "//",
        "///etc",
        "../root/x",
        "~",
        "~/x",
        "~root/x",
        "/proc/self/environ",
        "a\x00b",
        "a\nb",
        "a\u202eb",
        "\ud800",
        "b\udcff",
        "x" * 256,
        "界" * 86,
        "x/" * 3000,
    ],
)
def test_a_path_out_or_one_that_no_file_can_have_is_refused(jail: Jail, path: str) -> None:
    jail.root.mkdir()

    with pytest.raises(ToolFault):
        jail.locate(path)


@pytest.mark.parametrize(
    ("path", "place"),
    [("a/b", "a/b"), ("./a//b/", "a/b"), ("a/../b", "b"), ("", "."), (".", "."), ("x" * 255, "x" * 255)],
)
def test_a_path_inside_is_taken_as_it_is_meant(jail: Jail, path: str, place: str) -> None:
    assert str(jail.locate(path)) == place


def test_an_absolute_path_inside_is_taken_under_both_names_of_the_root(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "named").symlink_to("real")
    jail = Jail(tmp_path / "named")

    assert str(jail.locate(f"{tmp_path}/named/a")) == "a"
    assert str(jail.locate(f"{tmp_path}/real/a")) == "a"
    assert str(jail.locate(f"/{tmp_path}/real/a")) == "a"
    with pytest.raises(ToolFault, match="outside"):
        jail.locate(f"{tmp_path}/real-not/a")


def test_a_root_that_is_itself_behind_a_link_is_worked_in(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "named").symlink_to("real")

    Jail(tmp_path / "named").write("a", b"x")

    assert (tmp_path / "real" / "a").read_bytes() == b"x"


@pytest.mark.parametrize(
    "path", ["link-to-file", "link-to-folder/secret", "a/up/outside/secret", "a/loop", "a/inner"]
)
def test_no_link_is_followed_wherever_it_leads(world: Path, path: str) -> None:
    with pytest.raises(ToolFault, match="links are not followed"):
        Jail(world / "root").read(path, 100)


@pytest.mark.parametrize(
    "path", ["link-to-file", "link-to-folder/new", "a/up/new", "a/inner", "pipe", "a", "."]
)
def test_only_regular_files_are_replaced(world: Path, path: str) -> None:
    names = sorted(entry.name for entry in world.iterdir())

    with pytest.raises(ToolFault):
        Jail(world / "root").write(path, b"x")

    assert sorted(entry.name for entry in world.iterdir()) == names
    assert (world / "outside" / "secret").read_bytes() == SECRET
    assert (world / "root" / "a" / "file").read_bytes() == b"inside"


def test_a_pipe_a_socket_and_a_device_are_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        jail = Jail(tmp_path)

        for name in ("pipe", "socket"):
            with pytest.raises(ToolFault, match="regular files"):
                jail.read(name, 1)
    with pytest.raises(ToolFault, match="regular files"):
        Jail(Path("/dev")).read("zero", 1)


@contextmanager
def again_and_again(act: Callable[[], None]) -> Iterator[None]:
    """Do something in another thread as long as the block lasts."""
    stop = threading.Event()

    def repeat() -> None:
        while not stop.is_set():
            with suppress(OSError):  # the jail made a folder in its way
                act()

    thread = threading.Thread(target=repeat)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def test_a_folder_that_turns_into_a_link_never_leads_out_who_reads(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    for folder, text in ((root / "a", b"inside"), (outside, SECRET)):
        folder.mkdir(parents=True)
        (folder / "file").write_bytes(text)
    (root / "link").symlink_to(outside)

    def swap() -> None:
        os.rename(root / "a", root / "kept")
        os.rename(root / "link", root / "a")
        os.rename(root / "a", root / "link")
        os.rename(root / "kept", root / "a")

    texts, sizes, jail = set(), set(), Jail(root)
    with again_and_again(swap):
        for _ in range(1_500):
            with suppress(ToolFault):
                texts.add(jail.read("a/file", 100))
            with suppress(ToolFault):
                sizes |= {entry.size for entry in jail.entries("a")}

    assert texts <= {b"inside"}
    assert sizes <= {len(b"inside")}


def test_a_folder_that_turns_into_a_link_never_leads_out_who_writes(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()

    def swap() -> None:
        shutil.rmtree(root / "a", ignore_errors=True)
        os.symlink(outside, root / "a")
        os.unlink(root / "a")

    jail = Jail(root)
    with again_and_again(swap):
        for _ in range(300):
            with suppress(ToolFault):
                jail.write("a/b/file", b"x")

    assert list(outside.iterdir()) == []


def test_a_file_that_turns_into_a_link_and_a_pipe_is_never_read_as_such(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "secret").write_bytes(SECRET)
    (root / "plain").write_bytes(b"inside")

    def swap() -> None:
        os.symlink(tmp_path / "secret", root / "next")
        os.rename(root / "next", root / "file")
        os.link(root / "plain", root / "next")
        os.rename(root / "next", root / "file")
        os.mkfifo(root / "next")
        os.rename(root / "next", root / "file")
        os.link(root / "plain", root / "next")
        os.rename(root / "next", root / "file")

    seen, jail = set(), Jail(root)
    with again_and_again(swap):
        for number in range(4_000):
            with suppress(ToolFault):
                seen.add(jail.read("file", 100))
            if number % 100 == 0:
                with suppress(ToolFault):
                    jail.write("file", b"inside")

    assert seen <= {b"inside"}
    assert (tmp_path / "secret").read_bytes() == SECRET


def test_what_is_made_belongs_to_nobody_else(jail: Jail) -> None:
    before = os.umask(0)
    try:
        jail.write("a/b/file", b"x")
    finally:
        os.umask(before)

    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in [jail.root, *jail.root.rglob("*")]}
    assert modes == {"root": 0o700, "a": 0o700, "b": 0o700, "file": 0o600}


def test_a_file_that_is_replaced_keeps_its_permissions(jail: Jail) -> None:
    jail.write("run.sh", b"old")
    (jail.root / "run.sh").chmod(0o755)

    assert jail.write("run.sh", b"new") is False

    assert stat.S_IMODE((jail.root / "run.sh").stat().st_mode) == 0o755
    assert (jail.root / "run.sh").read_bytes() == b"new"


def test_a_read_only_file_is_not_replaced(jail: Jail) -> None:
    jail.write("kept", b"old")
    (jail.root / "kept").chmod(0o400)

    with pytest.raises(ToolFault, match="read-only"):
        jail.write("kept", b"new")

    assert (jail.root / "kept").read_bytes() == b"old"


def test_another_name_of_a_file_keeps_its_text_when_the_file_is_replaced(jail: Jail, tmp_path: Path) -> None:
    (tmp_path / "outside").write_bytes(b"old")
    jail.root.mkdir()
    os.link(tmp_path / "outside", jail.root / "file")

    jail.write("file", b"new")

    assert (tmp_path / "outside").read_bytes() == b"old"


def test_a_write_that_fails_leaves_nothing_behind(jail: Jail) -> None:
    (jail.root / "taken").mkdir(parents=True)

    with pytest.raises(ToolFault, match="directory"):
        jail.write("taken", b"x")

    assert [path.name for path in jail.root.iterdir()] == ["taken"]


def test_a_disk_that_takes_no_more_leaves_the_old_text_and_nothing_else(jail: Jail) -> None:
    jail.write("file", b"old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
    try:
        with pytest.raises(ToolFault, match="could not be used"):
            jail.write("file", b"x" * 100)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert [path.name for path in jail.root.iterdir()] == ["file"]
    assert (jail.root / "file").read_bytes() == b"old"


def test_no_descriptor_is_left_open(world: Path) -> None:
    jail = Jail(world / "root")
    before = len(os.listdir("/proc/self/fd"))

    for path in ("a/file", "a/b/none", "a/up/x", "link-to-file", "pipe", "a/file/x", "a"):
        for act in (jail.stat, jail.entries, lambda text: jail.read(text, 10)):
            with suppress(ToolFault):
                act(path)
    for path in ("a/up/x", "link-to-file", "pipe", "a/file/x", "a"):
        with suppress(ToolFault):
            jail.write(path, b"")

    assert len(os.listdir("/proc/self/fd")) == before


def test_what_is_missing_can_be_told_from_what_is_refused(jail: Jail) -> None:
    jail.write("a/file", b"")

    for act in (jail.stat, jail.entries, lambda path: jail.read(path, 1)):
        with pytest.raises(Missing, match="does not exist"):
            act("a/none")


@pytest.mark.parametrize(
    "path",
    [
        "SOUL.md",
        "soul.MD",
        "./IDENTITY.md",
        "x/../USER.md",
        "sub/AGENTS.md",
        "/srv/w/SOUL.md",
        "ſoul.md",
        "SO\u200cUL.md",
        "ＳＯＵＬ.md",
    ],
)
def test_a_file_that_says_who_the_bot_is_is_known_in_every_spelling(path: str) -> None:
    assert Jail(Path("/srv/w")).is_identity(path)


@pytest.mark.parametrize(
    "path", ["notes/soul.txt", "SOUL.md.txt", "README.md", ".", "../SOUL.md", "\ud800/SOUL.md"]
)
def test_other_files_are_none_that_says_who_the_bot_is(path: str) -> None:
    assert not Jail(Path("/srv/w")).is_identity(path)


def test_a_walk_names_folders_before_what_is_in_them_and_stops_at_its_depth(world: Path) -> None:
    jail = Jail(world / "root")

    one = [entry.path for entry in jail.walk("a", 1)]
    two = [entry.path for entry in jail.walk("a", 2)]

    assert one == ["a/b", "a/file", "a/inner", "a/loop", "a/up"]
    assert two == ["a/b", "a/b/file", "a/file", "a/inner", "a/loop", "a/up"]


def test_a_walk_goes_into_the_stores_of_tools_only_when_they_are_named(jail: Jail) -> None:
    jail.write(".git/config", b"")

    assert [entry.path for entry in jail.walk(".", 5)] == [".git"]
    assert [entry.path for entry in jail.walk(".git", 5)] == [".git/config"]


def test_a_name_that_is_not_unicode_or_has_line_breaks_is_shown_on_one_line(jail: Jail) -> None:
    jail.root.mkdir()
    (jail.root / "a\nb").touch()
    Path(os.fsdecode(os.fsencode(jail.root) + b"/\xff")).touch()

    labels = [entry.label for entry in jail.entries(".")]

    assert labels == ["a\\nb", "\\xff"]
