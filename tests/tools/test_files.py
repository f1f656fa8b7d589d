"""The tools for files: what the model reads is true, what it changes is what it meant."""

import json
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bot.tools.base import ToolFault
from bot.tools.editing import replace_text
from bot.tools.files import MAX_HITS, MAX_LISTED, MAX_PICTURE, MAX_READ, MAX_TEXT, MAX_WRITE, FileTools
from bot.tools.searching import Glob
from bot.tools.workspace import Jail

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def files(root: Path) -> FileTools:
    return FileTools(Jail(root))


def put(root: Path, name: str, data: bytes | str) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def test_the_tools_are_declared_with_the_risk_they_have(files: FileTools) -> None:
    risks = {tool.name: (tool.group, tool.risk) for tool in files.tools()}

    assert risks == {
        "read": ("files", "read"),
        "write": ("files", "write"),
        "edit": ("files", "write"),
        "list": ("files", "read"),
        "search": ("files", "read"),
    }
    assert set(json.loads(files.tools()[2].schema.parameters)["properties"]) == {
        "path",
        "old",
        "new",
        "replace_all",
    }


def test_lines_are_numbered_as_they_are_in_the_file(files: FileTools, root: Path) -> None:
    put(root, "a", "one\r\ntwo\n\nfour")

    assert files.read("a").text == "     1\tone\n     2\ttwo\n     3\t\n     4\tfour"


def test_a_part_says_where_it_goes_on(files: FileTools, root: Path) -> None:
    put(root, "a", "".join(f"{number}\n" for number in range(1, 11)))

    text = files.read("a", offset=3, limit=2).text

    assert text == "     3\t3\n     4\t4\n[lines 3 to 4 of 10; go on with offset=5]"


def test_a_file_that_is_long_is_read_to_its_end_in_parts(files: FileTools, root: Path) -> None:
    lines = [f"{number} {'x' * (number % 400)}" for number in range(3_000)]
    put(root, "a", "\n".join(lines))

    seen: list[str] = []
    while len(seen) < len(lines):
        text = files.read("a", offset=len(seen) + 1).text
        assert len(text) <= MAX_TEXT + 100
        seen += [line.partition("\t")[2] for line in text.split("\n") if "\t" in line]

    assert seen == lines


def test_an_offset_behind_the_end_is_told(files: FileTools, root: Path) -> None:
    put(root, "a", "one\n")

    with pytest.raises(ToolFault, match="has 1 lines"):
        files.read("a", offset=2)


def test_an_empty_file_is_told_from_a_missing_one(files: FileTools, root: Path) -> None:
    put(root, "a", "")

    assert files.read("a").text == "[empty file]"
    with pytest.raises(ToolFault, match="does not exist"):
        files.read("b")


def test_a_long_line_is_cut_visibly(files: FileTools, root: Path) -> None:
    put(root, "a", "x" * 2_001)

    text = files.read("a").text

    assert text.count("x") == 2_000
    assert text.endswith("… [cut: 2,001 characters]")


def test_bytes_that_are_no_text_are_told_as_what_they_are(files: FileTools, root: Path) -> None:
    put(root, "a.zip", b"PK\x03\x04\x00\x00")
    put(root, "b", bytes(range(1, 32)) * 10 + b"\xff")

    assert files.read("a.zip").text == "a.zip is not text: application/zip, 6 bytes."
    assert files.read("b").text == "b is not text: unknown type, 311 bytes."


@pytest.mark.parametrize(
    ("data", "mime"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0rest", "image/jpeg"),
        (b"GIF89a....", "image/gif"),
        (b"RIFF\x00\x00\x00\x00WEBPVP8 ", "image/webp"),
    ],
)
def test_a_picture_is_given_to_be_looked_at_whatever_its_name_is(
    files: FileTools, root: Path, data: bytes, mime: str
) -> None:
    path = put(root, "named.txt", data)

    (image,) = files.read("named.txt").images

    assert (image.mime, image.size, image.path) == (mime, len(data), str(path))


def test_a_picture_that_is_too_large_is_only_described(files: FileTools, root: Path) -> None:
    put(root, "a.png", PNG + bytes(MAX_PICTURE))

    output = files.read("a.png")

    assert output.images == ()
    assert "too large" in output.text


