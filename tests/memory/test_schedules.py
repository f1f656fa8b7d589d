"""Schedules in the database: numbers, limits, what is kept of firings, and that looking is cheap."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from bot.agent.store import TurnRecord
from bot.messages import End, RunId, SessionKey, new_id
from bot.scheduler.planner import Asking
from bot.scheduler.schedules import Claim, Firing
from memory.database import DATABASE, Database
from memory.outbox import Outbox
from memory.schedules import DUE, KEPT_FIRINGS, KEPT_OVER, NEXT_DUE, WAITING
from tests.factories import end_of
from tests.scheduler.rig import NOON, Rig, TurnedClock

HOUR = 3_600.0
RECORD = TurnRecord(started_at=1.0, ended_at=2.0)


@pytest.fixture
async def rig(home: Path) -> AsyncIterator[Rig]:
    """A running scheduler."""
    async with Rig(home, TurnedClock()) as opened:
        yield opened


async def test_what_was_kept_is_there_after_a_restart(home: Path) -> None:
    rig = Rig(home, TurnedClock())
    async with rig:
        added = [await rig.add("in 1 hour"), await rig.add("every monday 9:00")]
    async with rig:
        kept = [await rig.store.find(added[0].chat, number) for number in (1, 2)]

    assert kept == added


async def test_numbers_are_a_chats_own_and_never_given_twice(rig: Rig) -> None:
    first = await rig.add("in 1 hour", chat="1")
    other = await rig.add("in 1 hour", chat="2")
    await rig.planner.delete(Asking(chat=first.chat, person=first.maker), 1)

    assert (first.number, other.number) == (1, 1)
    assert (await rig.add("in 1 hour", chat="1")).number == 2


async def test_a_chat_and_the_bot_take_so_many_and_no_more(rig: Rig) -> None:
    added = await rig.add("in 1 hour", chat="1")
    fresh = replace(added, id=new_id())

    assert await rig.store.add(fresh, per_chat=1, in_all=9) is None
    assert (
        await rig.store.add(replace(fresh, address=replace(fresh.address, chat="2")), per_chat=1, in_all=1)
        is None
    )
    assert await rig.store.add(fresh, per_chat=2, in_all=2) is not None


async def test_what_is_over_makes_room_and_only_the_newest_is_kept(rig: Rig) -> None:
    for number in range(KEPT_OVER + 5):
        added = await rig.add("in 1 minute", f"task {number}")
        await rig.clock.turn(rig.clock.now() + 60)
    left = await rig.planner.listed(added.chat)

    assert [one.schedule.number for one in left] == list(range(KEPT_OVER + 5, 4, -1))
    assert len(rig.fired) == KEPT_OVER + 5


async def test_only_the_last_firings_of_a_schedule_are_kept(rig: Rig, home: Path) -> None:
    await rig.add("every 1 minute")
    for step in range(1, KEPT_FIRINGS + 10):
        await rig.clock.turn(NOON + step * 60)
    with closing(sqlite3.connect(home / DATABASE)) as db:
        (count,) = db.execute("SELECT COUNT(*) FROM firings").fetchone()

    assert count <= KEPT_FIRINGS + 1


async def test_a_schedule_that_was_changed_meanwhile_is_not_claimed(rig: Rig) -> None:
    added = await rig.add("every hour")
    await rig.store.plan(replace(added, is_paused=True))
    claim = Claim(schedule=added, run=RunId(new_id()), next_at=NOON + 2 * HOUR)
    await rig.store.claim([claim], now=NOON + HOUR)

    assert await rig.store.waiting(after=None, limit=10) == []


async def test_pausing_takes_back_what_was_not_handed_in(rig: Rig) -> None:
    added = await rig.add("every hour")
    rig.fails = True
    await rig.clock.turn(NOON + HOUR)
    waiting = await rig.store.waiting(after=None, limit=10)
    await rig.planner.pause(Asking(chat=added.chat, person=added.maker), 1)

    assert [(schedule.id, firing.due_at) for schedule, firing in waiting] == [(added.id, NOON + HOUR)]
    assert await rig.store.waiting(after=None, limit=10) == []


async def test_running_is_told_apart_from_delivered(rig: Rig, home: Path) -> None:
    added = await rig.add("in 1 hour")
    await rig.clock.turn(NOON + HOUR)
    message = rig.fired[0]

    async def last() -> tuple[str | None, str]:
        (one,) = await rig.planner.listed(added.chat)
        assert isinstance(one.last, Firing)
        return one.last.reason, one.last.delivery

    seen = [await last()]
    await rig.journal.begin(message, attempts=0, history=1)
    end: End = end_of(message)
    await rig.journal.finish(end, RECORD, speaker="Bot", has_outbox=True)
    seen.append(await last())  # without `note_end`: the process may have died before it
    await rig.scheduler.note_end(message.run, "done")
    async with Database(home / DATABASE, synchronous="NORMAL") as database:
        outbox = Outbox(database)
        await outbox.give_up(message.run)
        seen.append(await last())
        await outbox.confirm(message.run)
        seen.append(await last())

    assert seen == [(None, "open"), ("done", "open"), ("done", "failed"), ("done", "delivered")]


async def test_schedules_of_a_chat_are_listed_by_what_comes_next_and_no_others(rig: Rig) -> None:
    await rig.add("in 3 hours", chat="1")
    await rig.add("in 1 hour", chat="1")
    await rig.add("in 2 hours", chat="2")
    chat = SessionKey("telegram:default:1")

    assert [one.schedule.number for one in await rig.store.listed(chat, limit=9)] == [2, 1]
    assert len(await rig.store.listed(None, limit=9)) == 3
    assert len(await rig.store.listed(None, limit=2)) == 2


@pytest.mark.parametrize("query", [DUE, NEXT_DUE, WAITING])
async def test_looking_for_what_is_due_does_not_grow_with_what_is_not(
    rig: Rig, home: Path, query: str
) -> None:
    with closing(sqlite3.connect(home / DATABASE)) as db:
        values = [1] * query.count("?")
        plan = [row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {query}", values)]

    assert any("schedules_due" in step or "firings_waiting" in step for step in plan)
    assert not any(step == "SCAN s" or "TEMP B-TREE" in step for step in plan), plan
