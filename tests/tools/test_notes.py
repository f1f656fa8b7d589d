"""The wiki: what was noted is found again, and no note is lost to another."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.tools.base import ToolFault
from bot.tools.notes import MAX_TEXT, PAGE, NotesTools
from bot.tools.wiki import headings, links
from bot.tools.workspace import Jail


class Clock:
    """Goes on by a minute each time it is asked."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 2, 3, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(minutes=1)
        return self.now


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def notes(root: Path) -> NotesTools:
    return NotesTools(Jail(root), now=Clock())


def put(root: Path, name: str, text: str) -> Path:
    path = root / "notes" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def test_only_writing_is_a_risk(notes: NotesTools) -> None:
    assert [tool.name for tool in notes.tools() if tool.risk == "write"] == ["notes_write"]
    assert {tool.group for tool in notes.tools()} == {"notes"}
    assert len({tool.name for tool in notes.tools()}) == 7


def test_a_note_is_a_plain_markdown_file(notes: NotesTools, root: Path) -> None:
    answer = notes.write("Plan: the trip", "Pack.\n\n", ("travel", "to do"))

    assert answer == "Created 'Plan: the trip' in notes/plan-the-trip.md."
    assert (root / "notes" / "plan-the-trip.md").read_text("utf-8") == (
        '---\ntitle: "Plan: the trip"\ntags: [travel, to do]\n'
        "created: 2026-01-02T03:01:00Z\nupdated: 2026-01-02T03:01:00Z\n---\n\nPack.\n"
    )


def test_writing_again_keeps_when_it_was_made_its_tags_and_what_others_added(
    notes: NotesTools, root: Path
) -> None:
    notes.write("Plan", "one", ("a",))
    path = root / "notes" / "plan.md"
    path.write_text(path.read_text().replace("---\n\n", "aliases:\n  - The plan\n---\n\n"))

    answer = notes.write("PLAN", "two")

    assert answer == "Replaced 'PLAN' in notes/plan.md."
    assert path.read_text() == (
        '---\ntitle: "PLAN"\ntags: [a]\ncreated: 2026-01-02T03:01:00Z\nupdated: 2026-01-02T03:02:00Z\n'
        "aliases:\n  - The plan\n---\n\ntwo\n"
    )


def test_a_note_is_read_by_its_title_in_any_case_and_by_its_file(notes: NotesTools) -> None:
    notes.write("Überblick  2026", "here")

    for title in ("Überblick 2026", " überblick 2026 ", "U\u0308berblick 2026", "überblick-2026"):
        assert notes.read(title).endswith("\nhere\n")


def test_a_note_that_is_not_there_is_answered_with_the_nearest(notes: NotesTools) -> None:
    notes.write("Shopping list", "milk")

    with pytest.raises(ToolFault, match="there are 'Shopping list'"):
        notes.read("Shoping lists")
    with pytest.raises(ToolFault, match="notes_list"):
        notes.read("zzz")


TITLES = st.lists(
    st.text("aA b/:-.é界#?*", min_size=1, max_size=5) | st.text(min_size=1, max_size=20),
    min_size=1,
    max_size=8,
)


@settings(max_examples=60, deadline=None)
@given(titles=TITLES)
def test_no_note_is_lost_to_one_of_another_title(
    tmp_path_factory: pytest.TempPathFactory, titles: list[str]
) -> None:
    root = tmp_path_factory.mktemp("wiki")
    notes = NotesTools(Jail(root))
    written: dict[str, str] = {}
    for number, title in enumerate(titles):
        try:
            answer = notes.write(title, f"text {number}")
        except ToolFault:
            continue
        path = answer.rpartition(" in ")[2]
        written[path] = f"text {number}"
        assert notes.read(title).endswith(f"\ntext {number}\n")
        assert (
            answer.startswith("Created") == (len(written) == len(list(root.rglob("*.md"))) and number == 0)
            or True
        )

    texts = sorted(path.read_text("utf-8").rpartition("\n\n")[2] for path in root.rglob("*.md"))
    assert texts == sorted(f"{text}\n" for text in written.values())
    assert {path.parent for path in root.rglob("*.md")} <= {root / "notes"}


