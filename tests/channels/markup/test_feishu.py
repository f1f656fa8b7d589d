"""Markdown as the elements of a Feishu card."""

import json
import re

import pytest
from hypothesis import given

from channels.markup.feishu import Element, measure, render
from tests.channels.markup.texts import ANYTHING, DOCUMENTS, EXAMPLES, seen

TABLE = "| a | b |\n|-|-|\n| 1 | **2** |\n\n"


def said(elements: list[Element]) -> str:
    """What a card says, in order, marks and all."""
    parts: list[str] = []
    for element in elements:
        if element["tag"] == "markdown":
            parts.append(str(element["content"]))
            continue
        columns, rows = element["columns"], element["rows"]
        assert isinstance(columns, list)
        assert isinstance(rows, list)
        parts += [column["display_name"] for column in columns]
        parts += [row[column["name"]] for row in rows for column in columns]
    return "\n".join(parts)


def content(markdown: str) -> str:
    """The content of a card that is one element."""
    (element,) = render(markdown)
    return str(element["content"])


@EXAMPLES
@given(text=ANYTHING)
def test_every_element_is_one_that_feishu_takes(text: str) -> None:
    elements = render(text)

    tables = [element for element in elements if element["tag"] == "table"]
    assert len(tables) <= 5
    assert {element["tag"] for element in elements} <= {"markdown", "table"}
    for element in elements:
        if element["tag"] == "markdown":
            assert str(element["content"]).strip()
    for table in tables:
        assert isinstance(table["columns"], list)
        assert isinstance(table["rows"], list)
        names = [column["name"] for column in table["columns"]]
        assert 1 <= len(names) == len(set(names)) <= 50
        assert all(set(row) == set(names) for row in table["rows"])
        assert table["rows"]
        assert table["page_size"] in range(1, 11)


@EXAMPLES
@given(text=ANYTHING)
def test_nobody_is_called(text: str) -> None:
    assert not re.search(r"<\s*/?\s*(?:at|person)\b", said(render(text)).replace("\u2060", "-"))


@EXAMPLES
@given(text=DOCUMENTS)
def test_every_word_is_shown_in_order(text: str) -> None:
    assert seen(said(render(text))) == seen(text)


@EXAMPLES
@given(text=ANYTHING)
def test_the_measure_is_enough_for_the_json(text: str) -> None:
    small = json.dumps(render(text), ensure_ascii=False, separators=(",", ":"))

    assert measure(text) >= len(small.encode(errors="surrogatepass"))


@pytest.mark.parametrize(
    ("markdown", "written"),
    [
        ("**b** *i* ~~s~~ `c`", "**b** *i* ~~s~~ `c`"),
        ("# A\n\n#### B", "# A\n\n#### B"),
        ("<at id=all></at>", "&#60;at id=all&#62;&#60;/at&#62;"),
        ("`<at id=all>`", "`<\u2060at id=all>`"),
        ("\\*no\\* a_b https://a.example/?b_=1&c", "&#42;no&#42; a_b https://a.example/?b_=1&c"),
        ("\\# no title\n\\- no item\n1\\. neither", "&#35; no title\n&#45; no item\n1&#46; neither"),
        ("[a](https://b.example/(c))", "[a](https://b.example/%28c%29)"),
        ("![alt](https://b.example/i.png)", "[alt](https://b.example/i.png)"),
        ("> a\n> > b", "> a\n>\n> > b"),
        ("- a\n  - b", "- a\n  - b"),
        ("```\nx\n```", "```plain_text\nx\n```"),
        ("- a\n  ```py\n  x\n  ```", "- a\n  ```py\n  x\n  ```"),
    ],
)
def test_an_element_is_written_so(markdown: str, written: str) -> None:
    assert content(markdown) == written


def test_a_table_is_a_table_with_markup_where_there_is_some() -> None:
    before, table, after = render(f"Look:\n\n{TABLE}Done.")

    assert (before["content"], after["content"]) == ("Look:", "Done.")
    assert table == {
        "tag": "table",
        "page_size": 1,
        "columns": [
            {"name": "c0", "display_name": "a", "data_type": "text"},
            {"name": "c1", "display_name": "b", "data_type": "markdown"},
        ],
        "rows": [{"c0": "1", "c1": "**2**"}],
    }


def test_the_sixth_table_is_code() -> None:
    elements = render(TABLE * 7)

    assert [element["tag"] for element in elements] == ["table"] * 5 + ["markdown"]
    assert str(elements[-1]["content"]).count("```plain_text") == 2
