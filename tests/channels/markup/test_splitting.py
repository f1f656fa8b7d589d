"""Long answers cut into messages: nothing is lost, nothing is torn apart, and nothing moves."""

import re
import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from channels.markup.splitting import Piece, split_markdown
from channels.markup.telegram import measure as telegram_size
from channels.markup.telegram import utf16
from tests.channels.markup.texts import ANYTHING, DOCUMENTS, EXAMPLES, fenced

MEASURES: list[Callable[[str], int]] = [len, utf16, lambda text: len(text.encode(errors="surrogatepass")) + 7]
measures = st.sampled_from(MEASURES)
limits = st.integers(min_value=12, max_value=400)
PYTHON = "".join(f"line_{number} = {number}\n" for number in range(100))


def code_in(text: str) -> list[str]:
    """The lines of code that a reader of CommonMark sees."""
    tokens = MarkdownIt("commonmark").parse(text)
    blocks = [token.content for token in tokens if token.type == "fence"]
    return [line.strip() for block in blocks for line in block.splitlines() if line.strip()]


def texts_of(text: str, limit: int) -> list[str]:
    return [piece.text for piece in split_markdown(text, limit)]


@EXAMPLES
@given(text=ANYTHING, limit=limits, measure=measures)
def test_every_piece_fits_and_all_of_the_text_is_in_one(
    text: str, limit: int, measure: Callable[[str], int]
) -> None:
    pieces = split_markdown(text, limit, measure)

    ends = [piece.end for piece in pieces]
    assert all(measure(piece.text) <= limit for piece in pieces)
    assert ends[-1] == len(text)
    assert all(one < other for one, other in zip([0, *ends], ends[:-1], strict=False))


@EXAMPLES
@given(text=ANYTHING, limit=limits, measure=measures, data=st.data())
def test_no_cut_moves_when_more_text_comes(
    text: str, limit: int, measure: Callable[[str], int], data: st.DataObject
) -> None:
    size = data.draw(st.integers(0, len(text)))

    early, late = split_markdown(text[:size], limit, measure), split_markdown(text, limit, measure)

    assert late[: len(early) - 1] == early[:-1]


@EXAMPLES
@given(text=ANYTHING, limit=limits, data=st.data())
def test_cutting_goes_on_from_any_piece(text: str, limit: int, data: st.DataObject) -> None:
    pieces = split_markdown(text, limit)
    number = data.draw(st.integers(0, len(pieces) - 1))
    before = pieces[number - 1] if number else Piece(text="", end=0)

    assert split_markdown(text, limit, start=before.end, fence=before.fence) == pieces[number:]


@EXAMPLES
@given(text=st.text(alphabet="abc .,\n é。👍", max_size=300), limit=limits)
def test_words_without_markup_are_all_there(text: str, limit: int) -> None:
    pieces = split_markdown(text, limit)

    assert "".join("".join(piece.text.split()) for piece in pieces) == "".join(text.split())


@EXAMPLES
@given(text=st.lists(fenced(), min_size=1, max_size=3).map("\n\nw1 w2\n\n".join), limit=st.integers(60, 200))
def test_code_stays_code_line_by_line(text: str, limit: int) -> None:
    pieces = split_markdown(text, limit)

    assert [line for piece in pieces for line in code_in(piece.text)] == code_in(text)


@EXAMPLES
@given(text=DOCUMENTS, limit=st.integers(60, 300))
def test_no_piece_leaves_code_open(text: str, limit: int) -> None:
    for piece in split_markdown(text, limit)[:-1]:
        tokens = MarkdownIt("commonmark").parse(f"{piece.text}\n\nend")

        assert tokens[-2].content.endswith("end"), piece.text


@pytest.mark.parametrize("fence", ["```python", "~~~python", "````python"])
def test_code_that_is_cut_is_closed_and_opened_again_with_its_language(fence: str) -> None:
    mark = fence.removesuffix("python")

    pieces = texts_of(f"Look:\n\n{fence}\n{PYTHON}{mark}\n", 400)

    assert len(pieces) > 2
    assert all(fence in text and text.endswith(f"\n{mark}") for text in pieces)
    assert all(text.startswith(fence) for text in pieces[1:])


def test_code_in_a_list_is_opened_again_without_the_list() -> None:
    code = "".join(f"        step({number})\n" for number in range(30))
    first, *others = texts_of(f"1. one\n   - two\n     ```py\n{code}     ```\n2. three", 200)

    assert first.endswith("\n     ```")
    assert all(text.startswith("```py\n   step(") for text in others)
    assert others[-1].endswith("```\n2. three")


def test_code_in_a_quote_stays_in_the_quote() -> None:
    code = "".join(f"> step({number})\n" for number in range(30))

    pieces = texts_of(f"> ```py\n{code}> ```\n", 200)

    assert all(text.startswith("> ```py\n") and text.endswith("\n> ```") for text in pieces)


