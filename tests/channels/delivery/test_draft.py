"""An answer that grows: its pieces are its text, and what was settled changes no more."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.agent.store import Posted
from bot.messages import Button
from channels.delivery.draft import MAX_TAG, Draft, Layout
from channels.delivery.pace import Pace
from tests.channels.delivery.platform import Clock
from tests.factories import chunk_of, inbound

LIMIT = 20
MESSAGE = inbound(session="other:default:main")
GROWTHS = st.lists(st.text("ab. \n", min_size=1, max_size=12), max_size=40)


def draft(mode: str = "partial", *, text: str = "", **layout: int) -> Draft:
    clock = Clock()
    pace = Pace(clock=clock, sleep=clock.sleep)
    given = {"block_min": 5, "block_max": 15} | layout
    made = Draft(
        MESSAGE.run,
        MESSAGE.address,
        Layout(limit=LIMIT, measure=len, mode=mode, **given),  # type: ignore[arg-type]  # of the three modes
        "question",
        pace.budget(),
        pace.budget,
    )
    if text:
        say(made, text)
    return made


def say(draft: Draft, text: str, *, attempt: int = 0, replaces: bool = False) -> None:
    draft.grow(chunk_of(MESSAGE, text, attempt=attempt, replaces=replaces))


def shown(draft: Draft, **given: bool) -> list[str]:
    return [piece.text for piece in draft.pieces(**given)]


def marks(texts: list[str]) -> str:
    """All but the space between words, which may go where a text is cut."""
    return "".join("".join(texts).split())


@given(GROWTHS)
def test_joined_the_pieces_of_any_growth_are_the_text(growth: list[str]) -> None:
    grown = draft()
    for text in growth:
        say(grown, text)
        pieces = shown(grown)

        assert marks(pieces) == marks([grown.text])
        assert all(len(piece) <= LIMIT for piece in pieces)


@given(GROWTHS, st.sampled_from(["partial", "block"]))
def test_while_it_grows_no_piece_but_the_last_ever_changes(growth: list[str], mode: str) -> None:
    grown, before = draft(mode), list[str]()
    for text in growth:
        say(grown, text)
        pieces = shown(grown)
        settled = before if mode == "block" else before[:-1]

        assert pieces[: len(settled)] == settled
        before = pieces


@given(GROWTHS, st.sampled_from(["partial", "block", "off"]), st.booleans())
def test_in_every_mode_the_whole_text_is_shown_in_the_end(
    growth: list[str], mode: str, is_idle: bool
) -> None:
    grown = draft(mode)
    for text in growth:
        say(grown, text)
        grown.pieces(is_idle=is_idle)
    grown.end(grown.text)
    pieces = grown.pieces()

    assert marks([piece.text for piece in pieces]) == marks(growth)
    assert [piece.end for piece in pieces] == sorted({piece.end for piece in pieces})


@given(GROWTHS, GROWTHS)
def test_an_answer_that_began_anew_shows_nothing_of_the_first_try(
    first: list[str], second: list[str]
) -> None:
    grown = draft()
    for text in first:
        say(grown, text)
        grown.pieces()
    say(grown, "new", attempt=1)
    for text in second:
        say(grown, text, attempt=1)
        grown.pieces()

    assert marks(shown(grown)) == marks(["new", *second])


@given(GROWTHS, st.text("ab. \n", max_size=100))
def test_the_end_is_what_counts_whatever_was_streamed(growth: list[str], final: str) -> None:
    grown = draft()
    for text in growth:
        say(grown, text)
        grown.pieces()
    grown.end(final)

    assert marks(shown(grown)) == marks([final])


def test_whole_answers_wait_for_their_end() -> None:
    grown = draft("off", text="hello")
    before = grown.pieces()
    grown.end("hello there", (Button(label="Yes", value="yes"),))

    assert before == []
    assert shown(grown) == ["hello there"]
    assert grown.buttons[0].label == "Yes"


def test_blocks_come_when_they_are_finished_or_nothing_more_comes() -> None:
    grown = draft("block", text="First one.\n\nSecond")
    finished = shown(grown)
    idle = shown(grown, is_idle=True)
    say(grown, " and the rest of it")

    assert finished == ["First one."]
    assert idle == ["First one."]
    assert shown(grown)[0] == "First one."


def test_one_that_is_settled_is_told_apart_from_one_that_grows() -> None:
    grown = draft(text="word " * 6)
    grown.pieces()
    before = [grown.is_settled(index) for index in (0, 1)]
    grown.end(grown.text)

    assert before == [True, False]
    assert grown.is_settled(1)


# --- the tag that asks for a reply


@pytest.mark.parametrize(
    ("text", "answers", "rest"),
    [
        ("[[reply_to_current]] Yes.", "question", "Yes."),
        ("  [[ reply_to: m77 ]]\nYes.", "m77", "Yes."),
        ("[[reply_to:m77]]Yes.", "m77", "Yes."),
    ],
)
def test_a_tag_is_never_shown_however_it_comes_in(text: str, answers: str, rest: str) -> None:
    for size in range(1, len(text) + 1):
        grown = draft()
        for at in range(0, len(text), size):
            say(grown, text[at : at + size])

            assert rest.startswith("".join(shown(grown)))
        grown.end(text)

        assert (shown(grown), grown.must_quote, grown.answers) == ([rest], True, answers)


@pytest.mark.parametrize("text", ["[", "[[", "[link](x)", "[[wiki]] page", "[[reply_to_curr", "[ ] to do"])
def test_what_only_looks_like_a_tag_is_text_in_the_end(text: str) -> None:
    grown = draft(text=text)
    grown.end(text)

    assert (shown(grown), grown.must_quote) == ([text], False)


def test_a_tag_that_never_ends_is_text_before_long() -> None:
    grown = draft(text="[[" + "x" * MAX_TAG)

    assert marks(shown(grown)) == grown.text


# --- messages that stand on the platform


def test_one_that_can_be_changed_no_more_is_followed_by_one_with_the_rest() -> None:
    grown = draft(text="begun")
    part = grown.part(0)
    part.platform_id, part.piece = "m1", grown.pieces()[0]
    grown.leave(0)
    say(grown, " and more")

    assert shown(grown) == ["begun", "and more"]
    assert part.is_final


def test_one_that_shows_something_else_is_followed_by_one_with_everything() -> None:
    grown = draft(text="wrong")
    grown.part(0).platform_id = "m1"
    say(grown, "right", replaces=True)
    grown.leave(0)

    assert shown(grown) == ["right"]
    assert grown.part(0).platform_id is None


def test_blocks_that_an_earlier_process_posted_are_not_posted_again() -> None:
    text = "First one.\n\nSecond one."
    grown = draft("block")
    grown.resume([Posted(part=0, platform_id="m1", attempt=2, end=12)], 2)
    grown.attempt = 2
    grown.end(text)
    pieces = grown.pieces()

    assert [piece.text for piece in pieces] == ["", "Second one."]
    assert (grown.part(0).platform_id, grown.part(0).is_final) == ("m1", True)


@pytest.mark.parametrize(("attempt", "end"), [(1, 12), (2, None)])
def test_what_an_earlier_attempt_posted_is_there_but_has_to_be_changed(attempt: int, end: int | None) -> None:
    grown = draft("block")
    grown.resume([Posted(part=0, platform_id="m1", attempt=attempt, end=end)], 2)
    grown.end("First one.")

    assert shown(grown) == ["First one."]
    assert (grown.part(0).platform_id, grown.part(0).shown) == ("m1", None)
