"""Markdown as plain text."""

import pytest
from hypothesis import given

from channels.markup.plain import measure, render
from tests.channels.markup.texts import ANYTHING, DOCUMENTS, EXAMPLES, seen


@EXAMPLES
@given(text=DOCUMENTS)
def test_every_word_is_shown_in_order(text: str) -> None:
    assert seen(render(text)) == seen(text)


@EXAMPLES
@given(text=ANYTHING)
def test_the_measure_is_the_length(text: str) -> None:
    assert measure(text) == len(render(text))


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        ("# A **b** `c`", "A b c"),
        ("[a](https://b.example) <https://b.example>", "a (https://b.example) https://b.example"),
        ("<me@b.example>", "me@b.example"),
        ("- a\n  - b\n\n5. c", "• a\n  • b\n\n5. c"),
        ("```py\nx\n```", "x"),
        ("> a", "> a"),
        ("| a | b |\n|-|-|\n| 1 | 2<br>3 |", "a | b\n--+----\n1 | 2 3"),
    ],
)
def test_an_element_is_written_so(markdown: str, text: str) -> None:
    assert render(markdown) == text
