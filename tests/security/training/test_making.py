"""Texts that are made to learn from: always the same, whole, and of both kinds."""

from collections.abc import Mapping, Sequence

import pytest

from security.training import attacks, everyday, harmless
from security.training.corpus import Sample
from security.training.making import NAME, NEARBY, make

PAGE = "The river rises in the hills and flows to the sea. " * 40
HOSTS = [Sample(PAGE, 0, "benign", "en", "a page")]


def test_the_same_texts_are_made_each_time() -> None:
    assert make(HOSTS) == make(HOSTS)


def test_no_name_of_a_template_is_left() -> None:
    assert [sample.text for sample in make(HOSTS) if NAME.search(sample.text)] == []


@pytest.mark.parametrize(
    ("templates", "words"),
    [
        (harmless.TEMPLATES, harmless.WORDS),
        (everyday.TEMPLATES, everyday.WORDS),
        (attacks.DIRECT, {**attacks.WORDS, **attacks.FOREIGN}),
        (attacks.INSIDE, attacks.WORDS),
    ],
)
def test_no_word_is_listed_in_vain(templates: Sequence[str], words: Mapping[str, Sequence[str]]) -> None:
    named = {name for template in templates for name in NAME.findall(template)}
    others = {name for template in (*attacks.DIRECT, *attacks.INSIDE) for name in NAME.findall(template)}

    assert named <= set(words)
    assert set(words) <= named | others


def test_no_text_is_both_harmless_and_an_attack() -> None:
    made = make(HOSTS)
    texts = [{sample.text for sample in made if sample.label == label} for label in (0, 1)]

    assert not texts[0] & texts[1]
    assert min(map(len, texts)) > 500


def test_orders_stand_in_a_piece_of_a_harmless_text() -> None:
    inside = [sample.text for sample in make(HOSTS) if sample.kind == "indirect"]

    assert len(inside) > 200
    assert all("river" in text or "hills" in text or "sea" in text for text in inside)
    assert all(len(text) < 2 * NEARBY + 300 for text in inside)


def test_where_there_is_no_text_to_put_them_into_orders_are_left_out() -> None:
    assert {sample.kind for sample in make([])} == {"hard_benign", "direct"}


def test_attacks_of_a_corpus_are_no_place_for_orders() -> None:
    assert make([Sample(PAGE, 1, "indirect", "en", "a mail")]) == make([])
