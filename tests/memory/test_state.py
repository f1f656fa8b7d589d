"""What adapters keep over a restart."""

from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory.store import Store


async def test_a_value_outlives_a_restart_and_the_newest_counts(home: Path) -> None:
    async with Store(home, synchronous="NORMAL") as store:
        await store.state("telegram", "default").put("offset", "1")
        await store.state("telegram", "default").put("offset", "2")
    async with Store(home, synchronous="NORMAL") as store:
        assert await store.state("telegram", "default").get("offset") == "2"
        assert await store.state("telegram", "default").get("other") is None


async def test_accounts_do_not_see_each_other(store: Store) -> None:
    await store.state("telegram", "default").put("offset", "1")

    assert await store.state("telegram", "second").get("offset") is None
    assert await store.state("discord", "default").items("") == {}


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(names=st.sets(st.text(max_size=4), max_size=8), prefix=st.text(max_size=2))
async def test_items_are_all_whose_name_begins_so(names: set[str], prefix: str, home: Path) -> None:
    async with Store(home, synchronous="NORMAL") as store:
        state = store.state("x", repr(sorted(names)))
        for name in names:
            await state.put(name, name)

        assert await state.items(prefix) == {name: name for name in names if name.startswith(prefix)}
