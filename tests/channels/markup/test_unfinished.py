"""Markdown that still grows, that is odd, or that means harm."""

import time

import pytest

from channels.markup import discord, feishu, plain, slack, telegram
from channels.markup.tree import Break, Code, Heading, Listing, Paragraph, Quote, Rule, Text, parse, words
from tests.channels.markup.test_feishu import said

ANSWER = """# Title

Some **bold *and more* words**, `code` and a [link](https://h.example/a).

- one
  - two

```py
x = 1
```

| a | b |
|---|---|
| c | d |

> quoted
"""

RENDERED = {
    "telegram": lambda text: telegram.render(text).text,
    "slack": slack.render_mrkdwn,
    "discord": discord.render,
    "feishu": lambda text: said(feishu.render(text)),
    "plain": plain.render,
}


@pytest.mark.parametrize("dialect", RENDERED)
def test_every_beginning_of_an_answer_can_be_shown(dialect: str) -> None:
    for size in range(len(ANSWER) + 1):
        assert isinstance(RENDERED[dialect](ANSWER[:size]), str)


@pytest.mark.parametrize("dialect", RENDERED)
@pytest.mark.parametrize(
    ("begun", "words_shown"),
    [
        ("See ```", "See"),
        ("```py\nx = 1", "x = 1"),
        ("some **bo", "bo"),
        ("a [link](htt", "link"),
        ("| a | b |\n|--", "a"),
    ],
)
def test_what_has_come_in_part_is_shown(dialect: str, begun: str, words_shown: str) -> None:
    assert words_shown in RENDERED[dialect](begun)


@pytest.mark.parametrize("begun", ["Points:\n-", "Points:\n--", "Points:\n==="])
def test_no_line_becomes_a_title_for_a_moment(begun: str) -> None:
    assert not any(isinstance(block, Heading) for block in parse(begun))


def test_a_rule_right_below_a_paragraph_is_a_rule() -> None:
    assert [type(block) for block in parse("words\n---\nmore")] == [Paragraph, Rule, Paragraph]


def test_what_looks_like_a_definition_is_shown() -> None:
    (paragraph,) = parse("[1]: https://h.example")

    assert isinstance(paragraph, Paragraph)
    assert words(paragraph.inlines) == "[1]: https://h.example"


def test_html_is_words() -> None:
    assert parse("<b>a</b>\nc") == (Paragraph((Text("<b>a</b>"), Break(), Text("c"))),)


def test_blocks_stand_in_one_another() -> None:
    (quote,) = parse("> 4. a\n>    ```py\n>    x\n>    ```")

    assert quote == Quote((Listing(((Paragraph((Text("a"),)), Code("x", "py")),), 4, is_tight=True),))


@pytest.mark.parametrize(
    "text",
    [
        *("> " * 3_000 + "deep", "- " * 3_000 + "deep", "*a _b " * 2_000 + "deep", "**a" * 3_000 + "deep"),
        *("[" * 3_000 + "deep", "![" * 3_000 + "deep", "`a``" * 2_000 + "deep", "<" * 6_000 + "deep"),
        *("[a](" * 2_000 + "deep", "_*" * 3_000 + "deep", "a **b " * 2_000 + "deep" + "** c" * 2_000),
    ],
)
def test_what_is_meant_to_do_harm_is_only_text(text: str) -> None:
    began = time.perf_counter()
    shown = [render(text) for render in RENDERED.values()]

    assert time.perf_counter() - began < 5
    assert all("deep" in one for one in shown)


@pytest.mark.parametrize("dialect", RENDERED)
def test_an_answer_is_shown_quickly(dialect: str) -> None:
    text = (ANSWER * 30)[:4_000]
    RENDERED[dialect](text)

    began = time.perf_counter()
    for _ in range(5):
        RENDERED[dialect](text)

    assert (time.perf_counter() - began) / 5 < 0.05, "it takes some 5 ms"
