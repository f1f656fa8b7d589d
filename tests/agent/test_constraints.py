"""AGENTS.md: the nearest one holds, and none from outside is ever read."""

import logging
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from bot.agent.constraints import HEADER, MAX_BYTES, AgentsFile, Constraints, Directories, Found
from bot.messages import AgentsMdLoaded, SessionKey
from bot.tools.base import ToolContext
from bot.tools.files import FileTools
from bot.tools.workspace import Jail
from tests.factories import inbound


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


# --- what a turn is told


class Rules:
    """The constraints of a workspace, and who was told of what."""

    def __init__(self, root: Path) -> None:
        self.now = 0.0
        self.told: list[AgentsMdLoaded] = []
        self.directories = Directories()
        self.constraints = Constraints(
            AgentsFile(root),
            self.directories,
            own=root / "AGENTS.md",
            emit=self.told.append,
            clock=lambda: self.now,
        )

    async def for_folder(self, directory: str | None, session: str = "web:default:main") -> str:
        self.now += 2
        return await self.constraints.section(replace(inbound(session=session), directory=directory))


@pytest.fixture
def rules(root: Path) -> Rules:
    return Rules(root)


async def test_where_a_person_works_says_which_rules_hold(rules: Rules, root: Path) -> None:
    put(root / "shop", "use tabs")

    assert await rules.for_folder("shop/src") == f"{HEADER}\nuse tabs"
    assert await rules.for_folder(str(root / "shop")) == f"{HEADER}\nuse tabs"
    assert await rules.for_folder("elsewhere") == ""
    assert await rules.for_folder("../..") == ""
    assert await rules.for_folder(None) == ""


async def test_without_word_from_the_person_the_last_file_of_the_session_says_it(
    rules: Rules, root: Path
) -> None:
    put(root / "shop", "use tabs")
    put(root / "blog", "use spaces")
    rules.directories.note(SessionKey("web:default:main"), "shop/src/a.py")
    rules.directories.note(SessionKey("web:default:main"), "blog/a.md")
    rules.directories.note(SessionKey("web:default:other"), str(root / "shop" / "a.py"))

    assert "spaces" in await rules.for_folder(None)
    assert "tabs" in await rules.for_folder(None, "web:default:other")
    assert "tabs" in await rules.for_folder("shop")
    assert await rules.for_folder(None, "web:default:third") == ""


async def test_the_workspaces_own_rules_are_not_in_the_prompt_twice(rules: Rules, root: Path) -> None:
    put(root, "in every prompt")

    assert await rules.for_folder(".") == ""
    assert await rules.for_folder("a/b") == ""
    assert rules.told == []


async def test_a_version_is_told_once_a_session(rules: Rules, root: Path) -> None:
    path = put(root / "shop", "one")
    put(root / "blog", "other")
    for directory in ("shop", "shop", "shop/src", "blog", "shop"):
        await rules.for_folder(directory)
    await rules.for_folder("shop", "web:default:other")
    path.write_text("three")
    await rules.for_folder("shop")

    assert [(event.session.rpartition(":")[2], Path(event.path).parent.name) for event in rules.told] == [
        ("main", "shop"),
        ("main", "blog"),
        ("other", "shop"),
        ("main", "shop"),
    ]


async def test_a_preview_tells_nobody(rules: Rules, root: Path) -> None:
    put(root / "shop", "one")
    message = replace(inbound(), directory="shop")

    assert await rules.constraints.section(message, is_preview=True) == f"{HEADER}\none"
    assert rules.told == []


async def test_the_section_is_the_same_object_until_the_file_changes(rules: Rules, root: Path) -> None:
    path = put(root / "shop", "one")
    first = await rules.for_folder("shop")

    assert await rules.for_folder("shop") is first
    path.write_text("three")
    assert await rules.for_folder("shop") == f"{HEADER}\nthree"
    path.unlink()
    assert await rules.for_folder("shop") == ""


def test_only_the_sessions_that_worked_last_are_remembered() -> None:
    directories = Directories(most=2)
    for session in ("a", "b", "a", "c"):
        directories.note(SessionKey(session), f"{session}/x.py")

    assert [directories.of(SessionKey(session)) for session in "abc"] == [Path("a"), None, Path("c")]


async def test_files_that_tools_name_are_noted_for_the_talk_and_other_arguments_are_not(root: Path) -> None:
    directories = Directories()
    tools = {tool.name: tool for tool in FileTools(Jail(root)).tools()}
    message = replace(inbound(), session=SessionKey("web:default:main#1a2b"))
    for name, path in (("read", "shop/a.py"), ("list", "blog"), ("write", "wiki/b.md"), ("search", "x")):
        assert directories.waves_through(tools[name], {"path": path}, ToolContext(message=message))
        noted = directories.of(SessionKey("web:default:main"))
        assert noted == Path("shop" if name in ("read", "list") else "wiki")
