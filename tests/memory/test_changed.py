"""Facts that outlive a restart."""

import time
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


async def test_a_change_says_by_whom_and_when(store: Store) -> None:
    await store.changed_settings.change("name", "Rosie", by="web:Ada")

    (line,) = await store.changed_settings.lines()

    assert (line.name, line.value, line.by) == ("name", "Rosie", "web:Ada")
    assert abs(line.at - time.time()) < 60
