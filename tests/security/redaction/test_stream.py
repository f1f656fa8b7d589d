"""Streams: in whatever pieces a text comes, the same is shown, and never a part of what is hidden."""

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.settings.redaction import OutboundPlace
from security.redaction import Policy, Redactor
from tests.security.redaction.samples import (
    ASSIGNED,
    CLEAN,
    CONFIGURED,
    KEY,
    PEM,
    PERSONAL,
    SECRETS,
    W,
    redactor,
)

MOST_HELD = 512
PART = 8  # characters of a hidden value that may never be seen together
VALUES = (
    *SECRETS.values(),
    *(place.format(value) for place, value in ASSIGNED),
    *(place.format(value) for _, place, value in PERSONAL),
    *CONFIGURED,
    "sk-" + W * 5,
    "eyJhbGciOi" + W * 5 + "." + W * 5,
    "correct%2Fhorse%2Bbattery%3Dstaple%261",
)
NOISE = (
    *CLEAN,
    "a" * 700,
    "1 2 3 " * 99,
    "4111 " * 80,
    "x=y:z=" * 99,
    "-----BEGIN ",
    "-----BEGIN RSA PRIVATE KEY-----\n",
    *(
        "implementation",
        "Beginning",
        "defaced",
        "discord",
        "Nothing",
        "mypassword=hun!ter ",
        "page12 ",
        "1 Mar",
    ),
    *("patience", "abcdefabcdef", "SomethingElse!a ", "hunter-", "12th ", "7, ", "token is something1x"),
)
TEXTS = st.lists(
    st.sampled_from((*VALUES, *NOISE))
    | st.sampled_from((" ", "\n", ", ", "：", '"', "born ", "token: "))
    | st.text(max_size=6),
    max_size=8,
).map("".join)
SIZES = st.lists(st.integers(min_value=1, max_value=90), min_size=1, max_size=12)
GUARD = redactor(*CONFIGURED)
OUTBOUND = Redactor(Policy.of(OutboundPlace(), key=KEY), CONFIGURED)  # where words are passed over
GUARDS = st.sampled_from((GUARD, OUTBOUND))


def pieces(text: str, sizes: list[int]) -> Iterator[str]:
    """`text` in pieces of these sizes, again and again."""
    place = turn = 0
    while place < len(text):
        size = sizes[turn % len(sizes)]
        yield text[place : place + size]
        place, turn = place + size, turn + 1


def streamed(guard: Redactor, text: str, sizes: list[int]) -> str:
    stream = guard.open()
    return "".join(stream.feed(piece) for piece in pieces(text, sizes)) + stream.flush()


@settings(max_examples=300)
@given(guard=GUARDS, text=TEXTS, sizes=SIZES)
def test_the_pieces_in_which_a_text_comes_change_nothing(
    guard: Redactor, text: str, sizes: list[int]
) -> None:
    assert streamed(guard, text, sizes) == guard.redact(text)


@settings(max_examples=200)
@given(guard=GUARDS, text=TEXTS)
def test_a_text_that_comes_letter_by_letter_is_shown_the_same(guard: Redactor, text: str) -> None:
    assert streamed(guard, text, [1]) == guard.redact(text)


@settings(max_examples=200)
@given(
    guard=GUARDS,
    value=st.sampled_from((*SECRETS.values(), *CONFIGURED, "sk-" + W * 5)),
    sizes=SIZES,
    before=st.sampled_from(CLEAN),
)
def test_no_part_of_a_hidden_value_is_ever_given_out(
    guard: Redactor, value: str, sizes: list[int], before: str
) -> None:
    stream = guard.open()
    parts = {value[start : start + PART] for start in range(len(value) - PART + 1)}
    parts -= {part for part in parts if part in before or part in "-----BEGIN RSA PRIVATE KEY-----"}
    shown = ""

    for piece in pieces(f"{before} {value} and so on", sizes):
        shown += stream.feed(piece)
        assert not any(part in shown for part in parts)
    shown += stream.flush()

    assert not any(part in shown for part in parts)
    assert shown.startswith(before)
    assert shown.endswith("] and so on")


@given(text=TEXTS)
def test_little_is_held_back(text: str) -> None:
    guard = redactor()  # of what is shown, every character: nothing in these texts becomes a mask
    stream = guard.open()
    clean = "".join(sign for sign in text if sign in "abcdefghij -:=\n")
    shown = 0

    for taken, sign in enumerate(clean, 1):
        shown += len(stream.feed(sign))
        assert taken - shown <= MOST_HELD


@pytest.mark.parametrize("sign", ["a", "1", "-", "=", "@", ".", "A1b2", "4111 ", "AB12 ", "(2", "1."])
def test_an_endless_run_is_not_held_back_forever(sign: str) -> None:
    stream = redactor(*CONFIGURED).open()
    text = sign * 3_000
    shown = "".join(stream.feed(piece) for piece in pieces(text, [7]))

    assert len(shown) >= len(text) - MOST_HELD


def test_an_endless_key_is_one_mask_and_nothing_of_it_is_kept() -> None:
    stream = redactor().open()
    shown = stream.feed("sk-") + "".join(stream.feed(W) for _ in range(50))

    assert shown == "[REDACTED-OPENAI]"
    assert stream.feed(" then") + stream.flush() == " then"


def test_an_endless_private_key_is_one_mask() -> None:
    stream = redactor().open()
    head = PEM[: PEM.index("==")]
    shown = stream.feed(head) + "".join(stream.feed(f"{W[:64]}\n") for _ in range(200)) + stream.flush()

    assert shown == "[REDACTED-PRIVATE-KEY]"


def test_ordinary_words_are_shown_at_once() -> None:
    stream = redactor(*CONFIGURED).open()

    assert [stream.feed(word) for word in ("Good ", "morning, ", "Ann. ", "你好。")] == [
        *("Good ", "morning, ", "Ann. ", "你好。"),
    ]


def test_what_can_become_nothing_is_not_held_back() -> None:
    stream = OUTBOUND.open()
    words = ("The beginning", " of", " page12 ", "in room 4, ", "and implement", "ation")

    assert "".join(stream.feed(word) for word in words) == "".join(words)


@pytest.mark.parametrize("text", ["4111 1111 ", "12 ", "sk-", "Nothing", "2 55 08 1"])
def test_what_may_become_something_is_held_back(text: str) -> None:
    stream = OUTBOUND.open()

    assert stream.feed(text) != text


@given(text=TEXTS)
def test_what_is_redacted_twice_is_not_changed_again(text: str) -> None:
    once = GUARD.redact(text)

    assert GUARD.redact(once).count("[REDACTED") >= once.count("[REDACTED")


@given(text=TEXTS)
def test_offsets_lead_back_to_the_text_that_came_in(text: str) -> None:
    shown = GUARD.inspect(text)
    rest, place = [], 0
    for match in shown.matches:
        assert place <= match.start < match.end <= len(text)
        rest.append(text[place : match.start])
        place = match.end
    rest.append(text[place:])

    pattern = shown.text
    for part in rest:  # what was not hidden stands there, in order
        assert part in pattern
        pattern = pattern[pattern.index(part) + len(part) :]
