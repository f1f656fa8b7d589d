"""Markdown as Slack writes it: nothing becomes a command that was words."""

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.markup.slack import guard_pings, measure, render_mrkdwn
from tests.channels.markup.texts import ANYTHING, DOCUMENTS, EXAMPLES, seen

CONTROL = re.compile(r"<(?:https?://|mailto:)[^<>|\s]+(?:\|[^<>|]*)?>")
PING = re.compile(r"<(?:@[A-Z][A-Z0-9]*|!(?:here|channel|everyone|subteam\^[A-Z0-9]+))(?:\|[^<>]*)?>")


@EXAMPLES
@given(text=ANYTHING)
def test_every_bracket_is_escaped_or_belongs_to_a_link_of_ours(text: str) -> None:
    rest = CONTROL.sub("", render_mrkdwn(text))

    assert not re.search("[<>]", re.sub(r"(?m)^(?:\s*(?:•|\d+\.) )*(?:> ?)+", "", rest).replace("> ", ""))
    assert not re.search(r"&(?!amp;|lt;|gt;)", rest)


@EXAMPLES
@given(text=DOCUMENTS)
def test_every_word_is_shown_in_order(text: str) -> None:
    assert seen(html.unescape(render_mrkdwn(text))) == seen(text)


@EXAMPLES
@given(text=ANYTHING)
def test_the_measure_is_enough_for_both_ways_to_send(text: str) -> None:
    assert measure(text) >= max(len(render_mrkdwn(text)), len(guard_pings(text)))


@EXAMPLES
@given(text=st.one_of(ANYTHING, st.text(alphabet="<!@#U1 herchanl>dD-", max_size=60)), data=st.data())
def test_a_guarded_text_grows_with_the_text(text: str, data: st.DataObject) -> None:
    size = data.draw(st.integers(0, len(text)))

    assert guard_pings(text).startswith(guard_pings(text[:size])[:-1])
    assert not PING.search(guard_pings(text))


@pytest.mark.parametrize(
    ("markdown", "mrkdwn"),
    [
        ("**b** *i* ~~s~~ `c & d`", "*b* _i_ ~s~ `c &amp; d`"),
        ("a < b & c > d", "a &lt; b &amp; c &gt; d"),
        ("[a|b](https://a.example/x|y)", "<https://a.example/x%7Cy|a¦b>"),
        ("<https://a.example/?b=1&c=2>", "<https://a.example/?b=1&amp;c=2>"),
        ("# Title\ntext", "*Title*\n\ntext"),
        ("```py\nif a < b:\n```", "```\nif a &lt; b:\n```"),
        ("- a\n  - b", "• a\n  • b"),
        ("1. a\n2. b", "1. a\n2. b"),
        ("> a\n> > b", "> a\n>\n> b"),
        ("| a | b |\n|-|-|\n| 1 | 2 |", "```\na | b\n--+--\n1 | 2\n```"),
        ("**two\nlines**", "*two*\n*lines*"),
        ("![alt](https://a.example/i.png)", "<https://a.example/i.png|alt>"),
    ],
)
def test_an_element_is_written_so(markdown: str, mrkdwn: str) -> None:
    assert render_mrkdwn(markdown) == mrkdwn


@pytest.mark.parametrize("ping", ["<!here>", "<!channel>", "<!everyone|x>", "<@U123>", "<!subteam^S1|@team>"])
def test_nobody_is_called_unless_it_is_allowed(ping: str) -> None:
    assert not PING.search(render_mrkdwn(f"Hi {ping}!"))
    assert not PING.search(guard_pings(f"Hi {ping}!"))
    if "|" not in ping:
        assert ping in render_mrkdwn(f"Hi {ping}!", allow_pings=True)


@pytest.mark.parametrize(
    "code", ["<!DOCTYPE html>", "<!doctype html>", "<!-- note -->", "a <b> c", "List<T>"]
)
def test_html_is_not_touched(code: str) -> None:
    assert guard_pings(code) == code
