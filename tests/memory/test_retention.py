"""What is too old goes with all that belongs to it; what is young, or still to be answered, stays."""

import asyncio
import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from bot.agent.compaction import Summary
from bot.long_term import Fact, Origin, Scope
from bot.messages import RunId, utc_now
from bot.models.base import FunctionCall, ToolCall
from memory.database import DATABASE, Database
from memory.long_term import rows
from memory.recall import Recall
from memory.retention import DAY, Retention
from memory.store import Store
from tests.commands.desk import Desk, chat_key
from tests.factories import inbound

CHAT = chat_key()


@pytest.fixture
def desk(home: Path, store: Store) -> Desk:
    return Desk(home, store)


def age(home: Path, text: str, days: float) -> None:
    """Let a turn be older than it is."""
    with closing(sqlite3.connect(home / DATABASE)) as db:
        (run,) = db.execute("SELECT run FROM messages WHERE text = ?", (text,)).fetchone()
        db.execute("UPDATE messages SET at = at - ? WHERE run = ?", (days * DAY, run))
        db.execute("UPDATE sessions SET created_at = created_at - ?", (days * DAY,))
        db.commit()


async def sweep(home: Path, days: int) -> int:
    async with Database(home / DATABASE, synchronous="NORMAL") as database:
        return await retention(home, database, days).sweep()


def retention(home: Path, database: Database, days: int) -> Retention:
    media, exports = home / "media", home / "exports"
    return Retention(database, Recall(database), media=media, exports=exports, days=days)


async def test_what_is_too_old_goes_and_the_rest_stays(home: Path, desk: Desk) -> None:
    for text in ("ancient", "old", "young"):
        await desk.talks(text)
    age(home, "ancient", 40)
    age(home, "old", 31)
    gone = await sweep(home, days=30)

    assert gone == 2
    assert await desk.lines(CHAT) == ["young", "re: young"]
    assert await desk.seen(CHAT) == ["young", "re: young"]
    assert (await desk.store.sessions.of_chat(CHAT))[0].messages == 2


async def test_nothing_goes_where_nothing_is_to_go(home: Path, desk: Desk) -> None:
    await desk.talks("ancient")
    age(home, "ancient", 4_000)

    assert await sweep(home, days=0) == 0
    assert await desk.lines(CHAT) == ["ancient", "re: ancient"]


async def test_a_turn_is_as_young_as_its_answer(home: Path, desk: Desk) -> None:
    await desk.talks("question")
    with closing(sqlite3.connect(home / DATABASE)) as db:
        db.execute("UPDATE messages SET at = at - ? WHERE role = 'user'", (40 * DAY,))
        db.execute("UPDATE sessions SET created_at = 0")
        db.commit()

    assert await sweep(home, days=30) == 0


async def test_with_a_message_its_tools_its_words_and_its_summary_go(home: Path, desk: Desk) -> None:
    await desk.talks("xylophone")
    with closing(sqlite3.connect(home / DATABASE)) as db:
        (run,) = db.execute("SELECT run FROM messages WHERE text = 'xylophone'").fetchone()
        db.execute("UPDATE journal SET state = 'running' WHERE run = ?", (run,))
        db.commit()
    call = ToolCall(id="c", function=FunctionCall(name="look", arguments='{"for": "xylophone"}'))
    await desk.store.ledger.tool_started(run, 1, call)
    await desk.store.summaries.keep(CHAT, Summary(upto=2, text="xylophone", at=utc_now(), tokens=1))
    await desk.store.recall.search(CHAT, CHAT, ["xylophone"], 1)
    age(home, "xylophone", 40)
    await sweep(home, days=30)
    with closing(sqlite3.connect(home / DATABASE)) as db:
        tables = ("messages", "tool_calls", "summaries", "line_words", "lines")
        left = [row for table in tables for row in db.execute(f"SELECT * FROM {table}")]

    assert left == []


