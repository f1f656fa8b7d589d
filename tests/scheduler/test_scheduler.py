"""Schedules fire when they are due, each time once, whatever happens to the process and to the clock."""

import asyncio
from pathlib import Path

import pytest

from bot.messages import Role, Sender, Trigger
from bot.scheduler.clock import WallClock
from bot.scheduler.planner import Asking
from bot.scheduler.scheduler import RETRY
from bot.scheduler.timing import At, Cron, Every, ScheduleFault
from tests.factories import inbound
from tests.scheduler.rig import NOON, Rig, TurnedClock, moment

HOUR = 3_600.0


@pytest.fixture
def rig(home: Path) -> Rig:
    """The bot, not yet started, on a clock that shows noon."""
    return Rig(home, TurnedClock())


async def test_an_alarm_comes_as_a_message_where_and_for_whom_it_was_set(rig: Rig) -> None:
    async with rig:
        added = await rig.add("in 1 hour", "call Bob", chat="42:7", speaker="Ann")
        await rig.clock.turn(NOON + HOUR)

    (message,) = rig.fired
    assert message.trigger is Trigger.SCHEDULE
    assert (message.session, message.address.chat) == (added.session, "42:7")
    assert message.sender == Sender(id="ann", name="Ann", role=Role.MEMBER)
    assert message.text == (
        "[Schedule 1, due Sat 21 Nov 2026, 13:00 (UTC). Do this now; do not schedule it again.]\ncall Bob"
    )


async def test_a_text_like_a_command_is_none(rig: Rig) -> None:
    async with rig:
        await rig.add("in 1 hour", "/kill all")
        await rig.clock.turn(NOON + HOUR)

    assert rig.fired[0].text.startswith("[")


async def test_nothing_fires_before_its_time(rig: Rig) -> None:
    async with rig:
        await rig.add("in 1 hour")
        await rig.clock.turn(NOON + HOUR - 1)

    assert rig.fired == []


async def test_a_repetition_fires_at_each_of_its_times(rig: Rig) -> None:
    async with rig:
        added = await rig.add("every 10 minutes")
        for step in range(1, 5):
            await rig.clock.turn(NOON + step * 600)

    assert rig.dues() == [(added.id, NOON + step * 600) for step in range(1, 5)]


async def test_what_was_missed_while_the_bot_was_off_fires_once_and_says_that_it_is_late(rig: Rig) -> None:
    async with rig:
        added = await rig.add("every 10 minutes")
    rig.clock.put(NOON + 2 * HOUR + 30)
    async with rig:
        await rig.clock.turn(NOON + 2 * HOUR + 600)

    assert rig.dues() == [(added.id, NOON + 600), (added.id, NOON + 2 * HOUR + 600)]
    assert "12:10 (UTC). It is late" in rig.fired[0].text
    assert "It is late" not in rig.fired[1].text


async def test_a_machine_that_slept_fires_once_for_what_it_slept_through(rig: Rig) -> None:
    async with rig:
        added = await rig.add("every 10 minutes")
        await rig.clock.turn(NOON + 24 * HOUR + 1)
        await rig.clock.turn(NOON + 24 * HOUR + 600)

    assert rig.dues() == [(added.id, NOON + 600), (added.id, NOON + 24 * HOUR + 600)]


async def test_several_that_are_due_fire_in_the_order_of_their_times(rig: Rig) -> None:
    async with rig:
        later = await rig.add("in 2 hours", chat="1")
        sooner = await rig.add("in 1 hour", chat="2")
        await rig.clock.turn(NOON + 3 * HOUR)

    assert [schedule for schedule, _ in rig.dues()] == [sooner.id, later.id]


async def test_more_than_one_batch_that_is_due_fires_whole(rig: Rig) -> None:
    async with rig:
        added = [await rig.add("in 1 hour", chat=str(number % 3)) for number in range(210)]
        await rig.clock.turn(NOON + HOUR)

    assert {schedule for schedule, _ in rig.dues()} == {one.id for one in added}
    assert len(rig.fired) == len(added)


async def test_a_new_schedule_wakes_a_scheduler_that_waits_for_a_later_one(rig: Rig) -> None:
    async with rig:
        await rig.add("in 20 hours")
        await rig.add("in 1 hour")
        await rig.clock.turn(NOON + HOUR)

    assert len(rig.fired) == 1


async def test_a_store_that_fails_is_asked_again_and_nothing_is_lost(rig: Rig) -> None:
    async with rig:
        added = await rig.add("in 1 hour")
        rig.fails = True
        await rig.clock.turn(NOON + HOUR)
        rig.fails = False
        await rig.clock.turn(NOON + HOUR + RETRY)

    assert rig.dues() == [(added.id, NOON + HOUR)]


async def test_a_firing_whose_outcome_got_lost_is_not_answered_twice(rig: Rig) -> None:
    async with rig:
        added = await rig.add("every hour")
        rig.loses = True
        await rig.clock.turn(NOON + HOUR)
        rig.loses = False
        await rig.clock.turn(NOON + HOUR + RETRY)
        await rig.clock.turn(NOON + 2 * HOUR)

    assert rig.dues() == [(added.id, NOON + HOUR), (added.id, NOON + 2 * HOUR)]


@pytest.mark.parametrize("hangs_at", [0, 1], ids=["before the journal has it", "after"])
async def test_a_process_that_dies_between_claim_and_record_fires_once(rig: Rig, hangs_at: int) -> None:
    async with rig:
        added = [await rig.add("in 1 hour", chat=str(chat)) for chat in range(3)]
        rig.hangs_at = hangs_at
        await rig.clock.turn(NOON + HOUR)
    async with rig:
        await rig.clock.turn(NOON + 2 * HOUR)

    assert sorted(rig.dues()) == sorted((one.id, NOON + HOUR) for one in added)


