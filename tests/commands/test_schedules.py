"""`/schedule`: what is to be done later in a chat, for its people."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.commands.call import Answer
from bot.commands.registry import Commands
from bot.commands.schedules import EMPTY, OPERATORS_ONLY, UNCHANGED, ScheduleCommands
from bot.messages import Sender
from tests.commands.desk import ANN, BOSS, GUILD_ADMIN, Notes, message
from tests.scheduler.rig import NOON, Rig, TurnedClock

MALLORY = Sender(id="66", name="Mallory")
HOUR = 3_600.0


class Counter:
    """Where people give the command."""

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        self.commands = Commands(
            ScheduleCommands(rig.planner).commands(), admins=lambda: {"telegram:1"}, audit=Notes()
        )

    async def says(self, text: str, chat: str = "42", *, sender: Sender = ANN) -> Answer:
        answer = await self.commands.run(message(text, chat, sender=sender))
        assert all(0 < len(button.value.encode()) <= 64 for button in answer.buttons)
        assert all(self.commands.matches(button.value) for button in answer.buttons)
        return answer

    async def add(self, when: str, text: str = "water the *plants*", *, chat: str = "42") -> None:
        """Ann schedules something; her id is that of the desk's Ann."""
        await self.rig.add(when, text, chat=chat, speaker="42")

    async def are(self) -> list[tuple[int, bool]]:
        """Number, and whether it is paused, of every schedule."""
        listed = await self.rig.store.listed(None, limit=99)
        return sorted((one.schedule.number, one.schedule.is_paused) for one in listed)


@pytest.fixture
async def counter(home: Path) -> AsyncIterator[Counter]:
    async with Rig(home, TurnedClock()) as rig:
        yield Counter(rig)


async def test_the_list_shows_text_repetition_and_next_time_with_buttons(counter: Counter) -> None:
    await counter.add("in 1 hour", "call Bob")
    await counter.add("*/20 * * * *")
    answer = await counter.says("/schedule")

    assert answer.text.splitlines() == [
        "**Schedules of this chat**",
        r"- `2` water the \*plants\*: cron \*/20 \* \* \* \*, next Sat 21 Nov 2026, 12:20 \(UTC\)",
        r"- `1` call Bob: once, next Sat 21 Nov 2026, 13:00 \(UTC\)",
    ]
    assert [(button.label, button.value) for button in answer.buttons] == [
        ("Pause 2", "/schedule pause 2"),
        ("Delete 2", "/schedule delete 2"),
        ("Pause 1", "/schedule pause 1"),
        ("Delete 1", "/schedule delete 1"),
    ]


async def test_the_list_tells_how_it_went_the_last_time(counter: Counter) -> None:
    await counter.add("in 1 hour", "call Bob")
    await counter.rig.clock.turn(NOON + HOUR)
    running = await counter.says("/schedule list")
    await counter.rig.scheduler.note_end(counter.rig.fired[0].run, "done")
    done = await counter.says("/schedule list")

    assert running.text.splitlines()[1] == r"- `1` call Bob: over; last Sat 21 Nov 2026, 13:00 \(UTC\), runs"
    assert done.text.endswith("done, delivered")
    assert [button.value for button in done.buttons] == ["/schedule delete 1"]


async def test_an_empty_list_tells_what_to_do(counter: Counter) -> None:
    assert (await counter.says("/schedule")).text == EMPTY


async def test_the_buttons_pause_resume_and_delete(counter: Counter) -> None:
    await counter.add("every 2 hours")
    paused = await counter.says((await counter.says("/schedule")).buttons[0].value)
    while_paused = await counter.are()
    resumed = await counter.says(paused.buttons[0].value)
    while_running = await counter.are()
    asked = await counter.says((await counter.says("/schedule")).buttons[1].value)
    still_there = await counter.are()
    deleted = await counter.says(asked.buttons[0].value)

    assert (while_paused, while_running, still_there) == ([(1, True)], [(1, False)], [(1, False)])
    assert resumed.text == "Schedule 1 goes on. Next: Sat 21 Nov 2026, 14:00 (UTC)."
    assert asked.buttons[0].style == "danger"
    assert r"water the \*plants\*" in asked.text
    assert deleted.text == "Schedule 1 is deleted."
    assert await counter.are() == []


async def test_who_says_no_keeps_the_schedule(counter: Counter) -> None:
    await counter.add("every 2 hours")

    assert (await counter.says("/schedule delete 1 no")).text == UNCHANGED
    assert await counter.are() == [(1, False)]


@pytest.mark.parametrize("text", ["/schedule delete", "/schedule pause", "/schedule resume yes"])
async def test_without_a_number_it_asks_which(counter: Counter, text: str) -> None:
    await counter.add("every 2 hours")

    assert "Which one?" in (await counter.says(text)).text
    assert await counter.are() == [(1, False)]


@pytest.mark.parametrize("text", ["/schedule pause 1", "/schedule delete 1", "/schedule delete 1 yes"])
async def test_nobody_changes_a_schedule_of_another_chat_or_person(counter: Counter, text: str) -> None:
    await counter.add("every 2 hours", "a secret")
    elsewhere = await counter.says(text, "43")
    by_another = await counter.says(text, sender=MALLORY)

    assert (elsewhere.reason, by_another.reason) == ("error", "error")
    assert "secret" not in elsewhere.text + by_another.text
    assert await counter.are() == [(1, False)]


async def test_an_admin_changes_what_others_made_in_the_chat(counter: Counter) -> None:
    await counter.add("every 2 hours")
    await counter.says("/schedule pause 1", sender=GUILD_ADMIN)

    assert await counter.are() == [(1, True)]


async def test_only_operators_see_the_schedules_of_all_chats(counter: Counter) -> None:
    await counter.add("in 1 hour", "mine")
    await counter.add("in 2 hours", "theirs", chat="43")
    own = await counter.says("/schedule list")
    refused = [await counter.says("/schedule list all", sender=who) for who in (ANN, GUILD_ADMIN)]
    seen = await counter.says("/schedule list all", sender=BOSS)

    assert "theirs" not in own.text
    assert [answer.text for answer in refused] == [OPERATORS_ONLY, OPERATORS_ONLY]
    assert "`telegram:default:43`, by `telegram:42` theirs" in seen.text
    assert seen.buttons == ()


async def test_a_long_list_is_cut(counter: Counter) -> None:
    for _ in range(25):
        await counter.add("in 1 hour")
    answer = await counter.says("/schedule")

    assert answer.text.endswith("… and 5 more")
    assert len(answer.buttons) == 10