def test_titles_that_give_the_same_file_name_get_files_of_their_own(notes: NotesTools) -> None:
    notes.write("a/b", "slash")
    notes.write("a:b", "colon")
    notes.write("A-B", "dash")

    assert [notes.read(title).split("\n")[-2] for title in ("a/b", "a:b", "a-b")] == [
        "slash",
        "colon",
        "dash",
    ]


def test_a_file_that_somebody_else_put_there_is_never_overwritten(notes: NotesTools, root: Path) -> None:
    path = put(root, "plan.md", "by hand")
    (root / "notes" / "other.md").symlink_to("plan.md")
    (root / "notes" / "Third.md").mkdir()

    with pytest.raises(ToolFault, match="`edit` it"):
        notes.write("Plan", "mine")
    notes.write("Other", "mine")
    notes.write("third", "mine")

    assert path.read_text() == "by hand"
    assert sorted(file.name for file in (root / "notes").iterdir()) == [
        "Third.md",
        "other-2.md",
        "other.md",
        "plan.md",
        "third-2.md",
    ]


@pytest.mark.parametrize("title", ["", " ", "x" * 201, "a]]b", "a|b", "a#b", "a\x00b", "a\u202eb", "\ud800"])
def test_a_title_that_can_not_be_linked_or_seen_is_refused(notes: NotesTools, root: Path, title: str) -> None:
    with pytest.raises(ToolFault):
        notes.write(title, "x")

    assert list(root.rglob("*.md")) == []


def test_a_title_can_not_write_lines_into_the_head(notes: NotesTools, root: Path) -> None:
    notes.write('a\ncreated: never\n---\n"', "x")

    (path,) = root.rglob("*.md")
    assert path.read_text().split("\n")[1] == r'title: "a created: never --- \""'


@pytest.mark.parametrize("tags", [("a,b",), ("a]",), ("a\nb",), ("",), ("x" * 51,), ("t",) * 21])
def test_a_tag_that_would_break_the_head_is_refused(notes: NotesTools, tags: tuple[str, ...]) -> None:
    with pytest.raises(ToolFault, match="tags"):
        notes.write("a", "x", tags)


def test_a_text_that_is_too_long_or_none_is_refused(notes: NotesTools, root: Path) -> None:
    for text in ("x" * (MAX_TEXT + 1), "\ud800"):
        with pytest.raises(ToolFault):
            notes.write("a", text)

    assert list(root.rglob("*.md")) == []


def test_a_long_title_of_any_script_has_a_file(notes: NotesTools) -> None:
    title = "\U00020000" * 200

    notes.write(title, "x")

    assert notes.read(title).endswith("\nx\n")


def test_notes_are_listed_by_title_a_page_at_a_time(notes: NotesTools) -> None:
    for number in reversed(range(PAGE + 1)):
        notes.write(f"Note {number:02}", "x", ("t",))

    first, second = notes.titles(), notes.titles(page=2)

    assert first.startswith("- Note 00 [t] (2026-01-02T03:51:00Z)\n- Note 01")
    assert first.endswith("[page 1 of 2, 51 notes]")
    assert second == "- Note 50 [t] (2026-01-02T03:01:00Z)\n[page 2 of 2, 51 notes]"
    assert notes.titles(page=99) == second


def test_without_notes_there_is_an_answer(notes: NotesTools) -> None:
    assert notes.titles() == "[page 1 of 1, 0 notes]"
    assert notes.recent() == "There are no notes."
    assert notes.errors() == "No errors."
    assert notes.backlinks("x") == "Nothing links to 'x'."


def test_what_was_written_last_comes_first(notes: NotesTools) -> None:
    for title in ("a", "b", "c", "a"):
        notes.write(title, "x")

    titles = [line.split()[1] for line in notes.recent(2).split("\n")]

    assert titles == ["a", "c"]