def test_code_moves_to_the_next_message_rather_than_being_cut_in_its_beginning() -> None:
    words, code = "word " * 30, "```py\n" + "x = 1\n" * 15 + "```"

    assert texts_of(f"{words}\n\n{code}", 200) == [words.strip(), code]


def test_a_table_that_is_cut_has_its_head_again() -> None:
    head = "| name | size |\n|---|---|\n"
    rows = "".join(f"| file {number} | {number} |\n" for number in range(40))

    pieces = texts_of(f"{head}{rows}\nThat is all.", 200)

    assert all(text.startswith(head + "| file") for text in pieces)
    assert pieces[-1].endswith("That is all.")
    assert "".join(text.removeprefix(head) + "\n" for text in pieces) == f"{rows}\nThat is all.\n"


def test_paragraphs_are_better_than_lines_and_lines_better_than_sentences() -> None:
    paragraph, line, sentence = "a" * 70, "b" * 12, "Cc. Dd. Ee"

    assert texts_of(f"{paragraph}\n\n{line}\n{sentence}", 90) == [paragraph, f"{line}\n{sentence}"]
    assert texts_of(f"{paragraph}\n{line}. {sentence}", 90) == [paragraph, f"{line}. {sentence}"]
    assert texts_of(f"{paragraph}. Bb. {sentence} {line}", 80) == [f"{paragraph}. Bb. Cc.", f"Dd. Ee {line}"]


def test_items_of_a_list_stay_whole() -> None:
    items = [f"- item {number} that is\n  somewhat longer" for number in range(12)]

    pieces = texts_of("\n".join(items), 150)

    assert [item for text in pieces for item in re.split(r"\n(?=-)", text)] == items


def test_a_heading_goes_with_what_it_is_about() -> None:
    words = "word " * 30

    assert texts_of(f"{words}\n\n## About\n\n{words}", 170) == [words.strip(), f"## About\n\n{words}".strip()]


@pytest.mark.parametrize(
    "span",
    [
        "[a link with words](https://h.example/with/a/path)",
        "`some code with blanks`",
        "**bold words that stay**",
    ],
)
@pytest.mark.parametrize("size", range(60, 100, 7))
def test_what_belongs_together_in_a_line_is_not_cut(span: str, size: int) -> None:
    text = f"{'word ' * 8}{span}{' more' * 12}"

    assert sum(span in piece for piece in texts_of(text, size)) == 1


def test_no_words_become_a_block_by_being_cut() -> None:
    pieces = texts_of("a # b - c > d 1. e " * 20, 50)

    assert not [text for text in pieces if text.startswith(("#", "-", ">", "1."))]


@pytest.mark.parametrize("cluster", ["👩‍👩‍👧‍👦", "🇩🇪", "é", "👍🏽", "❤️", "각"])
def test_what_people_see_as_one_character_is_not_cut(cluster: str) -> None:
    pieces = texts_of(cluster * 60, 25)

    assert all(not text.replace(cluster, "") for text in pieces)


def test_blank_lines_at_a_cut_are_left_out() -> None:
    pieces = texts_of(f"{'a' * 80}\n\n\n\n{'b' * 80}", 100)

    assert pieces == ["a" * 80, "b" * 80]


def test_a_nested_list_does_not_become_code_when_it_begins_a_message() -> None:
    text = "- one\n  - two\n" + "".join(f"    - item {number}\n" for number in range(40))

    assert not [piece for piece in texts_of(text, 200) if piece.startswith("    ")]


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_without_room_is_refused(limit: int) -> None:
    with pytest.raises(ValueError, match="no room"):
        split_markdown("text", limit)


def test_a_character_that_is_larger_than_the_limit_is_refused() -> None:
    with pytest.raises(ValueError, match="no room"):
        split_markdown("👍", 1, utf16)


@EXAMPLES
@given(text=ANYTHING, limit=st.integers(1, 12))
def test_even_the_smallest_limits_are_kept(text: str, limit: int) -> None:
    pieces = split_markdown(text, limit)

    assert all(len(piece.text) <= limit for piece in pieces)
    assert pieces[-1].end == len(text)


@EXAMPLES
@given(text=ANYTHING, limit=limits)
def test_what_telegram_would_show_fits(text: str, limit: int) -> None:
    assert all(telegram_size(piece.text) <= limit for piece in split_markdown(text, limit, telegram_size))


def test_the_measure_is_asked_a_few_times_a_piece_and_time_grows_with_the_text() -> None:
    asked = 0

    def measure(text: str) -> int:
        nonlocal asked
        asked += 1
        return len(text)

    paragraph = "Some **bold** words. " + "word " * 60 + "\n\n```py\n" + "x = 1\n" * 40 + "```\n\n"
    began = time.perf_counter()
    pieces = split_markdown(paragraph * 400, 2_000, measure)
    seconds = time.perf_counter() - began

    assert asked <= 20 * len(pieces)
    assert seconds < 5
