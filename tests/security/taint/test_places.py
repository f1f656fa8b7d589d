"""Which files are guarded, and what is known of who has written where."""

from pathlib import Path

import pytest

from bot.agent.taint import Carried
from bot.tools.base import Place
from memory.store import Store
from memory.taints import Taints
from security.taint import Places

FILE = Place(kind="file", argument="path", writes="whole")
PART = Place(kind="file", argument="path", writes="part")
NOTE = Place(kind="note", argument="title", writes="whole")
WEB = Carried(origins=(("web", "https://evil.example"),))


@pytest.fixture
def places(store: Store, home: Path) -> Places:
    return Places(home / "workspace", store.taints)


@pytest.mark.parametrize(
    "path",
    [
        "AGENTS.md",
        "a/b/agents.MD",
        "HEARTBEAT.md",
        "./skills/x/SKILL.md",
        "skills/x/run.py",
        "SOUL.md",
        "ＡＧＥＮＴＳ.md",
    ],
)
def test_what_later_turns_obey_is_guarded(places: Places, path: str) -> None:
    assert places.is_guarded(FILE, {"path": path})


@pytest.mark.parametrize("path", ["notes.md", "skills.md", "a/skills/x.py", "AGENTS.md.txt", ""])
def test_other_files_are_not(places: Places, path: str) -> None:
    assert not places.is_guarded(FILE, {"path": path})


async def test_a_place_is_known_by_each_of_its_spellings(places: Places, home: Path) -> None:
    await places.wrote(FILE, {"path": "A/b.md"}, WEB)

    for path in ("a/B.md", "./a/x/../b.md", str(home / "workspace" / "a" / "b.md"), "a", "."):
        assert places.marks_of(FILE, {"path": path}) == [WEB], path
    assert places.marks_of(FILE, {"path": "c.md"}) == []


async def test_a_note_is_a_file_as_well(places: Places) -> None:
    await places.wrote(FILE, {"path": "notes/x.md"}, WEB)
    of_notes = places.marks_of(NOTE, {"title": "Anything"})
    await places.wrote(NOTE, {"title": "Mine"}, WEB)

    assert of_notes == [WEB]
    assert len(places.marks_of(FILE, {"path": "notes/mine.md"})) == 1
    assert len(places.marks_of(Place(kind="note"), {})) == 2


async def test_only_what_is_replaced_as_a_whole_by_a_clean_turn_is_clean(places: Places) -> None:
    await places.wrote(FILE, {"path": "a.md"}, WEB)
    await places.wrote(PART, {"path": "a.md"}, None)
    after_a_part = places.marks_of(FILE, {"path": "a.md"})
    await places.wrote(FILE, {"path": "a.md"}, None)

    assert after_a_part == [WEB]
    assert places.marks_of(FILE, {"path": "a.md"}) == []


async def test_marks_survive_a_restart_and_add_up(home: Path) -> None:
    mail = Carried(origins=(("mcp", "mail"),), is_private=True)
    async with Store(home, synchronous="NORMAL") as store:
        await store.taints.put("file:a", WEB)
        await store.taints.put("file:a", mail)
    async with Store(home, synchronous="NORMAL") as store:
        found = store.taints.of("file:a")

    assert found is not None
    assert dict(found.origins) == {"web": "https://evil.example", "mcp": "mail"}
    assert found.is_private


async def test_where_there_is_no_room_for_a_place_all_of_its_kind_are_marked(store: Store) -> None:
    marks = Taints(store._database, most=1)
    await marks.put("file:a", WEB)
    await marks.put("file:b", WEB)

    assert marks.of("file:c") == WEB
    assert marks.of("note:c") is None
