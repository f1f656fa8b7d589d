"""The operator's files: read when they change, cut where they are too long."""

from pathlib import Path

import pytest

from bot.agent.workspace import MAX_ALL, MAX_FILE, Workspace

UNREADABLE = Path("/proc/self/mem")  # a file whose reading fails, whoever reads


class Clock:
    """A clock that the test turns."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def workspace(tmp_path: Path, clock: Clock) -> Workspace:
    return Workspace(tmp_path, clock=clock)


async def test_without_files_there_is_nothing(workspace: Workspace) -> None:
    texts = await workspace.texts()

    assert (texts.context, texts.identity) == ("", "")


async def test_a_directory_that_is_not_there_is_an_empty_one(tmp_path: Path) -> None:
    assert (await Workspace(tmp_path / "nowhere").texts()).context == ""


async def test_instructions_and_identity_are_told_apart_and_kept_in_order(workspace: Workspace) -> None:
    for name in ("USER.md", "AGENTS.md", "IDENTITY.md", "SOUL.md", "OTHER.md"):
        (workspace.directory / name).write_text(f" {name} says \n", "utf-8")

    texts = await workspace.texts()

    assert texts.context == "# AGENTS.md\nAGENTS.md says\n\n# USER.md\nUSER.md says"
    assert texts.identity == "SOUL.md says\n\nIDENTITY.md says"


async def test_of_many_who_ask_at_once_one_looks_at_the_disk(workspace: Workspace, clock: Clock) -> None:
    file = workspace.directory / "AGENTS.md"
    file.write_text("old", "utf-8")
    await workspace.texts()
    file.write_text("newer", "utf-8")
    clock.now += 2

    looking = workspace.texts().__await__()
    looking.send(None)
    with pytest.raises(StopIteration) as other:  # it has an answer and waits for nothing
        workspace.texts().send(None)
    looking.close()

    assert other.value.value.context.startswith("# AGENTS.md")


async def test_a_change_is_seen_after_a_second_and_not_before(workspace: Workspace, clock: Clock) -> None:
    file = workspace.directory / "AGENTS.md"
    file.write_text("old", "utf-8")
    await workspace.texts()
    file.write_text("newer", "utf-8")

    clock.now += 0.9
    early = await workspace.texts()
    clock.now += 0.2
    late = await workspace.texts()

    assert early.context == "# AGENTS.md\nold"
    assert late.context == "# AGENTS.md\nnewer"


async def test_a_file_that_is_deleted_is_forgotten(workspace: Workspace, clock: Clock) -> None:
    file = workspace.directory / "AGENTS.md"
    file.write_text("old", "utf-8")
    await workspace.texts()
    file.unlink()
    clock.now += 2

    assert (await workspace.texts()).context == ""


async def test_as_long_as_nothing_changes_the_texts_are_the_same_object(
    workspace: Workspace, clock: Clock
) -> None:
    first = await workspace.texts()
    clock.now += 2

    assert await workspace.texts() is first


async def test_a_long_file_is_cut_visibly(workspace: Workspace) -> None:
    (workspace.directory / "AGENTS.md").write_text("x" * (MAX_FILE + 1), "utf-8")

    context = (await workspace.texts()).context

    assert context.count("x") == MAX_FILE
    assert context.endswith("[… cut: 4,000 of 4,001 characters are shown]")


async def test_a_file_at_the_limit_is_not_cut(workspace: Workspace) -> None:
    (workspace.directory / "AGENTS.md").write_text("x" * MAX_FILE, "utf-8")

    assert "cut" not in (await workspace.texts()).context


async def test_all_files_together_are_cut_visibly(workspace: Workspace) -> None:
    for name in ("AGENTS.md", "USER.md", "SOUL.md", "IDENTITY.md"):
        (workspace.directory / name).write_text("x" * MAX_FILE, "utf-8")

    texts = await workspace.texts()

    assert (texts.context + texts.identity).count("x") == MAX_ALL
    assert "[… cut: 0 of 4,000 characters are shown]" in texts.context


async def test_a_file_that_is_no_text_does_not_stop_the_turn(workspace: Workspace) -> None:
    (workspace.directory / "AGENTS.md").write_bytes(b"ok \xff\xfe")

    assert (await workspace.texts()).context.startswith("# AGENTS.md\nok")


@pytest.mark.skipif(not UNREADABLE.is_file(), reason="there is no /proc")
async def test_a_file_that_cannot_be_read_is_left_out_and_told(
    workspace: Workspace, caplog: pytest.LogCaptureFixture
) -> None:
    (workspace.directory / "AGENTS.md").symlink_to(UNREADABLE)
    (workspace.directory / "USER.md").write_text("fine", "utf-8")

    texts = await workspace.texts()

    assert texts.context == "# USER.md\nfine"
    assert [record.getMessage() for record in caplog.records] == ["workspace file not read"]
