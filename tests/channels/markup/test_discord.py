"""Markdown as Discord reads it."""

import re

import pytest
from hypothesis import given

from channels.markup.discord import measure, render
from tests.channels.markup.texts import ANYTHING, DOCUMENTS, EXAMPLES, seen


@EXAMPLES
@given(text=ANYTHING)
def test_every_block_of_code_is_closed(text: str) -> None:
    fences = re.findall(r"(?<!\\)```", render(text))

    assert len(fences) % 2 == 0


@EXAMPLES
@given(text=ANYTHING)
def test_without_previews_every_address_stands_in_brackets(text: str) -> None:
    rendered = re.sub(r"```.*?```|`[^`]*`", "", render(text), flags=re.DOTALL)

    assert not re.search(r"(?<![<\w])https?://h\.example", rendered)


@EXAMPLES
@given(text=DOCUMENTS)
def test_every_word_is_shown_in_order(text: str) -> None:
    assert seen(render(text)) == seen(text)


@EXAMPLES
@given(text=ANYTHING)
def test_the_measure_is_the_length(text: str) -> None:
    assert measure(text) == len(render(text))


@pytest.mark.parametrize(
    ("markdown", "content"),
    [
        ("**b** *i* ***x*** ~~s~~ `c`", "**b** *i* ***x*** ~~s~~ `c`"),
        ("snake_case 2 * 3 a|b C:\\dir ~", "snake_case 2 * 3 a|b C:\\dir ~"),
        ("\\*no\\* \\_no\\_ \\~~no~~ \\|\\|no||", r"\*no\* \_no\_ \~\~no\~\~ \|\|no\|\|"),
        ("# A\n\n### B\n\n#### C **d**", "# A\n\n### B\n\n**C d**"),
        ("[a](https://b.example)", "[a](<https://b.example>)"),
        ("https://b.example/c_d.", "<https://b.example/c_d>."),
        ("<https://b.example>", "<https://b.example>"),
        ("[https://c.example](https://b.example)", "<https://c.example> (<https://b.example>)"),
        ("![alt](https://b.example/i.png)", "[alt](<https://b.example/i.png>)"),
        ("[a](./b.md)", "a"),
        ("> a\n> > b", "> a\n>\n> b"),
        ("---", "───"),
        ("\\# no title\n\\> no quote", "\\# no title\n\\> no quote"),
        ("```py\nx\n```", "```py\nx\n```"),
        ("~~~js {1}\na ``` b\n~~~", "```js\na `\u200b`` b\n```"),
        ("`` a ` b ``", "`` a ` b ``"),
        (
            "- a\n  1. b\n\n     ```py\n     if x:\n         y\n     ```",
            "- a\n  1. b\n```py\nif x:\n    y\n```",
        ),
        ("| a | b |\n|-|-|\n| 1 | 2 |", "```\na | b\n--+--\n1 | 2\n```"),
    ],
)
def test_an_element_is_written_so(markdown: str, content: str) -> None:
    assert render(markdown) == content


def test_with_previews_addresses_stand_alone() -> None:
    assert render("https://b.example [a](https://c.example/d_(e))", link_previews=True) == (
        "https://b.example [a](https://c.example/d_%28e%29)"
    )
