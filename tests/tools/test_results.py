"""Results that are too long: what the model gets, what is kept, and who may read it."""

import asyncio
import os
import stat
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.messages import SessionKey
from bot.tools import ToolContext, ToolFault
from bot.tools.arguments import parse_arguments
from bot.tools.results import LEAST, MAX_BYTES, MAX_KEPT, UNKEPT, Artifacts, Results, clean, shorten
from tests.factories import inbound

SESSION = SessionKey("web:default:main")
CONTEXT = ToolContext(message=inbound(session=SESSION))
STRANGER = ToolContext(message=inbound(session="web:default:other"))
LONG = "".join(f"line {number}\n" for number in range(10_000))


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "artifacts"


@pytest.fixture
def results(directory: Path) -> Results:
    return Results(directory, limit=2_000)


def files(directory: Path) -> list[Path]:
    """What is kept, in the order of its numbers."""
    return sorted(directory.glob("*/*"), key=lambda path: int(path.stem[1:]))


# --- shortening


@given(
    text=st.lists(st.text(max_size=40), min_size=1, max_size=60).map(
        lambda parts: "\n".join(parts * (2 * LEAST // max(1, len("\n".join(parts))) + 2))
    ),
    limit=st.integers(min_value=LEAST, max_value=2 * LEAST),
    name=st.sampled_from([None, "r1", "r999"]),
)
def test_a_shortened_text_is_its_beginning_and_its_end_within_the_limit(
    text: str, limit: int, name: str | None
) -> None:
    if len(text) <= limit:
        return
    short = shorten(text, limit, name)

    head, _, rest = short.rpartition("\n[… ")
    word, _, tail = rest.partition(" …]\n")
    assert len(short) <= limit
    assert text.startswith(head)
    assert text.endswith(tail)
    assert word.startswith(f"{len(text) - len(head) - len(tail)} of {len(text)} characters")
    assert (f'read_result("{name}", offset={len(head)})' in word) == (name is not None)
    assert len(head) + len(tail) > limit * 3 // 4 - 150


def test_a_text_is_cut_where_lines_end() -> None:
    head, _, rest = shorten(LONG, 2_000, "r1").partition("\n[… ")
    tail = rest.partition(" …]\n")[2]

    assert head.endswith("\n")
    assert LONG[-len(tail) - 1] == "\n"
    assert len(head) > 1.5 * len(tail)


def test_a_text_of_one_line_is_cut_anywhere() -> None:
    assert len(shorten("x" * 10_000, 2_000, "r1")) > 1_990


# --- cleaning


@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_no_control_character_and_no_half_character_reaches_the_model(text: str) -> None:
    cleaned = asyncio.run(clean(text))

    assert cleaned.encode().decode() == cleaned
    assert all(char in "\n\t" or (char >= " " and not "\x7f" <= char < "\xa0") for char in cleaned)


@given(st.text(alphabet=st.characters(exclude_categories=("Cc", "Cs"))))
def test_what_people_write_stays_as_it_is(text: str) -> None:
    assert asyncio.run(clean(f"{text}\n\t{text}")) == f"{text}\n\t{text}"


async def test_control_characters_can_be_seen() -> None:
    assert await clean("\x1b[31mred\x00\x7f\x9b\r\nback\rup\ud800") == "␛[31mred␀␡\\x9b\nback␍up\ufffd"


async def test_a_long_text_is_cleaned_to_its_end() -> None:
    assert await clean("ä\x1b\r\n" * 100_000) == "ä␛\n" * 100_000


# --- keeping


async def test_what_fits_stays_whole_and_is_not_kept(results: Results, directory: Path) -> None:
    assert await results.cap(SESSION, "x" * 2_000) == "x" * 2_000
    assert files(directory) == []


async def test_the_whole_of_a_shortened_result_can_be_read_on_page_by_page(results: Results) -> None:
    short = await results.cap(SESSION, LONG)
    found, offset = "", 0
    while offset < len(LONG):
        page, _, line = (await results.read_result(CONTEXT, "r1", offset)).rpartition("\n[characters ")
        found += page
        offset += len(page)
        assert line.startswith(f"{offset - len(page)} to {offset} of {len(LONG)} of r1; ")

    assert len(short) <= 2_000
    assert found == LONG
    assert line.endswith("this is its end]")


async def test_a_page_is_never_so_long_that_it_would_be_shortened_itself(directory: Path) -> None:
    for limit in (LEAST, 40_000):
        results = Results(directory, limit=limit)
        await results.cap(SESSION, LONG)

        page = await results.read_result(CONTEXT, "r1", 5, 1_000_000)

        assert len(page) <= min(limit, 16_200)
        assert await results.cap(SESSION, page) == page


async def test_a_page_can_be_short(results: Results) -> None:
    await results.cap(SESSION, LONG)

    text = await results.read_result(CONTEXT, "r1", 7, 4)

    assert text == f"{LONG[7:11]}\n[characters 7 to 11 of {len(LONG)} of r1; go on with offset=11]"


async def test_an_offset_beyond_the_end_is_answered_with_the_length(results: Results) -> None:
    await results.cap(SESSION, LONG)

    with pytest.raises(ToolFault, match=f"r1 has {len(LONG)} characters"):
        await results.read_result(CONTEXT, "r1", len(LONG))


@pytest.mark.parametrize("arguments", ['{"id": "r1", "offset": -1}', '{"id": "r1", "limit": 0}', "{}"])
async def test_the_tool_refuses_places_that_can_not_be(results: Results, arguments: str) -> None:
    [tool] = results.tools()

    with pytest.raises(ToolFault, match="do not fit"):
        parse_arguments(tool, arguments)
    assert (tool.name, tool.risk, tool.is_idempotent) == ("read_result", "read", True)


async def test_nobody_reads_the_results_of_another_session(results: Results) -> None:
    await results.cap(SESSION, LONG)

    with pytest.raises(ToolFault, match="no result 'r1' in this session"):
        await results.read_result(STRANGER, "r1")


@pytest.mark.parametrize(
    "name",
    [
        "",
        "r0",
        "r2",
        "R1",
        "r1.txt",
        "../x/r1",
        "/etc/passwd",
        "r1\0",
        "r1\n",
        "r٣",
        "r" + "9" * 5_000,
        "\ud800",
    ],
)
async def test_only_ids_that_were_given_are_read(results: Results, name: str) -> None:
    await results.cap(SESSION, LONG)

    with pytest.raises(ToolFault, match="There is no result"):
        await results.read_result(CONTEXT, name)


async def test_what_is_kept_is_for_nobody_else_on_the_machine(results: Results, directory: Path) -> None:
    await results.cap(SESSION, LONG)

    [file] = files(directory)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert "main" not in str(file.relative_to(directory))


async def test_of_many_results_the_last_are_kept(results: Results, directory: Path) -> None:
    for number in range(MAX_KEPT + 5):
        await results.cap(SESSION, f"{number} {LONG}")

    assert [file.stem for file in files(directory)] == [f"r{number}" for number in range(6, MAX_KEPT + 6)]
    assert (await results.read_result(CONTEXT, f"r{MAX_KEPT + 5}", 0, 5)).startswith("54 li")


async def test_results_that_come_at_once_are_kept_apart(results: Results, directory: Path) -> None:
    await asyncio.gather(*(results.cap(SESSION, f"{number} {LONG}") for number in range(30)))

    texts = {file.read_text().partition(" ")[0] for file in files(directory)}
    assert texts == {str(number) for number in range(30)}


async def test_a_huge_result_is_kept_up_to_the_limit_and_says_so(results: Results, directory: Path) -> None:
    short = await results.cap(SESSION, "漢" * 2_000_000)
    [file] = files(directory)
    last = await results.read_result(CONTEXT, "r1", len(file.read_text()) - 40)

    assert file.stat().st_size <= MAX_BYTES
    assert f"{UNKEPT}\n[characters" in last
    assert short.endswith("漢")


async def test_a_full_disk_costs_the_rest_of_the_result_and_nothing_else(tmp_path: Path) -> None:
    blocked = tmp_path / "artifacts"
    blocked.write_text("a file where the folder would be")

    text = await Results(blocked, limit=2_000).cap(SESSION, LONG)

    assert len(text) <= 2_000
    assert "they could not be kept" in text


async def test_the_results_of_a_deleted_session_are_gone(results: Results, directory: Path) -> None:
    await results.cap(SESSION, LONG)
    await results.cap(STRANGER.session, LONG)

    await results.forget(SESSION)
    await results.forget(SESSION)

    assert len(files(directory)) == 1
    with pytest.raises(ToolFault, match="There is no result"):
        await results.read_result(CONTEXT, "r1")


async def test_sessions_that_have_kept_nothing_for_long_are_swept(results: Results, directory: Path) -> None:
    await results.sweep(seconds=60)
    await results.cap(SESSION, LONG)
    await results.cap(STRANGER.session, LONG)
    old = files(directory)[0].parent
    os.utime(old, (time.time() - 100, time.time() - 100))

    await results.sweep(seconds=60)

    [left] = files(directory)
    assert left.parent != old


def test_a_limit_that_leaves_nothing_is_refused(directory: Path) -> None:
    with pytest.raises(ValueError, match="999 characters is below 1000"):
        Results(directory, limit=999)


def test_files_of_others_in_the_folder_do_not_count(directory: Path) -> None:
    artifacts = Artifacts(directory)
    artifacts.keep(SESSION, "one")
    folder = next(directory.iterdir())
    (folder / "rx.txt").write_text("a stranger")

    assert artifacts.keep(SESSION, "two") == "r2"
    assert (folder / "rx.txt").exists()
