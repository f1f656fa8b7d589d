"""Long-term memory in a whole bot: learned after a turn, told in a later one, forgotten for good."""

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from bot.messages import Sender
from memory.database import DATABASE
from memory.long_term.notes import BEGIN
from tests.memory.long_term.test_embedding import serving
from tests.simulators.model import call, say
from tests.test_agent import Talk, talking

LEARNING = {"auto_learn": True, "embeddings": "off"}
PEANUTS = "Ann is allergic to peanuts"
FACTS = say(json.dumps({"facts": [{"text": PEANUTS}], "title": "Allergies"}))
NOTHING = say('{"facts": []}')
BEN = Sender(id="ben", name="Ben")


async def remembered(talk: Talk, text: str) -> str:
    """The list of memories, as soon as it has a text."""
    async with asyncio.timeout(10):
        while text not in (told := (await talk.answer("/memory")).text):
            continue
    return told


def prompt_of(talk: Talk, request: int = -1) -> str:
    """What a request to the model says."""
    return "\n".join(str(part["content"]) for part in talk.model.requests[request].body["messages"])


async def test_what_was_said_once_is_known_in_another_session(home: Path) -> None:
    async with talking(home, say("Noted."), FACTS, say("No nuts."), NOTHING, memory=LEARNING) as talk:
        await talk.answer("I can't eat peanuts, I'm allergic")
        told = await remembered(talk, PEANUTS)
        await talk.answer("/new")
        await talk.answer("Is there anything with peanuts that Ann likes?")
        prompt = prompt_of(talk, 2)

    assert "learned from what you said" in told
    assert BEGIN in prompt
    assert f"- {PEANUTS} (" in prompt
    assert "I can't eat peanuts" not in prompt


async def test_the_session_is_called_what_it_is_about(home: Path) -> None:
    async with talking(home, say("Noted."), FACTS, memory=LEARNING) as talk:
        await talk.answer("I can't eat peanuts, I'm allergic")
        await remembered(talk, PEANUTS)
        async with asyncio.timeout(10):
            while "Allergies" not in (await talk.answer("/sessions")).text:
                continue


async def test_others_are_told_nothing_of_it(home: Path) -> None:
    async with talking(home, say("Hm."), memory=LEARNING | {"auto_learn": False}) as talk:
        await talk.answer(f"/memory add {PEANUTS}")
        await talk.answer("Is Ann allergic to peanuts?", BEN)

    assert BEGIN not in prompt_of(talk)


async def test_what_is_forgotten_is_told_no_more(home: Path) -> None:
    settings = {"auto_learn": False, "embeddings": "off"}
    async with talking(home, say("Hm."), say("Hm."), memory=settings) as talk:
        await talk.answer(f"/memory add {PEANUTS}")
        await talk.answer("peanuts for Ann?")
        before = prompt_of(talk)
        await talk.answer("/forget me yes")
        await talk.answer("peanuts for Ann?")

    assert PEANUTS in before
    assert "allergic" not in prompt_of(talk)


async def test_the_model_remembers_when_it_is_asked_to(home: Path) -> None:
    order = call("memory_remember", json.dumps({"fact": PEANUTS}))
    settings = {"auto_learn": False, "embeddings": "off"}
    async with talking(home, order, say("I will."), memory=settings) as talk:
        await talk.answer("Remember that I'm allergic to peanuts")
        told = (await talk.answer("/memory")).text

    assert "Remembered as #1." in talk.results()[0]
    assert PEANUTS in told


@pytest.mark.parametrize("backend", ["own", "off"])
async def test_what_was_said_is_found_by_its_meaning_and_no_turn_pays_for_it(
    home: Path, backend: str
) -> None:
    search = call("memory_search", '{"query": "venue"}')
    async with serving() as server:
        settings = {"backend": backend, "embeddings_url": server.url, "embeddings_model": "small"}
        async with talking(home, say("Fine."), search, say("The barn."), memory=settings) as talk:
            await talk.answer("let's take the barn")
            by_turns = list(server.texts)
            told = (await talk.answer("/search venue")).text
            await talk.answer("Where was it again?")
            result = talk.results()[0]
            vectors = count_of(home, "line_vectors")
            await talk.answer("/forget me yes")

    assert by_turns == []
    assert "let's take the barn" in told
    assert "let's take the barn" in result
    assert vectors == 3  # what was said, the answer to it, and the question
    assert count_of(home, "line_vectors") == 0


async def test_who_wants_it_searches_the_history_by_words_alone(home: Path) -> None:
    async with serving() as server:
        settings = {"embeddings_url": server.url, "embeddings_model": "small", "history_vectors": False}
        async with talking(home, say("Fine."), memory=settings) as talk:
            await talk.answer("let's take the barn")
            told = (await talk.answer("/search venue")).text

    assert "Nothing was found" in told
    assert count_of(home, "line_vectors") == 0


def count_of(home: Path, table: str) -> int:
    """The rows of a table."""
    with closing(sqlite3.connect(home / DATABASE)) as db:
        (count,) = db.execute(f"SELECT count(*) FROM {table}").fetchone()
        return int(count)


async def test_a_bot_without_memory_offers_none(home: Path) -> None:
    async with talking(home, say("Hm."), memory={"backend": "off"}) as talk:
        await talk.answer("hello")
        told = (await talk.answer("/memory")).text
        offered = talk.offered()

    assert "BOT_MEMORY__BACKEND" in told
    assert "memory_search" in offered
    assert "memory_remember" not in offered
