"""Blocks of a growing text: finished ones, within bounds, and all of the text in them."""

from hypothesis import given
from hypothesis import strategies as st

from channels.markup.blocks import next_block
from tests.channels.markup.texts import DOCUMENTS


def blocks_of(text: str, *, is_idle: bool = False, least: int = 40, most: int = 120) -> list[str]:
    """Every block that a text gives as it stands."""
    found, start, fence = [], 0, ""
    while (
        block := next_block(text, start, fence=fence, min_chars=least, max_chars=most, is_idle=is_idle)
    ) is not None:
        found.append(block.text)
        assert block.end > start, "each block brings the text further"
        start, fence = block.end, block.fence
    return found


def test_a_paragraph_that_is_finished_is_a_block() -> None:
    first = "This is a paragraph that is long enough."

    assert blocks_of(f"{first}\n\nThe next one goes") == [first]


def test_a_paragraph_that_still_grows_is_none() -> None:
    assert blocks_of("This is a paragraph that is long enough, but it goes on and") == []


def test_short_paragraphs_are_joined() -> None:
    text = "One.\n\nTwo.\n\nThree is a little longer than the others.\n\nFour"

    assert blocks_of(text) == ["One.\n\nTwo.\n\nThree is a little longer than the others."]


def test_what_reaches_the_most_ends_at_a_sentence() -> None:
    text = "This is a sentence of some length. " * 5

    assert all(block.endswith(".") and len(block) <= 120 for block in blocks_of(text))


def test_idle_text_ends_with_a_whole_word() -> None:
    assert blocks_of("Some words, and then a hal", is_idle=True) == ["Some words, and then a"]


def test_code_is_no_block_before_it_is_closed() -> None:
    assert blocks_of("```py\nx = 1\n\n\ny = 2\n", is_idle=True) == []


def test_long_code_is_closed_and_opened_again() -> None:
    blocks = blocks_of("```py\n" + "x = 1\n" * 40)

    assert len(blocks) > 1
    assert all(block.startswith("```py\n") and block.endswith("\n```") for block in blocks)


@given(text=DOCUMENTS, least=st.integers(10, 60), more=st.integers(80, 200))
def test_no_block_is_longer_than_the_most(text: str, least: int, more: int) -> None:
    assert all(len(block) <= least + more for block in blocks_of(text, least=least, most=least + more))
