"""Markdown as Telegram shows it; each entity is looked at by a checker of its own."""

import pytest
from hypothesis import given

from channels.markup.telegram import Entity, Rendered, measure, render, utf16
from tests.channels.markup.texts import ANYTHING, DOCUMENTS, EXAMPLES, seen

SPLITTABLE = {"bold", "italic", "strikethrough"}
CONTINUOUS = {"text_link", "code", "pre"}


def words_of(rendered: Rendered, entity: Entity) -> str:
    units = rendered.text.encode("utf-16-le", "surrogatepass")
    cut = units[2 * entity.offset : 2 * (entity.offset + entity.length)]
    return cut.decode("utf-16-le", "surrogatepass")


def shown(markdown: str) -> tuple[str, list[tuple[str, str]]]:
    """The text, and each entity's type and words."""
    rendered = render(markdown)
    return rendered.text, [(entity.type, words_of(rendered, entity)) for entity in rendered.entities]


def check(rendered: Rendered) -> None:
    """Find fault with entities as the server does.

    Source: tdlib, MessageEntity.cpp, `are_entities_valid`, without its rules for merging.
    """
    size = len(rendered.text.encode("utf-16-le", "surrogatepass")) // 2
    around: list[Entity] = []
    assert len(rendered.entities) <= 100
    assert list(rendered.entities) == sorted(rendered.entities, key=lambda one: (one.offset, -one.length))
    for entity in rendered.entities:
        assert entity.length > 0
        assert entity.offset >= 0
        assert entity.offset + entity.length <= size
        assert words_of(rendered, entity) == words_of(rendered, entity).strip()
        assert (entity.url is not None) == (entity.type == "text_link")
        while around and entity.offset >= around[-1].offset + around[-1].length:
            around.pop()
        types = {one.type for one in around}
        if around:
            assert entity.offset + entity.length <= around[-1].offset + around[-1].length, "they overlap"
        assert entity.type not in types
        assert not types & {"code", "pre"}, "code holds something"
        if entity.type in ("code", "pre"):
            assert types <= {"blockquote"}, "code stands in something"
        if entity.type in CONTINUOUS | {"blockquote"}:
            assert not types & CONTINUOUS
        if entity.type == "blockquote":
            assert not types & SPLITTABLE
        around.append(entity)


@EXAMPLES
@given(text=ANYTHING)
def test_every_entity_is_one_that_telegram_takes(text: str) -> None:
    check(render(text))


@EXAMPLES
@given(text=ANYTHING)
def test_the_measure_is_the_length_in_utf_16_units(text: str) -> None:
    assert measure(text) == len(render(text).text.encode("utf-16-le", "surrogatepass")) // 2


@EXAMPLES
@given(text=DOCUMENTS)
def test_every_word_is_shown_in_order(text: str) -> None:
    assert seen(render(text).text) == seen(text)


@pytest.mark.parametrize(
    ("markdown", "text", "entities"),
    [
        (
            "**b** *i* ~~s~~ `c`",
            "b i s c",
            [("bold", "b"), ("italic", "i"), ("strikethrough", "s"), ("code", "c")],
        ),
        ("👍 **b**", "👍 b", [("bold", "b")]),
        ("# A *title*", "A title", [("bold", "A title"), ("italic", "title")]),
        ("# A **title**", "A title", [("bold", "A title")]),
        ("**a `c` b**", "a c b", [("bold", "a"), ("code", "c"), ("bold", "b")]),
        ("[`c`](https://a.example)", "c", [("text_link", "c")]),
        ("[x](./file.md)", "x", []),
        ("![alt](https://a.example/i.png)", "alt", [("text_link", "alt")]),
        ("[](https://a.example)", "https://a.example", [("text_link", "https://a.example")]),
        ("```py\nx = 1\n```", "x = 1", [("pre", "x = 1")]),
        ("> a\n>\n> > b", "a\n\nb", [("blockquote", "a\n\nb")]),
        ("- a\n  - b\n- c", "• a\n  • b\n• c", []),
        ("7. a\n8. b", "7. a\n8. b", []),
        ("a\n\n---\n\nb", "a\n\n———\n\nb", []),
        ("| a | bb |\n|-|-|\n| 你 | x |", "a  | bb\n---+---\n你 | x", [("pre", "a  | bb\n---+---\n你 | x")]),
    ],
)
def test_an_element_is_shown_so(markdown: str, text: str, entities: list[tuple[str, str]]) -> None:
    assert shown(markdown) == (text, entities)


def test_code_keeps_its_language_and_links_their_address() -> None:
    code, link = render("```c++\nx\n```\n\n[a](https://b.example/c_d)").entities

    assert (code.language, link.url) == ("c++", "https://b.example/c_d")


@pytest.mark.parametrize("url", ["javascript:alert(1)", "file:///etc/passwd", "http://nowhere", "http://"])
def test_an_address_that_telegram_refuses_is_no_link(url: str) -> None:
    assert render(f"[a]({url})").entities == ()


def test_more_entities_than_telegram_reads_are_left_out() -> None:
    assert len(render("**a** `b` " * 80).entities) == 100


@EXAMPLES
@given(text=ANYTHING)
def test_units_are_counted_as_telegram_does(text: str) -> None:
    assert utf16(text) == sum(2 if letter > "\uffff" else 1 for letter in text)
