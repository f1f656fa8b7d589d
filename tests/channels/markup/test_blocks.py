"""Finished blocks of an answer that still grows."""

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from channels.markup.blocks import next_block
from channels.markup.splitting import Piece
from tests.channels.markup.texts import ANYTHING, DOCUMENTS, EXAMPLES, seen


def blocks_of(text: str, *, shortest: int = 20, longest: int = 120, is_idle: bool = False) -> list[Piece]:
    """All the blocks that are there to be sent."""
    pieces: list[Piece] = []
    start, fence = 0, ""
    while True:
        block = next_block(text, start, fence=fence, min_chars=shortest, max_chars=longest, is_idle=is_idle)
        if block is None:
            return pieces
        pieces.append(block)
        start, fence = block.end, block.fence


def texts_of(text: str, *, is_idle: bool = False) -> list[str]:
    return [block.text for block in blocks_of(text, is_idle=is_idle)]


@EXAMPLES
@given(text=ANYTHING, is_idle=st.booleans())
def test_blocks_are_no_longer_than_they_may_be_and_go_on(text: str, is_idle: bool) -> None:
    blocks = blocks_of(text, is_idle=is_idle)

    ends = [block.end for block in blocks]
    assert all(len(block.text) <= 120 for block in blocks)
    assert all(before < after for before, after in zip([0, *ends], ends, strict=False))
    assert not ends or ends[-1] <= len(text)


@EXAMPLES
@given(text=DOCUMENTS, data=st.data())
def test_a_block_that_was_sent_stays_as_it_is(text: str, data: st.DataObject) -> None:
    size = data.draw(st.integers(0, len(text)))

    early, late = blocks_of(text[:size]), blocks_of(text)

    assert [block.text for block in late[: len(early)]] == [block.text for block in early]


@EXAMPLES
@given(text=DOCUMENTS)
def test_no_block_leaves_code_open(text: str) -> None:
    for block in blocks_of(text, is_idle=True):
        tokens = MarkdownIt("commonmark").parse(f"{block.text}\n\nend")

        assert tokens[-2].content.endswith("end"), block.text


@EXAMPLES
@given(text=st.lists(st.integers(0, 99).map("w{}".format), min_size=1, max_size=80).map(" ".join))
def test_no_word_is_left_out_or_cut(text: str) -> None:
    blocks = blocks_of(text, is_idle=True)

    told = [word for block in blocks for word in block.text.split()]
    assert told == seen(text)[: len(told)]


def test_a_paragraph_is_a_block_when_it_is_long_enough() -> None:
    assert texts_of("Hello.\n\nThis is the first paragraph.\n\nAnd the sec") == [
        "Hello.\n\nThis is the first paragraph."
    ]


def test_nothing_is_a_block_before_it_ends() -> None:
    assert texts_of("This is a paragraph that still grows and gr") == []


def test_a_heading_is_sent_with_what_it_is_about() -> None:
    assert texts_of("## What this is all about\n\nIt is about") == []
    assert texts_of("## What this is all about\n\nIt.\n\nNow") == ["## What this is all about\n\nIt."]


def test_code_with_blank_lines_is_one_block() -> None:
    code = "```py\nfirst = 1\n\nsecond = 2\n\nthird = 3"

    assert texts_of(code) == []
    assert texts_of(f"{code}\n```\n\nSo") == [f"{code}\n```"]


def test_code_that_is_too_long_is_closed_and_opened_again() -> None:
    code = "```py\n" + "line = 1\n" * 40

    blocks = texts_of(code)

    assert len(blocks) > 1
    assert all(block.startswith("```py\n") and block.endswith("\n```") for block in blocks)


def test_when_nothing_more_comes_all_whole_words_are_sent() -> None:
    assert texts_of("One two thr", is_idle=True) == ["One two"]
    assert texts_of("One two. Three", is_idle=True) == ["One two."]
    assert texts_of("One two three.", is_idle=True) == ["One two three."]


def test_code_and_spans_that_are_not_whole_are_waited_for() -> None:
    assert texts_of("See:\n\n```py\nfor a in b:\n    pri", is_idle=True) == ["See:"]
    assert texts_of("It is **very imp", is_idle=True) == ["It is"]
    assert texts_of("```py\nfor a in b:", is_idle=True) == []


def test_white_space_is_no_block() -> None:
    assert texts_of("\n\n \n\n", is_idle=True) == []
