"""What is a command and what is not, and how its arguments are read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.commands.parsing import Misuse, read_arguments, read_head, usage
from bot.commands.spec import Argument, CommandSpec

NUMBER = Argument(name="n", help="", kind="number")
CONFIRM = Argument(name="confirm", help="", choices=("yes", "no"))
TITLE = Argument(name="title", help="", kind="rest", is_required=True)


def spec(*arguments: Argument) -> CommandSpec:
    return CommandSpec(name="x", help="Do x", arguments=arguments)


@pytest.mark.parametrize(
    ("text", "name", "rest"),
    [
        ("/help", "help", ""),
        ("/HELP me", "help", "me"),
        ("!new", "new", ""),
        ("  /rename  a title ", "rename", "a title"),
        ("/broadcast\nfirst\n\nsecond", "broadcast", "first\n\nsecond"),
        ("/broadcast one\ntwo", "broadcast", "one\ntwo"),
    ],
)
def test_a_command_is_a_sign_a_name_and_the_rest(text: str, name: str, rest: str) -> None:
    head = read_head(text)

    assert head is not None
    assert (head.name, head.rest) == (name, rest)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "/",
        "//",
        "/usr/bin/x is broken",
        "/ hello",
        "/5 points",
        "hello /help",
        "/x-y",
        "/x.",
        "/x@",
        "/é",
    ],
)
def test_what_only_looks_like_a_command_is_text(text: str) -> None:
    assert read_head(text) is None


def test_a_command_may_name_the_bot_that_it_is_for() -> None:
    head = read_head("/Help@Our_Bot model")

    assert head is not None
    assert (head.name, head.bot, head.rest) == ("help", "our_bot", "model")


@given(text=st.text(alphabet=st.sampled_from("/!@ab5_ \n\té`"), max_size=40) | st.text())
def test_any_text_can_be_read(text: str) -> None:
    head = read_head(text)

    assert head is None or text.lstrip()[0] == head.sign


@given(text=st.text(alphabet=st.characters(exclude_characters="/!")))
def test_a_text_without_a_sign_is_no_command(text: str) -> None:
    assert read_head(text) is None


def test_a_word_that_can_not_be_an_optional_argument_is_the_next_one() -> None:
    assert read_arguments(spec(NUMBER, CONFIRM), "yes") == {"confirm": "yes"}
    assert read_arguments(spec(NUMBER, CONFIRM), "3 YES") == {"n": "3", "confirm": "yes"}
    assert read_arguments(spec(NUMBER, CONFIRM), "") == {}


@pytest.mark.parametrize(
    ("given_", "rest", "says"),
    [
        ((TITLE,), "", "title is missing"),
        ((CONFIRM,), "maybe", "`maybe` is too much"),
        ((), "more", "`more` is too much"),
        ((NUMBER, CONFIRM), "3 yes yes", "`yes` is too much"),
        ((NUMBER,), "٣", "`٣` is too much"),
        ((NUMBER,), "1" * 10, "is too much"),
        ((Argument(name="n", help="", kind="number", is_required=True),), "x", "`x` is no number"),
        ((Argument(name="m", help="", choices=("on", "off"), is_required=True),), "x", "none of on, off"),
    ],
)
def test_arguments_that_do_not_fit_say_why(given_: tuple[Argument, ...], rest: str, says: str) -> None:
    read = read_arguments(spec(*given_), rest)

    assert isinstance(read, Misuse)
    assert says in read.text


@given(rest=st.text())
def test_the_rest_keeps_every_character_of_what_was_said(rest: str) -> None:
    head = read_head(f"/x {rest}")

    assert head is not None
    assert head.rest == rest.strip()
    if head.rest:
        assert read_arguments(spec(TITLE), head.rest) == {"title": head.rest}


def test_the_usage_names_what_is_needed_and_what_may_be_left_out() -> None:
    assert usage(spec(NUMBER, CONFIRM, TITLE)) == "/x [n] [yes|no] <title>"