async def test_a_session_that_is_full_holds_up_nobody_else_and_gets_its_turn_later(rig: Rig) -> None:
    async with rig:
        full = await rig.add("in 1 hour", chat="1")
        free = await rig.add("in 1 hour", chat="2")
        rig.full = {full.session}
        await rig.clock.turn(NOON + HOUR)
        before = rig.dues()
        rig.full = set()
        await rig.clock.turn(NOON + HOUR + RETRY)

    assert before == [(free.id, NOON + HOUR)]
    assert rig.dues() == [*before, (full.id, NOON + HOUR)]


async def test_a_session_that_stays_full_does_not_pile_up_firings(rig: Rig) -> None:
    async with rig:
        full = await rig.add("every 10 minutes")
        rig.full = {full.session}
        for step in range(1, 20):
            await rig.clock.turn(NOON + step * 600)
        rig.full = set()
        await rig.clock.turn(NOON + 20 * 600)

    assert rig.dues() == [(full.id, NOON + 600)]


async def test_a_paused_schedule_rests_and_does_not_make_up_for_it(rig: Rig) -> None:
    async with rig:
        added = await rig.add("every hour")
        asking = Asking(chat=added.chat, person=added.maker)
        await rig.planner.pause(asking, 1)
        await rig.clock.turn(NOON + 3 * HOUR + 1)
        await rig.planner.resume(asking, 1)
        await rig.clock.turn(NOON + 4 * HOUR)

    assert rig.dues() == [(added.id, NOON + 4 * HOUR)]


async def test_a_deleted_schedule_fires_no_more(rig: Rig) -> None:
    async with rig:
        added = await rig.add("every hour")
        await rig.clock.turn(NOON + HOUR)
        await rig.planner.delete(Asking(chat=added.chat, person=added.maker), 1)
        await rig.clock.turn(NOON + 2 * HOUR)

    assert len(rig.fired) == 1


async def test_a_clock_that_ran_ahead_carries_no_schedule_off(rig: Rig) -> None:
    async with rig:
        daily = await rig.add(Cron(expression="0 13 * * *", zone="UTC"))
        await rig.clock.turn(moment("2040-01-01 00:00"))
        await rig.clock.turn(NOON + 10)
        grid = await rig.add("every 2 hours")
        await rig.clock.turn(NOON + HOUR)
        await rig.clock.turn(NOON + 25 * HOUR)

    assert rig.dues() == [
        (daily.id, NOON + HOUR),
        (grid.id, NOON + 10 + 2 * HOUR),
        (daily.id, NOON + 25 * HOUR),
    ]


async def test_a_schedule_that_a_wrong_clock_made_comes_back_with_the_restart(home: Path) -> None:
    clock = TurnedClock(moment("2040-01-01 00:00"))  # a machine without a battery for its clock
    rig = Rig(home, clock)
    async with rig:
        grid = await rig.add("every hour")
        await rig.add(At(at=moment("2040-06-01 00:00")))
    clock.put(NOON)
    async with rig:
        await clock.turn(NOON + HOUR)

    assert rig.dues() == [(grid.id, NOON + HOUR)]


async def test_a_clock_that_is_set_back_fires_no_due_time_again(rig: Rig) -> None:
    async with rig:
        added = await rig.add("every hour")
        for step in (1, 2):
            await rig.clock.turn(NOON + step * HOUR)
        await rig.clock.turn(NOON + HOUR - 1)
        for step in (1, 2, 3):
            await rig.clock.turn(NOON + step * HOUR)

    assert rig.dues() == [(added.id, NOON + step * HOUR) for step in (1, 2, 3)]


async def test_a_repeating_alarm_for_a_later_day_waits_for_it_when_the_clock_is_set_back(rig: Rig) -> None:
    async with rig:
        added = await rig.add(Every(seconds=3_600, start=NOON + 48 * HOUR))
        await rig.clock.turn(NOON - HOUR)
        await rig.clock.turn(NOON + 47 * HOUR)
        await rig.clock.turn(NOON + 48 * HOUR)

    assert rig.dues() == [(added.id, NOON + 48 * HOUR)]


async def test_a_turn_that_nobody_began_can_schedule_nothing_at_once(rig: Rig) -> None:
    message = inbound(session="telegram:default:42", trigger=Trigger.SCHEDULE)
    async with rig:
        with pytest.raises(ScheduleFault, match="a minute from now"):
            await rig.planner.add(message, rig.planner.read("in 5 seconds"), "again")
        added = await rig.planner.add(message, rig.planner.read("in 1 minute"), "again")

    assert added.number == 1


async def test_the_end_of_a_turn_is_known_of_its_firing(rig: Rig) -> None:
    async with rig:
        added = await rig.add("in 1 hour")
        await rig.clock.turn(NOON + HOUR)
        (running,) = await rig.planner.listed(added.chat)
        await rig.scheduler.note_end(rig.fired[0].run, "silent")
        (ended,) = await rig.planner.listed(added.chat)

    assert running.last is not None
    assert (running.last.ran_at, running.last.reason, running.last.delivery) == (NOON + HOUR, None, "open")
    assert ended.last is not None
    assert (ended.last.reason, ended.last.delivery) == ("silent", "nothing")


async def test_the_wall_clock_returns_when_woken_and_when_the_time_is_over() -> None:
    clock, event = WallClock(), asyncio.Event()
    await clock.wait(event, 0.01)
    event.set()
    await clock.wait(event, 1_000.0)

    assert clock.now() > moment("2020-01-01 00:00")
