"""What was said is found by its words: the most of them first, then the newest; in one chat alone."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from bot.messages import InboundMessage, RunId, SessionKey
from memory.database import DATABASE, Database
from memory.recall import Recall
from memory.store import Store
from tests.commands.desk import fresh_home
from tests.factories import inbound

MAIN = SessionKey("web:default:main")
OTHER = SessionKey("web:default:other")


@pytest.fixture
async def talk(store: Store) -> Store:
    for text in ("The red car", "a RED house and a car", "nothing", "Straße nach Köln", "red"):
        await said(store, inbound(text))
    await said(store, inbound("red elsewhere", session=OTHER))
    return store


async def said(store: Store, message: InboundMessage) -> None:
    accepted = await store.journal.accept(message)
    await store.journal.begin(replace(message, session=accepted.session), attempts=0, history=0)


async def found(store: Store, *words: str, chat: SessionKey = MAIN, limit: int = 10) -> list[str]:
    return [one.line.text for one in await store.recall.search(chat, chat, words, limit)]


@pytest.mark.parametrize(
    ("words", "texts"),
    [
        (["red", "car", "house"], ["a RED house and a car", "The red car", "red"]),
        (["strasse"], ["Straße nach Köln"]),
        (["köln"], ["Straße nach Köln"]),
        (["koln"], ["Straße nach Köln"]),
        (["%"], []),
        (["hous"], ["a RED house and a car"]),
        (['"', "or", "*"], []),
    ],
)
async def test_lines_are_found_by_their_words(talk: Store, words: list[str], texts: list[str]) -> None:
    assert await found(talk, *words) == texts


async def test_no_more_are_given_than_were_asked_for(talk: Store) -> None:
    assert len(await found(talk, "red", limit=2)) == 2


@pytest.mark.parametrize("word", ["雨", "下雨", "明天下雨"])
async def test_chinese_is_found_by_one_character_and_by_more(store: Store, word: str) -> None:
    await said(store, inbound("我听说明天下雨。"))
    await said(store, inbound("今天天气好"))

    assert await found(store, word) == ["我听说明天下雨。"]


async def test_all_sessions_of_a_chat_are_searched_and_no_other(talk: Store) -> None:
    second = await talk.sessions.begin(MAIN, "Rome")
    await said(talk, inbound("a red scooter", session=MAIN))
    hits = await talk.recall.search(MAIN, MAIN, ["red"], 10)

    assert (hits[0].line.text, hits[0].session, hits[0].title) == ("a red scooter", second, "Rome")
    assert len(hits) == 4
    assert await found(talk, "red", chat=OTHER) == ["red elsewhere"]


async def test_a_session_that_routes_lead_to_is_searched_beside_the_chat(talk: Store) -> None:
    hits = await talk.recall.search(MAIN, OTHER, ["elsewhere"], 10)

    assert [one.line.text for one in hits] == ["red elsewhere"]


async def test_who_may_read_everything_finds_everything(talk: Store) -> None:
    assert len(await talk.recall.everywhere(["red"], 10)) == 4
    assert await talk.recall.everywhere(["?!"], 10) == []


async def test_what_was_forgotten_is_found_by_people_alone(talk: Store) -> None:
    await talk.sessions.forget(MAIN)
    await said(talk, inbound("red again"))
    for_people = await talk.recall.search(MAIN, MAIN, ["red"], 10, is_seen=False)

    assert await found(talk, "red") == ["red again"]
    assert len(for_people) == 4


async def test_many_hidden_lines_hide_no_other(store: Store) -> None:
    await said(store, inbound("the one red line"))
    for number in range(20):
        message = inbound(f"red {number}")
        await store.journal.accept(message)
        await store.journal.begin(message, attempts=0, history=1, in_context=False)

    assert await found(store, "red", limit=1) == ["the one red line"]


async def test_an_edited_line_is_found_as_it_is_now(home: Path, store: Store) -> None:
    message = inbound("red boat")
    await said(store, message)
    assert await found(store, "boat") == ["red boat"]
    with closing(sqlite3.connect(home / DATABASE)) as db:
        db.execute("UPDATE messages SET text = 'red house'")
        db.commit()

    assert await found(store, "boat") == []
    assert await found(store, "house") == ["red house"]


async def test_of_a_deleted_session_no_word_stays_in_the_index(home: Path, talk: Store) -> None:
    await found(talk, "red")
    await talk.sessions.delete(MAIN, MAIN, but=RunId("none"))
    with closing(sqlite3.connect(home / DATABASE)) as db:
        rows = [row for table in ("lines", "line_words") for row in db.execute(f"SELECT * FROM {table}")]

    assert len(rows) == 2
    assert "elsewhere" in str(rows)
    assert await found(talk, "red") == []


async def test_a_long_history_is_indexed_in_steps_the_newest_first(home: Path, store: Store) -> None:
    for number in range(9):
        await said(store, inbound(f"red {number}"))
    async with Database(home / DATABASE) as database:
        is_done = await Recall(database, step=4).catch_up(0)
    with closing(sqlite3.connect(home / DATABASE)) as db:
        numbers = [number for (number,) in db.execute("SELECT number FROM lines ORDER BY number")]

    assert not is_done
    assert numbers == [6, 7, 8, 9]
    assert await store.recall.catch_up(60)
    assert len(await found(store, "red")) == 9


TEXTS = st.lists(st.text("ab天气 ", min_size=1, max_size=6), min_size=1, max_size=8)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25, deadline=None)
@given(texts=TEXTS, word=st.text("ab天气", min_size=1, max_size=2))
async def test_every_line_that_has_a_word_is_found_and_only_those(
    tmp_path: Path, texts: Sequence[str], word: str
) -> None:
    async with Store(fresh_home(tmp_path), synchronous="NORMAL") as store:
        for text in texts:
            await said(store, inbound(text))
        hits = set(await found(store, word))

    if word.isascii():
        spread = {text: text.replace("天", " ").replace("气", " ").split() for text in texts}
        assert hits == {text for text, parts in spread.items() if word in parts}
    elif not any(sign in "ab" for sign in word):
        assert hits == {text for text in texts if word in text}
