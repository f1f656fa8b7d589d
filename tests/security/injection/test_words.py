"""Short plain texts are cut word by word, all others by numpy: it makes no difference to what is found."""

import string

from hypothesis import example, given
from hypothesis import strategies as st

from security.injection.features import buckets_of_few, features_of
from security.injection.languages import VOCABULARIES
from security.injection.letters import Letters
from security.injection.matching import IN_SIGNS, SIGNS, Matcher
from security.injection.normalise import codes_of
from security.injection.views import views_of
from security.injection.words import FEW, LONGEST, few_words_in, words_of

PLAIN = st.text(st.sampled_from(string.ascii_lowercase[:5] + string.digits[:2] + "  ,.!'\t"), max_size=FEW)
MATCHER = Matcher(VOCABULARIES)
TALK = st.lists(
    st.sampled_from(
        ("ignore", "all", "previous", "instructions", "the", "reveal", "your", "prompt", "a", "x")
    ),
    max_size=20,
).map(" ".join)


@given(PLAIN | TALK)
@example("")
@example("...")
@example("a b c d e f g")
@example("x" * (LONGEST + 1))
@example("one two")
def test_the_words_of_a_short_text_are_those_of_any(text: str) -> None:
    quick, slow = few_words_in(text), words_of(codes_of(text), True)
    spans = list(zip(slow.starts.tolist(), slow.ends.tolist(), strict=True))

    assert quick.words == [text[start:end] for start, end in spans]
    assert quick.spans_in(text) == spans
    assert [run[size:].tolist() for size, run in enumerate(quick.runs)] == [run.tolist() for run in slow.runs]
    assert quick.singles == slow.singles


@given(PLAIN | TALK)
@example("")
@example("abc")
@example("a  b")
@example(" \t\n!")
@example("x" * FEW)
def test_the_buckets_of_a_short_text_are_those_of_any(text: str) -> None:
    codes = codes_of(text)

    quick = buckets_of_few(text, few_words_in(text))

    assert set(quick.tolist()) == set(features_of(codes, words_of(codes)).buckets.tolist())


@given(TALK)
def test_the_words_of_attacks_are_found_in_short_texts_as_in_long_ones(text: str) -> None:
    (short, *_), (longer, *_) = (
        views_of(each, Letters.load()).found for each in (text, f"{text}{' ' * (FEW + 1)}")
    )

    assert short.few is not None
    assert longer.few is None
    assert MATCHER.hits(short) == MATCHER.hits(longer)


def test_every_sign_holds_what_is_looked_for_first() -> None:
    assert all(any(part in sign for part in IN_SIGNS) for sign in SIGNS)