def test_a_file_over_the_limit_is_refused_with_its_size(files: FileTools, root: Path) -> None:
    with put(root, "a", "").open("r+b") as file:
        file.truncate(MAX_READ + 1)

    with pytest.raises(ToolFault, match="10,000,001 bytes"):
        files.read("a")


@pytest.mark.parametrize(
    ("data", "note"),
    [
        ("grüß".encode("latin-1"), "[not UTF-8: read as latin-1]"),
        ("\ufeffgrüß".encode("utf-16-le"), "[not UTF-8: read as utf-16-le]"),
        ("\ufeffgrüß".encode("utf-16-be"), "[not UTF-8: read as utf-16-be]"),
    ],
)
def test_another_encoding_is_told_and_kept_by_an_edit(
    files: FileTools, root: Path, data: bytes, note: str
) -> None:
    path = put(root, "a", data)

    text = files.read("a").text
    files.edit("a", "ß", "ßen")

    assert text == f"{note}\n     1\tgrüß"
    assert path.read_bytes().startswith(data)
    assert files.read("a").text == f"{note}\n     1\tgrüßen"


def test_a_mark_at_the_head_is_not_shown_and_not_lost(files: FileTools, root: Path) -> None:
    path = put(root, "a", b"\xef\xbb\xbfone")

    text = files.read("a").text
    files.edit("a", "one", "two")

    assert text == "     1\tone"
    assert path.read_bytes() == b"\xef\xbb\xbftwo"


def test_an_edit_that_the_encoding_can_not_hold_changes_nothing(files: FileTools, root: Path) -> None:
    path = put(root, "a", b"gr\xfc\xdf")

    with pytest.raises(ToolFault, match="latin-1"):
        files.edit("a", "g", "界")

    assert path.read_bytes() == b"gr\xfc\xdf"


def test_writing_says_whether_the_file_is_new_and_how_long_it_is(files: FileTools, root: Path) -> None:
    first = files.write("new/a.txt", "one\ntwo")
    second = files.write("new/a.txt", "one\n")

    assert first == "Created new/a.txt: 2 lines."
    assert second == "Overwrote new/a.txt: 1 lines."
    assert (root / "new" / "a.txt").read_text() == "one\n"


@pytest.mark.parametrize("content", ["x" * (MAX_WRITE + 1), "\ud800"])
def test_what_is_too_long_or_no_text_is_not_written(files: FileTools, root: Path, content: str) -> None:
    with pytest.raises(ToolFault):
        files.write("a", content)

    assert list(root.iterdir()) == []


def test_an_edit_replaces_the_one_place_that_is_quoted(files: FileTools, root: Path) -> None:
    path = put(root, "a", "one\ntwo\nthree\n")

    assert files.edit("a", "two\nth", "2\n3") == "Edited a: 1 replaced."
    assert path.read_text() == "one\n2\n3ree\n"


def test_an_edit_of_several_places_is_refused_with_their_lines_or_changes_all(
    files: FileTools, root: Path
) -> None:
    path = put(root, "a", "x\ny\nx\n")

    with pytest.raises(ToolFault, match=r"2 times \(lines 1, 3\)"):
        files.edit("a", "x", "z")
    assert path.read_text() == "x\ny\nx\n"

    assert files.edit("a", "x", "z", replace_all=True) == "Edited a: 2 replaced."
    assert path.read_text() == "z\ny\nz\n"


def test_a_misquoted_line_is_answered_with_the_nearest_ones(files: FileTools, root: Path) -> None:
    put(root, "a", "alpha beta\n    return compute_total(values)\nomega\n")

    with pytest.raises(ToolFault) as caught:
        files.edit("a", "return compute_totals(value)", "pass")

    assert str(caught.value).endswith("\n     2\t    return compute_total(values)")


def test_a_quotation_like_nothing_in_the_file_is_told_so(files: FileTools, root: Path) -> None:
    put(root, "a", "alpha\n")

    with pytest.raises(ToolFault, match="nothing like it"):
        files.edit("a", "zzzz", "y")


@pytest.mark.parametrize(("old", "new"), [("", "x"), ("same", "same")])
def test_an_edit_that_means_nothing_is_refused(files: FileTools, root: Path, old: str, new: str) -> None:
    put(root, "a", "same")

    with pytest.raises(ToolFault):
        files.edit("a", old, new)


