"""Rules of admins: at hand in memory, the same after a restart."""

from pathlib import Path

from bot.messages import Address
from memory.store import Store

GROUP = Address(channel="discord", chat="g", is_direct=False)
THREAD = Address(channel="discord", chat="g", thread="t", is_direct=False)


async def test_rules_outlive_a_restart_until_they_are_taken_back(home: Path) -> None:
    async with Store(home, synchronous="NORMAL") as store:
        await store.rules.change([("user", "a", "allow"), ("user", "b", "block")], by="x")
        await store.rules.change([("user", "a", "block"), ("user", "b", None)], by="x")
        before = dict(store.rules.of("user"))
    async with Store(home, synchronous="NORMAL") as store:
        assert before == dict(store.rules.of("user")) == {"a": "block"}
        assert store.rules.kinds == ("user",)


async def test_a_thread_converses_as_its_chat_does_unless_it_was_told_otherwise(home: Path) -> None:
    async with Store(home, synchronous="NORMAL") as store:
        assert not store.rules.is_conversing(GROUP)
        await store.rules.converse(GROUP, is_on=True, by="x")
        as_its_chat = store.rules.is_conversing(THREAD)
        await store.rules.converse(THREAD, is_on=False, by="x")
    async with Store(home, synchronous="NORMAL") as store:
        assert as_its_chat
        assert store.rules.is_conversing(GROUP)
        assert not store.rules.is_conversing(THREAD)
