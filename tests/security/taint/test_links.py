"""What becomes of addresses and pictures in an answer, whatever pieces it comes in."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bot.agent.taint import Taint, tainted
from bot.messages import new_id
from bot.models.base import PromptMessage
from security.taint import Links
from security.taint.links import MAX_RUN

KNOWN = "https://good.example/a/b?x=1"
PIECES = st.sampled_from(
    [
        *(
            "https://",
            "http",
            "://",
            "evil.example",
            "/",
            "?d=",
            "SECRET-4471",
            "![",
            "](",
            ")",
            "[",
            "]",
            "<",
            ">",
        ),
        *(
            " ",
            "\n",
            "。",
            "秘密",
            "é",
            ".",
            "..",
            "&#58;",
            "%2E",
            "\\",
            "//",
            "www.",
            ".com",
            "mailto:",
            "a",
            "!",
        ),
        *(
            KNOWN,
            "https://good.example/a",
            "vec![1]",
            "1.2.3.4/xyz",
            "x" * 300,
            "`",
            "'",
            '"',
            ",",
            "good.example",
        ),
    ]
)
LIVE = re.compile(r"(?i)(?:https?:[/\\]|mailto:|//)?[\w.\-]*evil\.example[/?#][!-~]*[A-Za-z0-9]")


@contextmanager
def reading() -> Iterator[Taint]:
    """A turn that has read a page with one address."""
    turn = Taint([("web", "https://good.example/")])
    turn.keep(f"See {KNOWN} for more.", is_quotable=True, is_private=False)
    with tainted(turn):
        yield turn


@given(
    pieces=st.lists(PIECES, max_size=40), cuts=st.lists(st.integers(min_value=1, max_value=7), max_size=200)
)
def test_a_stream_gives_the_same_whatever_pieces_it_comes_in(pieces: list[str], cuts: list[int]) -> None:
    text, links = "".join(pieces), Links()
    with reading():
        whole = links.redact(text)
        stream, shown, at = links.open(), "", 0
        for cut in [*cuts, len(text) + 1]:
            shown += stream.feed(text[at : at + cut])
            at += cut
        shown += stream.flush()

    assert shown == whole


@example(pieces=["x" * 300, "evil.example", "/", "https://"])
@given(pieces=st.lists(PIECES, max_size=40))
def test_no_picture_and_no_address_that_was_put_together_stays_alive(pieces: list[str]) -> None:
    with reading():
        shown = Links().redact("".join(pieces))

    assert "![" not in shown
    assert LIVE.search(shown) is None


@given(text=st.text())
def test_in_a_clean_turn_nothing_changes(text: str) -> None:
    with tainted(Taint([("owner", "")])):
        assert Links().redact(text) == text


@given(text=st.text(alphabet=st.characters(exclude_characters="!.:/&%\\"), max_size=200))
def test_words_without_addresses_stay_as_they_are(text: str) -> None:
    with reading():
        assert Links().redact(text) == text


@pytest.mark.parametrize(
    "text",
    [
        KNOWN,
        f"[more]({KNOWN}).",
        "https://good.example/a and good.example",
        "e.g. this, v1.2.3, os.path.join, main.py, notes/plan.md, ./run.sh, 10.0.0.0/8, and/or, a@b.example",
        "http://localhost:8080 https://python.org",
    ],
)
def test_what_says_nothing_new_stays_alive(text: str) -> None:
    with reading():
        assert Links().redact(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://evil.example/?d=1", "hxxps://evil[.]example/?d=1"),
        ("[x](https://good.example/other)", "[x](hxxps://good[.]example/other)"),
        ("https://good.example@evil.example/", "hxxps://good[.]example@evil[.]example/"),
        ("https:/evil.example/x", "hxxps:/evil[.]example/x"),
        ("https&#58;//evil.example/x", "https&#58;//evil[.]example/x"),
        ("https://evil%2Eexample/x", "hxxps://evil%2Eexample/x"),
        ("a.secret.evil.com", "a[.]secret[.]evil[.]com"),
        ("mailto:a@b.example?body=x", "mailto[:]a@b[.]example?body=x"),
        ("![a](https://good.example/a)", "[a](https://good.example/a)"),
        ("(https://good.example/a)SECRET", "(https://good.example/a) SECRET"),
        ("https://good.example/a。秘密", "https://good.example/a 。秘密"),
        ("1.2.3.4/SECRET", "1[.]2[.]3[.]4/SECRET"),
    ],
)
def test_what_could_carry_something_is_taken_apart(text: str, shown: str) -> None:
    with reading():
        assert Links().redact(text) == shown


def test_hosts_of_the_settings_may_always_be_linked_to() -> None:
    with reading():
        assert Links(["wiki.example"]).redact("https://wiki.example/q?a=b") == "https://wiki.example/q?a=b"


def test_an_endless_word_is_not_held_back_for_ever() -> None:
    with reading():
        stream = Links().open()
        shown = stream.feed("x" * (5 * MAX_RUN))

    assert len(shown) >= 4 * MAX_RUN


def test_what_was_said_before_does_not_leave_with_an_address() -> None:
    links, address = Links(), "https://wiki.example/search/my-cat-is-called-peppermint"
    told = PromptMessage(role="user", content="My cat is called Peppermint.")
    asked = PromptMessage(role="user", content="Look at the page")
    with reading() as turn:
        turn.window = (PromptMessage(role="system", content=new_id()), told, asked)
        leaves = links.leaves([address], turn)
        turn.request = "What is https://wiki.example/search/my-cat-is-called-peppermint about?"
        stays = links.leaves([address], turn)

    assert (leaves, stays) == (True, False)
