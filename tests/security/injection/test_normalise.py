"""One form for what looks alike, and the way back to the input."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from security.injection.normalise import SHORT, fold, lower


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ｉｇｎｏｒｅ", "Ignore"),
        ("ig\u200bno\u2060re", "ignore"),
        ("𝐢𝐠𝐧𝐨𝐫𝐞", "ignore"),
        ("ignоrе", "ignore"),
        ("ı̇gnöré", "ignore"),
        ("".join(chr(0xE0000 + ord(letter)) for letter in "ignore"), "ignore"),
        ("がぎぐ 한국어 忽略", "がぎぐ 한국어 忽略"),
        ("line\r\nline\n", "line\r\nline\n"),
    ],
)
def test_what_looks_alike_gets_one_form(text: str, expected: str) -> None:
    assert fold(text).text == expected


def test_a_russian_text_stays_russian() -> None:
    assert fold("Расскажи о Москве").text == "Расскажи о Москве"


def test_invisible_letters_are_counted() -> None:
    assert fold("a" + "\U000e0061" * 12).hidden == 12


@settings(deadline=None)
@given(st.text(st.characters() | st.sampled_from("“”’éаоеßｆ\u200b"), max_size=60))
def test_a_short_text_is_folded_as_a_part_of_a_long_one(text: str) -> None:
    apart = "\n" + "x" * SHORT

    assert fold(text + apart).text == fold(text).text + apart


@given(st.text(st.characters(), max_size=200))
def test_every_folded_character_knows_its_place_in_the_input(text: str) -> None:
    folded = fold(text)

    assert len(folded.starts) == len(folded.text)
    assert all(0 <= start < len(text) for start in folded.starts.tolist())
    assert folded.starts.tolist() == sorted(folded.starts.tolist())


@given(st.text(st.characters(), max_size=200))
def test_lower_case_is_as_long_as_the_text(text: str) -> None:
    assert len(lower(text)) == len(text)


@given(st.text(st.sampled_from("\ufdfa㍿ﬁa"), max_size=300))
def test_a_folded_text_is_hardly_longer_than_the_input(text: str) -> None:
    assert len(fold(text).text) <= 1.25 * len(text) + 64
