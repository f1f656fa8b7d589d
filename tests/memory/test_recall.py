"""What was said is found by its words: the most of them first, then the newest."""

import pytest

from bot.messages import InboundMessage, SessionKey
from memory.store import Store
from tests.factories import inbound

MAIN = SessionKey("web:default:main")


@pytest.fixture
async def talk(store: Store) -> Store:
    for text in ("The red car", "a RED house and a car", "nothing", "Straße nach Köln", "red"):
        await said(store, inbound(text))
    await said(store, inbound("red elsewhere", session="web:default:other"))
    return store


async def said(store: Store, message: InboundMessage) -> None:
    await store.journal.accept(message, history=0)


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["red", "car", "house"], ["a RED house and a car", "The red car", "red"]),
        (["strasse"], ["Straße nach Köln"]),
        (["köln"], ["Straße nach Köln"]),
        (["%"], []),
    ],
)
async def test_lines_are_found_by_their_words(talk: Store, words: list[str], found: list[str]) -> None:
    lines = await talk.recall.search(MAIN, words, 10)

    assert [line.text for line in lines] == found


async def test_no_more_are_given_than_were_asked_for(talk: Store) -> None:
    assert len(await talk.recall.search(MAIN, ["red"], 2)) == 2
