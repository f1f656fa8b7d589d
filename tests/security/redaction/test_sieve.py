"""The quick look: a text that it passes over is one in which nothing is found."""

import re
import string

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bot.settings.redaction import AuditPlace, OutboundPlace, PlaceSettings
from security.redaction import Policy, Redactor
from security.redaction.assigned import NAMED
from security.redaction.formats import FORMATS, LEAST, may_be_key
from security.redaction.sieve import MOST, Sieve
from security.redaction.units import skip_word
from tests.security.redaction.samples import (
    ASSIGNED,
    CLEAN,
    CONFIGURED,
    GROUPS,
    KEY,
    PERSONAL,
    SECRETS,
    W,
    redactor,
)

PLACES = {
    "all": redactor(*CONFIGURED),
    "outbound": Redactor(Policy.of(OutboundPlace(), key=KEY), CONFIGURED),
    "audit": Redactor(Policy.of(AuditPlace(), key=KEY), CONFIGURED),
    "secrets": Redactor(Policy.of(PlaceSettings(), key=KEY), CONFIGURED),
    "own": Redactor(Policy({}, key=KEY), CONFIGURED),
}
WORDS = (
    *(place.format(value) for place, value in ASSIGNED),
    *(place.format(value) for _, place, value in PERSONAL),
    *(value for _, _, value in PERSONAL),
    *SECRETS.values(),
    *CONFIGURED,
    *(value[: len(value) * 2 // 3] for value in CONFIGURED),
    *CLEAN,
    *("password: hun!ter?", "pa\u017f\u017fword: hun!ter?", "to\u212aen=Rn8cPMBUra", "de:ad:be:ef", "a::b:c"),
    *("\\nghp_" + W[:36], "%0Aghp_" + W[:36], "1_ghp_" + W[:36], "sın 046454286"),
)
PIECES = st.sampled_from(
    (*WORDS, *" \n,：:=.-/+@%\"'()年月", "is ", "bearer ", "Basic ", "token", "1", "0049", "x")
)
TEXTS = st.lists(PIECES | st.text(max_size=4) | st.from_regex(r"[0-9A-Da-f .:/-]{1,24}"), max_size=5).map(
    "".join
)


def slowly(guard: Redactor, text: str) -> str:
    """What comes of a text in earnest."""
    stream = guard.open()
    return stream.feed(text) + stream.flush()


@pytest.mark.parametrize("place", PLACES)
@settings(max_examples=200)
@given(text=TEXTS)
@example("ends in hun!ter?")
def test_the_quick_look_changes_nothing(place: str, text: str) -> None:
    assert PLACES[place].redact(text) == slowly(PLACES[place], text)


@pytest.mark.parametrize("text", WORDS)
@pytest.mark.parametrize("before", ["", " ", "a, ", "。", "x="])
def test_what_is_found_in_earnest_is_found_behind_the_quick_look(text: str, before: str) -> None:
    for guard in PLACES.values():
        assert guard.redact(before + text) == slowly(guard, before + text)


def test_a_key_that_begins_with_a_long_word_is_no_word() -> None:
    assert skip_word("glagent-00000000000000000000", 0) == 0


@pytest.mark.parametrize("kind", FORMATS)
@settings(max_examples=8)
@given(data=st.data())
def test_every_key_begins_as_keys_begin(kind: str, data: st.DataObject) -> None:
    text = data.draw(st.from_regex(re.compile(FORMATS[kind], re.ASCII), fullmatch=True))

    assert len(text) >= LEAST
    assert may_be_key(text, 0, len(text))
    assert may_be_key(f"({text})", 1, len(text) + 1)
    assert skip_word(text, 0) == 0


@given(st.from_regex(re.compile(NAMED.pattern)))
def test_every_name_of_a_secret_is_looked_at(text: str) -> None:
    assert Sieve({"secrets"}).may_hold(f"{text}x1y2z3")


@given(st.text(alphabet=string.ascii_letters + " .,\n", max_size=200))
def test_words_are_passed_over(text: str) -> None:
    words = " ".join(word[:9] for word in text.split())

    assert not Sieve(frozenset(GROUPS)).may_hold(words)


@pytest.mark.parametrize(
    "text",
    ["1532", "0.031", "14:30", "web:default:main", "telegram:default:4711223344", "tool exec", "v1.2.3"],
)
def test_what_logs_are_full_of_is_passed_over(text: str) -> None:
    assert not Sieve({"secrets", "card", "national_id"}).may_hold(text)


@pytest.mark.parametrize("length", [MOST - 40, MOST, MOST + 1])
def test_a_long_text_is_looked_at_in_earnest(length: int) -> None:
    text = "word " * (length // 5) + SECRETS["npm"]

    assert redactor().redact(text).endswith(" [REDACTED-NPM]")