def test_line_ends_of_windows_are_kept(files: FileTools, root: Path) -> None:
    path = put(root, "a", "one\r\ntwo\r\nthree\r\n")

    files.edit("a", "one\ntwo", "1\n2\nmore")

    assert path.read_bytes() == b"1\r\n2\r\nmore\r\nthree\r\n"


def test_line_ends_of_both_kinds_are_not_made_the_same(files: FileTools, root: Path) -> None:
    path = put(root, "a", "one\r\ntwo\nthree\n")

    with pytest.raises(ToolFault, match="end in different ways"):
        files.edit("a", "one\ntwo", "x")
    files.edit("a", "two\nthree", "2\n3")

    assert path.read_bytes() == b"one\r\n2\n3\n"


@given(
    lines=st.lists(st.text("ab \t", max_size=4), min_size=1, max_size=8),
    old=st.text("ab\n", min_size=1, max_size=4),
    new=st.text("xy\n", max_size=4),
)
def test_an_edit_of_a_windows_file_is_the_edit_of_the_plain_one(lines: list[str], old: str, new: str) -> None:
    plain = "\n".join(lines)
    assume(old in plain and old != new)

    edited, count = replace_text(plain.replace("\n", "\r\n"), old, new, is_every=True)

    assert count == plain.count(old)
    if "\n" in plain:
        assert edited == plain.replace(old, new).replace("\n", "\r\n")


def test_a_quotation_of_many_line_ends_takes_no_time_that_anybody_notices() -> None:
    text = "\r\n" * 500_000 + "x"  # quadratic, this would pass the test's time limit

    with pytest.raises(ToolFault):
        replace_text(text, "\n" * 100_000 + "y", "z", is_every=False)


def test_a_folder_is_listed_with_sizes_links_and_what_is_no_file(files: FileTools, root: Path) -> None:
    put(root, "b/c.txt", "x" * 1_234)
    put(root, "a.txt", "")
    (root / "link").symlink_to("a.txt")

    assert files.list_files() == "a.txt  0\nb/\nlink  (link, not followed)"
    assert files.list_files("b") == "b/c.txt  1,234"
    assert files.list_files(depth=2) == "a.txt  0\nb/\nb/c.txt  1,234\nlink  (link, not followed)"
    assert files.list_files("a.txt") == "a.txt  0"


def test_an_empty_folder_is_told(files: FileTools, root: Path) -> None:
    (root / "empty").mkdir()

    assert files.list_files("empty") == "empty is empty."


def test_a_list_has_an_end(files: FileTools, root: Path) -> None:
    for number in range(MAX_LISTED + 1):
        (root / f"{number:04}").touch()

    lines = files.list_files().split("\n")

    assert lines[-1] == f"[the first {MAX_LISTED}; list a folder of them to see more]"
    assert len(lines) == MAX_LISTED + 1


def test_a_deep_tree_is_walked_without_harm(files: FileTools, root: Path) -> None:
    jail = Jail(root)
    jail.write("/".join(["d"] * 900) + "/needle", b"needle")

    assert files.list_files(depth=10_000).count("\n") < 100
    assert "0 hits" in files.search("needle")


def test_hits_have_their_file_and_line(files: FileTools, root: Path) -> None:
    put(root, "a.txt", "nothing\r\nthe Needle\r\n")
    put(root, "b/c.md", "needle 2\n")

    assert files.search("[Nn]eedle") == "a.txt:2: the Needle\nb/c.md:1: needle 2\n[2 hits in 2 files]"


def test_a_plain_text_is_found_as_it_stands(files: FileTools, root: Path) -> None:
    put(root, "a", "f(x)\nfx\n")

    assert files.search("f(x)", is_regex=False) == "a:1: f(x)\n[1 hits in 1 files]"


def test_a_search_stays_in_its_folder_and_its_glob(files: FileTools, root: Path) -> None:
    for name in ("a.py", "src/b.py", "src/deep/c.py", "src/d.txt"):
        put(root, name, "needle")

    assert "[3 hits" in files.search("needle", glob="*.py")
    assert files.search("needle", path="src", glob="*/*.py").startswith("src/deep/c.py:1:")
    assert "[3 hits" in files.search("needle", path="src")
    assert "[1 hits" in files.search("needle", path="src/d.txt", glob="*.py")


