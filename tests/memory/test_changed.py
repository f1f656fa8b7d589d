"""Facts that outlive a restart."""

from pathlib import Path

from memory.store import Store


async def test_a_changed_setting_outlives_a_restart_until_it_is_taken_back(home: Path) -> None:
    async with Store(home, synchronous="NORMAL") as store:
        await store.changed_settings.change("model", "a", by="ann")
        await store.changed_settings.change("model", "b", by="ann")
        await store.changed_settings.change("name", "x", by="ann")
    async with Store(home, synchronous="NORMAL") as store:
        await store.changed_settings.change("name", None, by="ann")

        assert await store.changed_settings.all() == {"model": "b"}
