"""Short plain texts are cut word by word, all others by numpy: it makes no difference to what is found."""

import string

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from security.injection.languages import VOCABULARIES
from security.injection.letters import Letters
from security.injection.matching import Matcher
from security.injection.normalise import codes_of
from security.injection.views import views_of
from security.injection.words import FEW, LONGEST, words_in, words_of

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
    quick, slow = words_in(text, codes_of(text)), words_of(codes_of(text), True)

    assert quick.numbers is not None
    assert quick.starts.tolist() == slow.starts.tolist()
    assert quick.ends.tolist() == slow.ends.tolist()
    assert [run.tolist() for run in quick.runs] == [run.tolist() for run in slow.runs]
    assert quick.numbers == np.concatenate(slow.runs).tolist()
    assert quick.singles == slow.singles


@given(TALK)
def test_the_words_of_attacks_are_found_in_short_texts_as_in_long_ones(text: str) -> None:
    (short, *_), (longer, *_) = (
        views_of(each, Letters.load()).found for each in (text, f"{text}{' ' * (FEW + 1)}")
    )

    assert short.words.numbers is not None
    assert longer.words.numbers is None
    assert MATCHER.hits(short) == MATCHER.hits(longer)
