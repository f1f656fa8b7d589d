"""AGENTS.md: the nearest one holds, and none from outside is ever read."""

import logging
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.agent.constraints import MAX_BYTES, AgentsFile, Found


@pytest.fixture
def root(tmp_path: Path) -> Path:
    path = tmp_path / "root"
    path.mkdir()
    return path


@pytest.fixture
def agents(root: Path) -> AgentsFile:
    return AgentsFile(root)


def put(directory: Path, text: str | bytes) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "AGENTS.md"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


async def text_for(agents: AgentsFile, directory: Path) -> str | None:
    found = await agents.find(directory)
    return found.text if found else None


async def test_the_nearest_one_wins(agents: AgentsFile, root: Path) -> None:
    put(root, "top")
    nearest = put(root / "a" / "b", " deep \n")

    found = await agents.find(root / "a" / "b")

    assert found == Found(text="deep", path=nearest)
    assert found.rendered == "# Project AGENTS.md Constraints\ndeep"


async def test_it_is_found_from_a_folder_below(agents: AgentsFile, root: Path) -> None:
    put(root, "top")
    (root / "a" / "b").mkdir(parents=True)

    assert await text_for(agents, root / "a" / "b") == "top"
    assert await text_for(agents, Path("a/b")) == "top"
    assert await text_for(agents, root / "a" / "new" / "folder") == "top"
    assert await text_for(agents, root) == "top"


async def test_the_search_ends_at_the_top_of_a_project(agents: AgentsFile, root: Path) -> None:
    put(root, "of another project")
    (root / "a" / "src").mkdir(parents=True)
    (root / "a" / ".git").write_text("gitdir: elsewhere")

    assert await text_for(agents, root / "a" / "src") is None

    put(root / "a", "of this project")
    assert await text_for(agents, root / "a" / "src") == "of this project"


async def test_the_search_ends_after_twenty_levels(agents: AgentsFile, root: Path) -> None:
    put(root, "top")

    assert await text_for(agents, root.joinpath(*"abcdefghijklmnopqrs")) == "top"
    assert await text_for(agents, root.joinpath(*"abcdefghijklmnopqrst")) is None


async def test_nothing_above_or_beside_the_root_is_read(agents: AgentsFile, root: Path) -> None:
    put(root.parent, "above")
    put(root.parent / "root-not", "beside")
    (root / "link").symlink_to(root.parent / "root-not")

    for directory in (
        root,
        root.parent,
        root.parent / "root-not",
        root / "link",
        root / "..",
        Path("../root-not"),
    ):
        assert await agents.find(directory) is None


async def test_another_folder_is_searched_where_it_is_allowed(root: Path) -> None:
    put(root.parent / "other" / "a", "other")
    put(root.parent, "above")
    agents = AgentsFile(root, allowed=(root.parent / "other",))

    assert await text_for(agents, root.parent / "other" / "a" / "b") == "other"
    assert await text_for(agents, root.parent / "other") is None


async def test_a_link_a_pipe_and_a_folder_of_that_name_are_no_rules(
    agents: AgentsFile, root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    put(root, "top")
    secret = put(root.parent / "outside", "secret")
    for name in ("a", "b", "c"):
        (root / name).mkdir()
    (root / "a" / "AGENTS.md").symlink_to(secret)
    os.mkfifo(root / "b" / "AGENTS.md")
    (root / "c" / "AGENTS.md").mkdir()

    with caplog.at_level(logging.DEBUG, "bot.agent.constraints"):
        for name in ("a", "b", "c"):
            assert await agents.find(root / name) is None

    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("DEBUG", "AGENTS.md not read")
    ] * 3


@pytest.mark.parametrize("directory", ["a\x00b", "x" * 300, "loop/x", "/", "\ud800"])
async def test_a_folder_that_can_not_be_one_is_no_error(
    agents: AgentsFile, root: Path, directory: str
) -> None:
    (root / "loop").symlink_to("loop")

    assert await agents.find(Path(directory)) is None


async def test_an_empty_file_says_nothing_and_hides_the_one_above(agents: AgentsFile, root: Path) -> None:
    put(root, "top")
    put(root / "a", " \n")

    assert await agents.find(root / "a") is None


async def test_a_change_is_seen_and_what_is_the_same_is_not_read_again(
    agents: AgentsFile, root: Path
) -> None:
    path = put(root, "one")
    first = await agents.find(root)
    assert await agents.find(root) is first

    before = path.stat()
    path.write_text("three")
    assert await text_for(agents, root) == "three"
    path.write_text("two")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert await agents.find(root) is first


async def test_a_long_file_is_cut_visibly(agents: AgentsFile, root: Path) -> None:
    put(root, "x" * MAX_BYTES)
    whole = await text_for(agents, root)
    put(root, "é" * MAX_BYTES)
    cut = await text_for(agents, root)

    assert whole == "x" * MAX_BYTES
    assert cut == "é" * (MAX_BYTES // 2) + "\n[… cut after 32,768 bytes]"


@given(lead=st.integers(0, 4), char=st.sampled_from(["é", "界", "\U0001f600"]))
async def test_no_character_is_cut_through(
    tmp_path_factory: pytest.TempPathFactory, lead: int, char: str
) -> None:
    root = tmp_path_factory.mktemp("long")
    put(root, "x" * lead + char * MAX_BYTES)

    text = await text_for(AgentsFile(root), root)

    assert text is not None
    assert set(text.split("\n")[0]) <= {"x", char}