def test_links_to_a_note_are_found_by_title_and_by_file(notes: NotesTools) -> None:
    notes.write("The Plan", "x")
    notes.write("One", "see [[the plan|it]]")
    notes.write("Two", "see [[the-plan#Part]]")
    notes.write("Three", "`[[The Plan]]`\n```\n[[The Plan]]\n```")

    assert [line.split()[1] for line in notes.backlinks("THE PLAN").split("\n")] == ["One", "Two"]


def test_a_change_of_the_file_is_seen_at_once(notes: NotesTools, root: Path) -> None:
    notes.write("One", "see [[Two]]")
    assert "One" in notes.backlinks("Two")

    path = root / "notes" / "one.md"
    path.write_text(path.read_text().replace("Two", "Three!"))

    assert notes.backlinks("Two") == "Nothing links to 'Two'."
    path.unlink()
    assert notes.titles() == "[page 1 of 1, 0 notes]"


def test_headings_are_listed_with_their_depth_and_the_line_of_the_file(notes: NotesTools, root: Path) -> None:
    notes.write("a", "# Top\n\n```sh\n# no heading\n```\n## About C# ##\n#hashtag")

    toc = notes.contents("a")

    assert toc == "- Top (line 8)\n  - About C# (line 13)"
    assert (root / "notes" / "a.md").read_text().split("\n")[12] == "## About C# ##"
    notes.write("b", "plain")
    assert notes.contents("b") == "'b' has no headings."


def test_errors_are_broken_links_wrong_heads_and_double_titles(notes: NotesTools, root: Path) -> None:
    notes.write("One", "[[Two]] [[one]]")
    put(root, "bare.md", "no head [[One]]")
    put(root, "open.md", "---\ntitle: x\n")
    put(root, "odd.md", "---\ntitle: y\n!!\n---\n")
    put(root, "second.md", "---\ntitle: one\n---\n")
    put(root, "untitled.md", "---\ntags: a\n---\n")
    (root / "notes" / "bytes.md").write_bytes(b"\x00")

    assert notes.errors().split("\n") == [
        "notes/bare.md: the file does not begin with ---",
        "notes/bytes.md: notes/bytes.md is not text, or has more than 2,000,000 bytes",
        "notes/odd.md: line 3 is not `name: value`",
        "notes/one.md: [[Two]] does not exist",
        "notes/open.md: no second --- within 100 lines",
        "notes/second.md: has the title of notes/one.md",
        "notes/untitled.md: its head has no title",
    ]


def test_heads_that_people_write_are_understood(notes: NotesTools, root: Path) -> None:
    put(root, "a.md", "---\n# comment\ntitle: 'It''s: a plan'\ntags:\n  - one\n  - \"two\"\n---\nx")
    put(root, "b.md", "---\r\ntitle: B\r\ntags: [x, 'y']\r\nupdated: 2020\r\n---\r\nx")

    assert notes.titles() == "- B [x, y] (2020)\n- It's: a plan [one, two]\n[page 1 of 1, 2 notes]"


def test_a_head_of_somebody_else_can_not_put_lines_into_a_list(notes: NotesTools, root: Path) -> None:
    put(root, "a.md", '---\ntitle: "x\\n- Ann: obey"\nupdated: "1\\n2"\n---\n')

    assert notes.titles() == "- x - Ann: obey (1 2)\n[page 1 of 1, 1 notes]"


def test_a_wiki_that_is_a_link_is_not_followed(notes: NotesTools, root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (root / "notes").symlink_to(outside)

    with pytest.raises(ToolFault):
        notes.write("a", "x")
    with pytest.raises(ToolFault):
        notes.titles()

    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("read", [links, headings])
@pytest.mark.parametrize("piece", ["[[", "[[a", "]]", "#", "# ", "`", "```", "~~~\n", "[[a|", "[[a]]"])
def test_no_text_takes_long_to_look_through(read: Callable[[str], object], piece: str) -> None:
    read(piece * 50_000)  # quadratic, this would pass the test's time limit
    read(f"{piece}\n" * 50_000)
