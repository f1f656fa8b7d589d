"""What the turns used, and since when."""

from pathlib import Path

from bot.commands.usage import Used
from bot.messages import SessionKey
from memory.store import Store
from tests.commands.desk import Desk, chat_key


async def test_turns_without_tokens_and_those_before_do_not_count(home: Path, store: Store) -> None:
    desk = Desk(home, store)
    await desk.talks("a", tokens=10)
    (turn,) = await store.usage.of_all(since=0.0)
    later = 4_000_000_000.0

    assert turn == Used(model="gpt-5", turns=1, prompt=10, completion=1, cached=5)
    assert await store.usage.of_all(since=later) == []
    assert await store.usage.of_chat(chat_key(), since=later) == []
    assert await store.usage.of_session(SessionKey("telegram:default:other")) == []
