"""Words in an index: found in every script, and never mistaken for where they belong."""

import sqlite3
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.long_term.words import MAX_WORDS, Share, asked, digest, fold, tag_of, to_index, words_of

HAN = st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF), min_size=1, max_size=12)
ANY = st.text(max_size=60)


def is_found(text: str, query: str, *, tag: str = "", asked_tag: str = "") -> bool:
    """Whether a real index that holds a text finds it by all words of a query."""
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute("CREATE VIRTUAL TABLE i USING fts5 (words, detail = none, tokenize = 'ascii')")
        db.execute("INSERT INTO i VALUES (?)", (to_index(text, tag),))
        words = words_of(query)
        if not words:
            return False
        question = asked(words, tag=asked_tag, is_all=True, is_prefix=True)
        found = db.execute("SELECT 1 FROM i WHERE i MATCH ?", (question,))
        return found.fetchone() is not None


@given(text=HAN, data=st.data())
def test_every_piece_of_a_chinese_text_finds_it(text: str, data: st.DataObject) -> None:
    begin = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(begin + 1, len(text)))

    assert is_found(f"Ann: {text}。", text[begin:end])


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("明天下雨", "雨"),
        ("明天下雨", "下雨"),
        ("ผมชอบดื่มชา", "ชา"),
        ("こんにちは世界", "世界"),
        ("서울에서 만나요", "서울"),
        ("Straße nach Köln", "strasse"),
        ("Straße nach Köln", "koln"),
        ("Crème brûlée", "CREME"),
        ("the boats", "boat"),
        ("ＡＢＣ１２３", "abc123"),
        ("I said: don't!", "don"),
        ("version 3.11", "3.11"),
        ("mixed 天气 good", "天气 good"),
    ],
)
def test_a_text_is_found_by(text: str, query: str) -> None:
    assert is_found(text, query)


@pytest.mark.parametrize(("text", "query"), [("明天下雨", "大雨"), ("the boat", "boats"), ("redder", "red")])
def test_a_text_is_not_found_by(text: str, query: str) -> None:
    assert not is_found(text, query)


@given(text=ANY, query=ANY)
def test_no_text_breaks_the_query_language(text: str, query: str) -> None:
    assert is_found(text, query) in (True, False)


@given(name=ANY, other=ANY)
def test_a_tag_finds_its_own_texts_alone(name: str, other: str) -> None:
    found = is_found("boat", "boat", tag=tag_of(name), asked_tag=tag_of(other))

    assert found == (name == other)


@given(text=ANY)
def test_folding_is_done_once_and_for_all(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@given(text=st.text(max_size=2_000))
def test_a_query_has_few_words_each_once(text: str) -> None:
    words = words_of(text)

    assert len(words) == len(set(words)) <= MAX_WORDS


def test_texts_that_differ_in_spaces_case_and_marks_are_the_same() -> None:
    assert digest("I'm allergic,  to PEANUTS!") == digest("i m allergic to peanuts")
    assert digest("I am allergic") != digest("I am not allergic")
    assert digest("!!!") != digest("???")


def test_short_words_count_for_less() -> None:
    share = Share(words_of("to be allergic"))

    assert share.of("to be or not to be") < 0.4
    assert share.of("allergic") > 0.6
