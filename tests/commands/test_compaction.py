"""`/compact`: what it summarises, what it says, and what it leaves alone."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from bot.agent.compaction import Compactor, Summary
from bot.agent.estimate import Calibration
from bot.agent.folding import Messages
from bot.commands.call import Answer
from bot.commands.compaction import FORGOTTEN, KEPT, CompactionCommands
from bot.commands.registry import Commands
from bot.errors import ModelUnavailable
from bot.messages import SessionKey, StoredMessage
from bot.settings.compaction import CompactionSettings
from memory.database import DATABASE, Database
from memory.store import Store
from memory.summaries import Summaries
from tests.commands.desk import Desk, Notes, chat_key, message

LONG = "word " * 100


class Chat:
    """A chat with a bot whose model answers what the test says."""

    def __init__(self, desk: Desk, database: Database) -> None:
        self.desk = desk
        self.summaries = Summaries(database)
        self.prompts: list[Messages] = []
        self.answer = "notes of it"
        self.fails = False
        self.meanwhile = ""  # a command that somebody gives while it is summarised
        self._compactor = Compactor(CompactionSettings(), Calibration())
        own = CompactionCommands(desk.store.sessions, self.summaries, self._compact).commands()
        self._commands = Commands(own, admins=lambda: (), audit=Notes())

    async def says(self, text: str, chat: str = "main") -> Answer:
        return await self._commands.run(message(text, chat))

    async def _complete(self, prompt: Messages, max_tokens: int) -> str:
        self.prompts.append(prompt)
        if self.fails:
            raise ModelUnavailable("The model server can't be reached.")
        if self.meanwhile:
            await self.desk.says(self.meanwhile)
        return self.answer

    async def _compact(
        self,
        session: SessionKey,
        lines: Sequence[StoredMessage],
        previous: Summary | None,
        *,
        keep_tokens: int,
        focus: str,
    ) -> Summary | None:
        return await self._compactor.compact(
            lines, previous, keep_tokens=keep_tokens, max_tokens=8_000, complete=self._complete, focus=focus
        )


@pytest.fixture
async def chat(home: Path, store: Store) -> AsyncIterator[Chat]:
    """A chat in which nothing was said yet."""
    async with Database(home / DATABASE, synchronous="NORMAL") as database:
        yield Chat(Desk(home, store), database)


async def test_all_but_the_newest_lines_are_summarised_and_the_tokens_told(chat: Chat) -> None:
    for number in range(6):
        await chat.desk.talks(f"{number} {LONG}")
    answer = await chat.says("/compact")
    kept = await chat.summaries.of(chat_key())

    assert kept is not None
    assert (kept.upto, kept.text) == (12 - KEPT, "notes of it")
    assert answer.text == (
        "I have summarised what was said before: this session takes about 525 tokens now,"
        " about 1,566 tokens before."
    )
    assert answer.reason == "done"


async def test_what_to_keep_in_mind_reaches_the_model(chat: Chat) -> None:
    for _ in range(4):
        await chat.desk.talks("hello")
    await chat.says("/compact the flight numbers, please")

    assert "Pay attention above all to: the flight numbers, please" in chat.prompts[0][-1].content


async def test_a_second_summary_carries_the_first(chat: Chat) -> None:
    for _ in range(4):
        await chat.desk.talks(LONG)
    await chat.says("/compact")
    for _ in range(4):
        await chat.desk.talks("more")
    await chat.says("/compact")
    kept = await chat.summaries.of(chat_key())

    assert kept is not None
    assert kept.upto == 16 - KEPT
    assert "<earlier_summary>\n  notes of it\n</earlier_summary>" in chat.prompts[1][-1].content


@pytest.mark.parametrize("turns", [0, 1, 2])
async def test_a_short_talk_is_left_as_it_is(chat: Chat, turns: int) -> None:
    for _ in range(turns):
        await chat.desk.talks("hello")
    answer = await chat.says("/compact")

    assert answer.text.startswith("There is nothing to summarise yet: so far, this session takes about ")
    assert chat.prompts == []


async def test_right_after_a_summary_there_is_nothing_to_do(chat: Chat) -> None:
    for _ in range(4):
        await chat.desk.talks(LONG)
    await chat.says("/compact")
    answer = await chat.says("/compact")

    assert answer.text.startswith("There is nothing to summarise yet")
    assert len(chat.prompts) == 1


async def test_a_model_that_fails_is_told_and_nothing_is_changed(chat: Chat) -> None:
    for _ in range(4):
        await chat.desk.talks(LONG)
    chat.fails = True
    answer = await chat.says("/compact")

    assert answer.reason == "error"
    assert "can't be reached" in answer.text
    assert await chat.summaries.of(chat_key()) is None


async def test_what_is_forgotten_meanwhile_stays_forgotten(chat: Chat) -> None:
    for _ in range(4):
        await chat.desk.talks(LONG)
    chat.meanwhile = "/reset"
    answer = await chat.says("/compact")

    assert answer.text == FORGOTTEN
    assert await chat.summaries.of(chat_key()) is None


async def test_only_the_session_of_this_chat_is_summarised(chat: Chat) -> None:
    for _ in range(4):
        await chat.desk.talks("secret", "other")
        await chat.desk.talks("old")
    await chat.desk.says("/new")
    session = SessionKey(chat_key())
    for _ in range(4):
        session = await chat.desk.talks("hello")
    await chat.says("/compact")

    assert session != chat_key()
    assert await chat.summaries.of(session) is not None
    assert await chat.summaries.of(chat_key()) is None
    assert await chat.summaries.of(chat_key("other")) is None
    assert not any(word in chat.prompts[0][-1].content for word in ("secret", "old"))
