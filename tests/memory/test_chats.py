"""The chats that the bot can write to."""

from pathlib import Path

from bot.messages import Address
from memory.store import Store


async def test_every_chat_is_known_after_a_restart_without_its_threads(home: Path) -> None:
    group = Address(channel="slack", chat="g", is_direct=False)
    async with Store(home, synchronous="NORMAL") as store:
        for thread in ("1", "2", None):
            await store.chats.note_chat(Address(channel="slack", chat="g", thread=thread, is_direct=False))
        await store.chats.note_chat(Address(channel="slack", account="work", chat="g"))
    async with Store(home, synchronous="NORMAL") as store:
        found = await store.chats.addresses()

    assert len(found) == 2
    assert group in found
    assert Address(channel="slack", account="work", chat="g") in found