async def test_what_was_learned_in_a_session_goes_with_it_and_what_was_asked_for_stays(
    home: Path, desk: Desk
) -> None:
    ann = Scope(kind="person", key="telegram:42")
    session = await desk.talks("hello")

    def learn(db: sqlite3.Connection) -> None:
        for how in ("learned", "raw", "tool", "command"):
            origin = Origin(how=how, by="telegram:42", session=session)
            rows.put(db, ann, Fact(text=f"fact {how}"), origin, None, most=9)

    async with Database(home / DATABASE, synchronous="NORMAL") as database:
        await database.write(learn)
        await desk.store.sessions.delete(CHAT, session, but=RunId("none"))
        left = await database.read(lambda db: rows.page(db, ann, limit=9, before=None))

    assert [one.text for one in left] == ["fact command", "fact tool"]


async def test_files_go_with_their_messages_and_others_stay(home: Path, desk: Desk) -> None:
    await desk.talks("old")
    await desk.talks("young")
    with closing(sqlite3.connect(home / DATABASE)) as db:
        runs = dict(db.execute("SELECT text, run FROM messages WHERE role = 'user'").fetchall())
    waiting = inbound("to be answered")
    await desk.store.journal.accept(waiting)
    stray = home / "media" / "of-nobody"
    folders = [home / "media" / name for name in (runs["old"], runs["young"], waiting.run)]
    long_ago = time.time() - 2 * DAY
    for folder in (*folders, stray):
        folder.mkdir(parents=True)
        (folder / "1-photo.jpg").write_bytes(b"x")
        os.utime(folder, (long_ago, long_ago))
    age(home, "old", 40)
    await sweep(home, days=30)

    assert [folder.exists() for folder in (*folders, stray)] == [False, True, True, False]


async def test_files_that_are_just_being_fetched_are_left_alone(home: Path, store: Store) -> None:
    fresh = home / "media" / "just-now"
    fresh.mkdir(parents=True)
    await sweep(home, days=30)

    assert fresh.exists()


async def test_deleting_a_session_deletes_its_files(home: Path, desk: Desk) -> None:
    session = await desk.talks("look")
    with closing(sqlite3.connect(home / DATABASE)) as db:
        (run,) = db.execute("SELECT run FROM messages WHERE text = 'look'").fetchone()
    photo = home / "media" / run / "1-photo.jpg"
    photo.parent.mkdir(parents=True)
    photo.write_bytes(b"x")
    async with Database(home / DATABASE, synchronous="NORMAL") as database:
        desk.store.sessions.on_erased = retention(home, database, 0).erase_files
        await desk.store.sessions.delete(CHAT, session, but=RunId("none"))

    assert not photo.parent.exists()


@pytest.mark.parametrize("run", ["", ".", "..", "../home", "/etc", "a/b"])
async def test_no_name_of_a_message_leads_out_of_the_folder(home: Path, store: Store, run: str) -> None:
    (home / "media" / "kept").mkdir(parents=True)
    (home / "other").mkdir()
    async with Database(home / DATABASE, synchronous="NORMAL") as database:
        await retention(home, database, 0).erase_files([RunId(run)])

    assert (home / "media" / "kept").exists()
    assert (home / "other").exists()
    assert (home / DATABASE).exists()


async def test_exports_go_after_a_day(home: Path, store: Store) -> None:
    exports = home / "exports"
    exports.mkdir()
    for name, days in (("old.md", 1.1), ("new.md", 0.5)):
        (exports / name).write_text("x")
        at = time.time() - days * DAY
        os.utime(exports / name, (at, at))
    await sweep(home, days=0)

    assert [file.name for file in exports.iterdir()] == ["new.md"]


async def test_it_clears_up_by_itself_and_ends_when_it_is_closed(home: Path, desk: Desk) -> None:
    await desk.talks("old")
    age(home, "old", 40)
    async with (
        Database(home / DATABASE, synchronous="NORMAL") as database,
        retention(home, database, 30) as clearing,
        asyncio.timeout(10),
    ):
        await clearing.swept.wait()

    assert await desk.lines(CHAT) == []


async def test_a_title_is_suggested_once_and_a_chosen_one_stays(desk: Desk) -> None:
    session = await desk.talks("hello")
    await desk.store.sessions.suggest_title(session, "a greeting")
    await desk.store.sessions.suggest_title(session, "something else")
    first = (await desk.store.sessions.of_chat(CHAT))[0].title
    await desk.says("/rename mine")
    await desk.store.sessions.suggest_title(session, "another")

    assert first == "a greeting"
    assert (await desk.store.sessions.of_chat(CHAT))[0].title == "mine"
