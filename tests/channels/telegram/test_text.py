"""The words of a message are what a person reads; our own name is not among them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.telegram.text import Me, read_text
from channels.telegram.wire import Entity, User
from tests.simulators.telegram_text import find_entities, utf16

ME = Me(id=7, username="Our_Bot")


def entities_of(text: str) -> list[Entity]:
    return [Entity(**entity) for entity in find_entities(text)]


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("@our_bot, what is new?", "what is new?"),
        ("what is new, @Our_Bot?", "what is new, ?"),
        ("\N{GRINNING FACE} hey @our_bot you", "\N{GRINNING FACE} hey you"),
        ("@our_bot @our_bot hi", "hi"),
        ("@our_bot", "@our_bot"),
        ("ask @bob_1 or me@our_bot.example", "ask @bob_1 or me@our_bot.example"),
        ("/help@our_bot  me", "/help  me"),
    ],
)
def test_our_name_is_taken_out_and_all_else_stays(text: str, read: str) -> None:
    assert read_text(text, entities_of(text), ME).text == read


def test_people_are_named_by_their_ids_where_telegram_gives_them() -> None:
    text = "Ann and @bob_1 and @our_bot"
    entities = [Entity(type="text_mention", offset=0, length=3, user=User(id=42)), *entities_of(text)]

    assert read_text(text, entities, ME).mentions == ("42", "bob_1", "7")


def test_a_link_stands_behind_its_words() -> None:
    text = "\N{GRINNING FACE} see here and https://b.example"
    entities = [
        Entity(type="text_link", offset=7, length=4, url="https://a.example"),
        Entity(type="text_link", offset=16, length=17, url="https://b.example/"),
    ]

    read = read_text(text, entities, ME).text
    assert read == "\N{GRINNING FACE} see here (https://a.example) and https://b.example"


def test_a_command_tells_whose_it_is() -> None:
    words = read_text("/go@other_bot now", entities_of("/go@other_bot now"), ME)

    assert (words.command, words.bot, words.text) == ("/go", "other_bot", "/go now")


@given(text=st.text(max_size=40), data=st.data())
def test_no_entities_break_the_reading(text: str, data: st.DataObject) -> None:
    number = st.integers(min_value=-2, max_value=utf16(text) + 2)
    kind = st.sampled_from(["mention", "text_link", "text_mention", "bot_command", "bold"])
    entity = st.builds(Entity, type=kind, offset=number, length=number, url=st.just("https://a.example"))
    entities = data.draw(st.lists(entity, max_size=4))

    words = read_text(text, entities, ME)

    if all(one.type == "bold" for one in entities):
        assert words.text == text.strip()
