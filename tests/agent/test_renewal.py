"""A chat that was silent for long, or wakes up on a new day, begins a new session by itself; none is lost."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from datetime import time as TimeOfDay
from pathlib import Path
from typing import TypeAlias
from zoneinfo import ZoneInfo

import pytest

from bot.agent.control import Everybody
from bot.agent.renewal import Renewal, last_at
from bot.messages import InboundMessage, SessionKey, Trigger
from tests.agent.rig import Gate, Rig, inbound, rig

HOUR = 3_600.0
MAIN = SessionKey("web:default:main")
BERLIN = ZoneInfo("Europe/Berlin")
Made: TypeAlias = Callable[[Rig], Renewal]


class Clock:
    """Stands still until a test turns it."""

    def __init__(self, text: str = "2026-03-10T20:00:00+00:00") -> None:
        self.now = datetime.fromisoformat(text).timestamp()

    def __call__(self) -> float:
        return self.now


def after(hours: float, clock: Clock, **changes: object) -> Made:
    """A new session after so many hours of silence."""
    return lambda bot: renewal(bot, clock, idle=hours * HOUR, **changes)


def renewal(bot: Rig, clock: Clock, **changes: object) -> Renewal:
    given = {
        "goes_on": lambda message, session: bot.loop.activity(session)[0] is not None,
        "speaker": lambda: bot.loop.speaker,
        "clock": clock,
    }
    return Renewal(bot.store.sessions, bot.store.journal, **(given | changes))  # type: ignore[arg-type]  # by name


def told(bot: Rig) -> list[str]:
    """What the chat was told of new sessions."""
    return [end.text for end in bot.ends if "new session" in end.text]


async def test_after_silence_a_message_begins_a_new_session_and_the_chat_is_told(
    tmp_path: Path,
) -> None:
    clock = Clock()
    async with rig(tmp_path, renewal=after(8, clock)) as bot:
        await bot.say("one")
        await bot.ended(1)
        clock.now += 8 * HOUR
        await bot.say("two")
        await bot.ended(3)

        current = await bot.store.sessions.current(MAIN)
        lines = await bot.store.history.recent(current, limit=10)
        assert current != MAIN
        assert await bot.texts() == [("user", "one"), ("assistant", "echo: one ")]
        assert told(bot) == [
            "It has been quiet for a while, so a new session begins here. "
            "`/resume` goes back to the one before."
        ]
        assert [line.text for line in lines if line.role == "user"] == ["two"]


async def test_who_goes_on_in_time_stays_in_the_session(tmp_path: Path) -> None:
    clock = Clock()
    async with rig(tmp_path, renewal=after(8, clock)) as bot:
        for count in (1, 2, 3):
            await bot.say("again")
            await bot.ended(count)
            clock.now += 8 * HOUR - 1

        assert await bot.store.sessions.current(MAIN) == MAIN
        assert not told(bot)


async def test_two_messages_at_once_begin_one_new_session_and_both_go_there(tmp_path: Path) -> None:
    clock = Clock()
    async with rig(tmp_path, renewal=after(8, clock)) as bot:
        await bot.say("one")
        await bot.ended(1)
        clock.now += 9 * HOUR
        await asyncio.gather(bot.say("two"), bot.say("three"))
        await bot.ended(4)

        lines = await bot.store.history.recent(await bot.store.sessions.current(MAIN), limit=10)
        assert len(told(bot)) == 1
        assert {line.text for line in lines if line.role == "user"} == {"two", "three"}


async def test_a_session_that_is_answering_is_gone_on_with(tmp_path: Path) -> None:
    clock, gate = Clock(), Gate()
    async with rig(tmp_path, gate.play(), renewal=after(1, clock)) as bot:
        await bot.say("long work")
        await gate.reached()
        clock.now += 2 * HOUR
        await bot.say("how far are you?")
        gate.open()
        await bot.ended(2)

        assert await bot.store.sessions.current(MAIN) == MAIN


async def test_a_session_in_which_an_operator_answers_is_gone_on_with(tmp_path: Path) -> None:
    clock, taken = Clock(), [False]
    async with rig(tmp_path, renewal=after(8, clock, goes_on=lambda message, session: taken[0])) as bot:
        await bot.say("one")
        await bot.ended(1)
        taken[0] = True
        clock.now += 8 * HOUR
        await bot.say("two")
        await bot.ended(2)

        assert await bot.store.sessions.current(MAIN) == MAIN
        assert told(bot) == []


@pytest.mark.parametrize("trigger", [Trigger.SCHEDULE, Trigger.HEARTBEAT])
async def test_what_the_bot_does_by_itself_neither_begins_nor_prolongs_a_session(
    tmp_path: Path, trigger: Trigger
) -> None:
    clock = Clock()
    async with rig(tmp_path, renewal=after(8, clock)) as bot:
        await bot.say("one")
        await bot.ended(1)
        clock.now += 5 * HOUR
        await bot.say("look around", trigger=trigger)
        await bot.ended(2)
        before = await bot.store.sessions.current(MAIN)
        clock.now += 5 * HOUR
        await bot.say("two")
        await bot.ended(4)

        assert before == MAIN
        assert len(told(bot)) == 1


async def test_a_session_that_was_just_resumed_is_not_left_again_for_its_age(tmp_path: Path) -> None:
    clock = Clock()
    async with rig(tmp_path, renewal=after(8, clock)) as bot:
        await bot.say("one")
        await bot.ended(1)
        clock.now = datetime.now(UTC).timestamp() + 9 * HOUR
        await bot.say("two")
        await bot.ended(3)
        await bot.store.sessions.resume(MAIN, MAIN)
        clock.now = datetime.now(UTC).timestamp()
        await bot.say("three")
        await bot.ended(4)

        assert await bot.store.sessions.current(MAIN) == MAIN


async def test_a_message_that_comes_again_begins_nothing(tmp_path: Path) -> None:
    clock, message = Clock(), inbound("one")
    async with rig(tmp_path, renewal=after(8, clock)) as bot:
        await bot.bus.publish(message)
        await bot.ended(1)
        clock.now += 9 * HOUR
        await bot.bus.publish(message)

        assert await bot.store.sessions.current(MAIN) == MAIN


async def test_strangers_who_may_not_speak_begin_nothing(tmp_path: Path) -> None:
    class Nobody(Everybody):
        def may_speak(self, message: InboundMessage) -> bool:
            return message.text != "psst"

    clock = Clock()
    async with rig(tmp_path, renewal=after(8, clock, people=Nobody())) as bot:
        await bot.say("one")
        await bot.ended(1)
        clock.now += 9 * HOUR
        await bot.say("psst")

        assert await bot.store.sessions.current(MAIN) == MAIN


async def test_a_new_day_begins_a_new_session_at_its_first_message_only(tmp_path: Path) -> None:
    clock = Clock("2026-03-10T02:50:00+00:00")
    at = (TimeOfDay(4), BERLIN)
    async with rig(tmp_path, renewal=lambda bot: renewal(bot, clock, daily_at=at)) as bot:
        await bot.say("late")
        await bot.ended(1)
        clock.now += 0.25 * HOUR  # 4:05 in Berlin
        await bot.say("early")
        await bot.ended(3)
        first = await bot.store.sessions.current(MAIN)
        clock.now += 20 * HOUR
        await bot.say("evening")
        await bot.ended(4)

        assert told(bot) == [
            "A new day has begun, so a new session begins here. `/resume` goes back to the one before."
        ]
        assert first != MAIN
        assert await bot.store.sessions.current(MAIN) == first


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        ("2026-03-10T03:00:00+00:00", "2026-03-10T04:00:00+01:00"),
        ("2026-03-10T02:59:59+00:00", "2026-03-09T04:00:00+01:00"),
        ("2026-03-29T12:00:00+00:00", "2026-03-29T04:00:00+02:00"),  # the clocks went forward at two
        ("2026-10-25T02:30:00+00:00", "2026-10-24T04:00:00+02:00"),  # and back
    ],
)
def test_the_time_of_day_is_that_of_the_zone_whatever_its_clocks_do(now: str, expected: str) -> None:
    moment = datetime.fromisoformat(now).timestamp()

    assert last_at(moment, TimeOfDay(4), BERLIN) == datetime.fromisoformat(expected).timestamp()