@pytest.mark.parametrize("path", ["link", "none", "../x"])
def test_a_search_in_what_can_not_be_read_says_so(files: FileTools, root: Path, path: str) -> None:
    (root / "link").symlink_to("/etc/passwd")

    with pytest.raises(ToolFault):
        files.search("root", path=path)


def test_a_search_does_not_follow_links_or_read_bytes(files: FileTools, root: Path) -> None:
    put(root, "bytes", b"\x00needle")
    (root / "link").symlink_to("bytes")

    assert files.search("needle") == "[0 hits in 1 files]"


def test_a_search_has_an_end(files: FileTools, root: Path) -> None:
    put(root, "a", "x\n" * (MAX_HITS + 1))

    lines = files.search("x").split("\n")

    assert len(lines) == MAX_HITS + 1
    assert lines[-1] == f"[{MAX_HITS} hits in 1 files; there are more: narrow the search]"


def test_many_long_hits_stay_within_what_a_model_can_read(files: FileTools, root: Path) -> None:
    name = "/".join(["d" * 200] * 5)
    put(root, name, "x\n" * MAX_HITS)

    assert len(files.search("x")) < MAX_TEXT + 200


def test_a_large_file_is_searched_in_its_first_part_and_that_is_told(files: FileTools, root: Path) -> None:
    line = "ä" * 999 + "\n"
    put(root, "a", f"nädel\n{line * (MAX_READ // len(line.encode()) + 1)}nädel\n")

    assert files.search("nädel") == "a:1: nädel\n[1 hits in 1 files; of 1 only the first 10,000,000 bytes]"


def test_a_hit_far_in_a_long_line_is_shown(files: FileTools, root: Path) -> None:
    put(root, "a", "x" * 5_000 + "needle" + "x" * 5_000)

    assert "needle" in files.search("needle").split("\n")[0]


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", "(x?a)*(a*)*b$", "(a|a)*c"])
def test_no_pattern_holds_the_bot_up(root: Path, pattern: str) -> None:
    put(root, "a", "first\n" + "a" * 3_000 + "b!\n")
    files = FileTools(Jail(root), search_seconds=0.1)

    answer = files.search(f"{pattern}|first")

    assert answer.startswith("a:1: first\n[1 hits in 1 files")


def test_a_search_that_ran_out_of_time_says_so(root: Path) -> None:
    put(root, "a", "a" * 3_000 + "b\n")
    files = FileTools(Jail(root), search_seconds=0.1)

    assert "stopped after 0.1 s" in files.search("(a|aa)+$")


@pytest.mark.parametrize(
    "pattern", ["(", "", "a" * 501, "(a(?R)?b)", "(?P<n>a(?&n)?)", "(a)(?1)", "(" * 400 + ")" * 400]
)
def test_a_pattern_that_is_none_or_calls_itself_is_refused(
    files: FileTools, root: Path, pattern: str
) -> None:
    put(root, "a", "a")

    with pytest.raises(ToolFault):
        files.search(pattern)


@pytest.mark.parametrize(
    ("glob", "path", "is_meant"),
    [
        ("*.py", "a.py", True),
        ("*.py", "x/y/a.py", True),
        ("./*.py", "x/a.py", False),
        ("x/*.py", "x/a.py", True),
        ("x/*.py", "x/y/a.py", False),
        ("x/**/*.py", "x/a.py", True),
        ("x/**/*.py", "x/y/z/a.py", True),
        ("**", "x/y", True),
        ("**/*", "x", True),
        ("x/**", "x/y/z", True),
        ("[ab].t?t", "b.txt", True),
        ("[ab].t?t", "c.txt", False),
    ],
)
def test_a_glob_means_what_people_expect(glob: str, path: str, is_meant: bool) -> None:
    assert Glob(glob).matches(tuple(path.split("/"))) is is_meant


def test_a_glob_of_many_stars_takes_no_time() -> None:
    glob = Glob("**/a/" * 90 + "b")

    assert not glob.matches(("a",) * 500)
    assert not Glob("*a" * 240 + "b").matches(("a" * 250,))


def test_braces_in_a_glob_are_refused_and_not_silently_without_hits() -> None:
    with pytest.raises(ToolFault, match="once for each"):
        Glob("*.{py,md}")
