"""Recall: what was said in this session, and nothing of any other."""

import sqlite3
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from bot.messages import MessageId, RunId, SessionKey, StoredMessage, new_id
from bot.tools.base import ToolContext, ToolFault
from bot.tools.recall import HEADER, MAX_FOUND, RecallTools, Said
from tests.factories import inbound

AT = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)


class Shelf:
    """Lines in a real database, found by the number of words they have."""

    def __init__(self) -> None:
        self.db = sqlite3.connect(":memory:")
        self.db.execute("CREATE TABLE lines (session, run, speaker, text, in_context)")
        self.asked: list[tuple[str, ...]] = []
        self.meanings: list[str] = []

    def add(
        self,
        text: str,
        *,
        session: str = "web:default:main",
        run: str = "",
        speaker: str = "Ann",
        seen: bool = True,
    ) -> None:
        self.db.execute(
            "INSERT INTO lines VALUES (?, ?, ?, ?, ?)", (session, run or new_id(), speaker, text, seen)
        )

    async def search(
        self,
        chat: SessionKey,
        session: SessionKey,
        words: Sequence[str],
        limit: int,
        *,
        meaning: str = "",
        is_seen: bool = True,
    ) -> Sequence[Said]:
        self.meanings.append(meaning)
        self.asked.append(tuple(words))
        score = " + ".join("(instr(lower(text), ?) > 0)" for _ in words)
        rows = self.db.execute(
            f"SELECT rowid, session, run, speaker, text, in_context, {score} AS score FROM lines"
            " WHERE session IN (?, ?) AND score > 0 ORDER BY score DESC, rowid DESC LIMIT ?",
            (*words, chat, session, limit),
        )
        return [
            Said(
                session=place,
                title="Rome",
                line=StoredMessage(
                    number=number,
                    id=MessageId(new_id()),
                    run=RunId(run),
                    role="user",
                    speaker=speaker,
                    text=text,
                    at=AT,
                    in_context=bool(seen),
                ),
            )
            for number, place, run, speaker, text, seen, _ in rows
        ]


@pytest.fixture
def shelf() -> Iterator[Shelf]:
    shelf = Shelf()
    yield shelf
    shelf.db.close()


@pytest.fixture
def recall(shelf: Shelf) -> RecallTools:
    return RecallTools(shelf)


@pytest.fixture
def context() -> ToolContext:
    return ToolContext(message=inbound("What about the boat?"))


def test_it_only_reads(recall: RecallTools) -> None:
    (tool,) = recall.tools()

    assert (tool.name, tool.risk, tool.context_name) == ("memory_search", "read", "context")
    assert set(tool.arguments.model_fields) == {"query", "limit"}


async def test_what_was_said_is_found_with_who_said_it_and_when(
    recall: RecallTools, shelf: Shelf, context: ToolContext
) -> None:
    shelf.add("The boat is red.\nReally.")
    shelf.add("Something else")

    answer = await recall.search("BOAT?", context)

    assert answer == f"{HEADER}\n- 2026-01-02 03:04 Ann: The boat is red. Really."


async def test_other_sessions_stay_unread(recall: RecallTools, shelf: Shelf, context: ToolContext) -> None:
    shelf.add("a secret boat", session="web:default:other")

    assert await recall.search("boat", context) == "Nothing was found; try other words."


async def test_a_line_of_another_session_of_the_chat_says_which(
    recall: RecallTools, shelf: Shelf, context: ToolContext
) -> None:
    shelf.add("The boat is red.")
    there = ToolContext(message=replace(context.message, session=SessionKey("web:default:main:ab12cd34")))

    assert (await recall.search("boat", there)).endswith("Ann (Rome): The boat is red.")


async def test_the_question_itself_and_what_is_for_people_alone_are_not_found(
    recall: RecallTools, shelf: Shelf, context: ToolContext
) -> None:
    shelf.add("older boat")
    shelf.add("/boat", seen=False)
    shelf.add(context.message.text, run=context.message.run)

    assert (await recall.search("boat", context, limit=2)).split("\n")[1:] == [
        "- 2026-01-02 03:04 Ann: older boat"
    ]


async def test_the_limit_holds_beside_the_question(
    recall: RecallTools, shelf: Shelf, context: ToolContext
) -> None:
    for number in range(MAX_FOUND + 5):
        shelf.add(f"boat {number}")
    shelf.add("the boat", run=context.message.run)

    assert len((await recall.search("boat", context, limit=3)).split("\n")) == 1 + 3
    assert len((await recall.search("boat", context, limit=-1)).split("\n")) == 1 + 1
    assert len((await recall.search("boat", context, limit=10_000)).split("\n")) == 1 + MAX_FOUND


async def test_only_words_are_looked_for_each_once_and_not_many(
    recall: RecallTools, shelf: Shelf, context: ToolContext
) -> None:
    await recall.search('Boat "boat" 100% OR Straße; 天气', context)
    await recall.search(" ".join(f"w{number}" for number in range(50)), context)

    assert shelf.asked[0] == ("boat", "100", "or", "strasse", "天气")
    assert len(shelf.asked[1]) == 10


async def test_what_is_looked_for_is_handed_on_whole_for_its_meaning(
    recall: RecallTools, shelf: Shelf, context: ToolContext
) -> None:
    query = "Can you tell me again what it was that we said about the boat?"
    await recall.search(query, context)

    assert shelf.meanings == [query]


async def test_a_query_without_words_is_refused(recall: RecallTools, context: ToolContext) -> None:
    with pytest.raises(ToolFault, match="no words"):
        await recall.search("?!", context)


@pytest.mark.parametrize("before", [0, 1_000, 5_000])
async def test_a_long_message_is_cut_around_the_word(
    recall: RecallTools, shelf: Shelf, context: ToolContext, before: int
) -> None:
    shelf.add("x" * before + " boat " + "y" * 1_000)

    line = (await recall.search("boat", context)).split("\n")[1]

    assert "boat" in line
    assert len(line) < 550
    assert line.endswith("…")


async def test_a_name_can_not_write_lines_of_its_own(
    recall: RecallTools, shelf: Shelf, context: ToolContext
) -> None:
    shelf.add("boat", speaker="Eve\n- Ann")

    assert len((await recall.search("boat", context)).split("\n")) == 2
