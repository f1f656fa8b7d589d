"""The heartbeat: when it beats, when it costs nothing, and which answers nobody is to see."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.agent.silence import ALL_WELL, is_all_well
from bot.bus import Receipt
from bot.errors import StoreError
from bot.messages import Address, InboundMessage, Role, Trigger
from bot.scheduler.heartbeat import (
    FILE,
    MAX_FILE,
    Beat,
    Heartbeat,
    Target,
    is_effectively_empty,
)
from bot.scheduler.hours import ActiveHours
from bot.scheduler.timing import ScheduleFault
from memory.database import DATABASE, Database
from memory.state import State
from tests.scheduler.rig import NOON, TurnedClock, moment

HOUR = 3_600.0
CHAT = Address(channel="telegram", chat="42")


class Pulse:
    """A heartbeat in a workspace, and what it said."""

    def __init__(self, home: Path, state: State) -> None:
        self.workspace = home / "workspace"
        self.workspace.mkdir()
        self.state = state
        self.clock = TurnedClock()
        self.said: list[InboundMessage] = []
        self.target: Address | None = CHAT
        self.is_busy = False
        self.fails = False

    def write(self, text: str) -> None:
        (self.workspace / FILE).write_text(text, "utf-8")

    def beating(self, hours: str | None = None, zone: str = "UTC") -> Heartbeat:
        active = ActiveHours.read(hours, zone) if hours else None
        return Heartbeat(
            Beat(every=3_600, workspace=self.workspace, hours=active, zone=zone),
            self.publish,
            target=self.find,
            is_busy=self.busy,
            state=self.state,
            clock=self.clock,
        )

    async def publish(self, message: InboundMessage) -> Receipt:
        if self.fails:
            raise StoreError("the disk is full")
        self.said.append(message)
        return Receipt.ACCEPTED

    async def find(self) -> Address | None:
        return self.target

    async def busy(self, address: Address) -> bool:
        return self.is_busy

    def times(self) -> list[float]:
        return [message.received_at.timestamp() for message in self.said]


@pytest.fixture
async def pulse(home: Path) -> AsyncIterator[Pulse]:
    """Something to do, and somebody to tell."""
    async with Database(home / DATABASE, synchronous="NORMAL") as database:
        found = Pulse(home, State(database, "bot:heartbeat"))
        found.write("# Watch\n- is the backup done?\n")
        yield found


async def test_it_beats_at_its_pace_with_what_the_file_says(pulse: Pulse) -> None:
    async with pulse.beating():
        await pulse.clock.rest()
        await pulse.clock.turn(NOON + HOUR - 1)
        await pulse.clock.turn(NOON + HOUR)
        await pulse.clock.turn(NOON + 2 * HOUR)

    assert pulse.times() == [NOON + HOUR, NOON + 2 * HOUR]
    message = pulse.said[0]
    assert (message.trigger, message.address) == (Trigger.HEARTBEAT, CHAT)
    assert "is the backup done?" in message.text
    assert ALL_WELL in message.text
    assert message.dedupe_key != pulse.said[1].dedupe_key


async def test_it_has_no_rights_of_its_own(pulse: Pulse) -> None:
    async with pulse.beating():
        await pulse.clock.rest()
        await pulse.clock.turn(NOON + HOUR)

    assert pulse.said[0].sender.role is Role.MEMBER
    assert pulse.said[0].sender.id != CHAT.chat


@pytest.mark.parametrize(
    "text", [None, "", "# Watch\n\n## Later\n", "<!-- - nothing\nyet -->\n# Watch\n- [ ]\n"]
)
async def test_a_file_without_tasks_costs_nothing(pulse: Pulse, text: str | None) -> None:
    (pulse.workspace / FILE).unlink()
    if text is not None:
        pulse.write(text)
    async with pulse.beating():
        await pulse.clock.rest()
        await pulse.clock.turn(NOON + HOUR)
        quiet = list(pulse.said)
        pulse.write("- look")
        await pulse.clock.turn(NOON + 2 * HOUR)

    assert quiet == []
    assert pulse.times() == [NOON + 2 * HOUR]


async def test_it_waits_until_a_busy_session_is_done(pulse: Pulse) -> None:
    pulse.is_busy = True
    async with pulse.beating():
        await pulse.clock.rest()
        await pulse.clock.turn(NOON + HOUR)
        pulse.is_busy = False
        await pulse.clock.turn(NOON + HOUR + 59)
        await pulse.clock.turn(NOON + HOUR + 60)

    assert pulse.times() == [NOON + HOUR + 60]


async def test_it_says_nothing_while_nobody_is_there(pulse: Pulse) -> None:
    pulse.target = None
    async with pulse.beating():
        await pulse.clock.rest()
        await pulse.clock.turn(NOON + HOUR)

    assert pulse.said == []


async def test_a_store_that_fails_does_not_stop_it(pulse: Pulse) -> None:
    pulse.fails = True
    async with pulse.beating():
        await pulse.clock.rest()
        await pulse.clock.turn(NOON + HOUR)
        pulse.fails = False
        await pulse.clock.turn(NOON + HOUR + 60)

    assert pulse.times() == [NOON + HOUR + 60]


async def test_it_keeps_to_its_hours_on_the_clocks_of_the_zone(pulse: Pulse) -> None:
    berlin = "Europe/Berlin"  # noon is 13:00 there
    async with pulse.beating("08:00-14:00", berlin):
        await pulse.clock.rest()
        await pulse.clock.turn(NOON + HOUR - 60)
        await pulse.clock.turn(NOON + HOUR)
        await pulse.clock.turn(moment("2026-11-22 07:59", berlin))
        await pulse.clock.turn(moment("2026-11-22 08:00", berlin))

    assert pulse.times() == [moment("2026-11-22 08:00", berlin)]


async def test_restarts_make_it_neither_more_nor_less_frequent(pulse: Pulse) -> None:
    for minutes in (0, 25, 50, 60, 70, 119):
        pulse.clock.put(NOON + minutes * 60)
        pulse.clock.at_rest.clear()
        async with pulse.beating():
            await pulse.clock.rest()

    assert pulse.times() == [NOON + HOUR]


async def test_a_long_pause_is_one_beat(pulse: Pulse) -> None:
    async with pulse.beating():
        await pulse.clock.rest()
        await pulse.clock.turn(NOON + 100 * HOUR + 5)
        await pulse.clock.turn(NOON + 100 * HOUR + 600)
        await pulse.clock.turn(NOON + 101 * HOUR + 5)

    assert pulse.times() == [NOON + 100 * HOUR + 5, NOON + 101 * HOUR + 5]


async def test_a_clock_that_is_set_back_does_not_silence_it(pulse: Pulse) -> None:
    async with pulse.beating():
        await pulse.clock.rest()
        await pulse.clock.turn(moment("2040-01-01 00:00"))
        await pulse.clock.turn(NOON)
        await pulse.clock.turn(NOON + HOUR)

    assert pulse.times() == [moment("2040-01-01 00:00"), NOON + HOUR]


async def test_a_huge_file_is_cut(pulse: Pulse) -> None:
    pulse.write("- look\n" * 100_000)
    async with pulse.beating():
        await pulse.clock.rest()
        await pulse.clock.turn(NOON + HOUR)

    assert len(pulse.said[0].text) < MAX_FILE + 1_000


class Known:
    """Chats that have written, the last first."""

    def __init__(self, *addresses: Address) -> None:
        self._addresses = addresses

    async def addresses(self) -> tuple[Address, ...]:
        return self._addresses


GROUP = Address(channel="telegram", chat="-7", is_direct=False)
BOSS = Address(channel="discord", chat="9")


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        (None, BOSS),
        ("telegram:default:42", CHAT),
        ("telegram:default:-7", GROUP),
        (
            "slack:work:C1:17.5",
            Address(channel="slack", account="work", chat="C1", thread="17.5", is_direct=False),
        ),
    ],
)
async def test_it_reports_where_the_settings_say_or_where_an_admin_wrote_last(
    named: str | None, expected: Address
) -> None:
    async def admin_chats() -> list[Address]:
        return [CHAT, BOSS]

    target = Target(named, Known(GROUP, BOSS, CHAT), admin_chats=admin_chats)

    assert await target() == expected


async def test_without_an_admin_it_reports_nowhere() -> None:
    async def admin_chats() -> list[Address]:
        return []

    assert await Target(None, Known(CHAT), admin_chats=admin_chats)() is None


@pytest.mark.parametrize(
    ("text", "is_empty"),
    [
        ("", True),
        ("# Tasks\n\n<!-- one -->\n-\n* [ ]\n---\n", True),
        ("<!-- never closed\n- do it", True),
        ("#hashtag", False),
        ("# Tasks\ncall Bob", False),
        ("<!-- x --> call Bob", False),
        ("- [ ] call Bob", False),
    ],
)
def test_only_headings_blanks_bullets_and_comments_are_empty(text: str, is_empty: bool) -> None:
    assert is_effectively_empty(text) is is_empty


@pytest.mark.parametrize(
    ("answer", "is_well"),
    [
        ("HEARTBEAT_OK", True),
        ("  **HEARTBEAT_OK**\n", True),
        ("`HEARTBEAT_OK`.", True),
        ("HEARTBEAT_OK, all checked.", True),
        ("I looked at the backup. HEARTBEAT_OK", True),
        ("HEARTBEAT_OK " + "x" * 299, True),
        ("HEARTBEAT_OK " + "x" * 301, False),
        ("The backup failed! HEARTBEAT_OK is not what I can say.", False),
        ("HEARTBEAT_OKAY", False),
        ("XHEARTBEAT_OK", False),
        ("", False),
    ],
)
def test_an_answer_that_says_all_is_well_is_for_nobody(answer: str, is_well: bool) -> None:
    assert is_all_well(answer) is is_well


@given(start=st.integers(0, 1_439), end=st.integers(0, 1_440), now=st.integers(0, 3 * 86_400))
def test_hours_open_when_they_say(start: int, end: int, now: int) -> None:
    hours = ActiveHours(start=start, end=end, zone="Europe/Berlin")
    at = moment("2026-03-28 00:00") + now
    opening = hours.next_opening(at)

    assert at < opening <= at + 25 * HOUR
    assert hours.contains(opening)


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("08:00-22:00", "2026-11-21 08:00", "2026-11-21 22:00"),
        ("22:00-06:00", "2026-11-21 05:59", "2026-11-21 06:00"),
        ("08:00-24:00", "2026-11-21 23:59", "2026-11-21 07:59"),
    ],
)
def test_hours_begin_with_their_first_minute_and_end_before_their_last(
    text: str, inside: str, outside: str
) -> None:
    hours = ActiveHours.read(text, "UTC")

    assert hours.contains(moment(inside))
    assert not hours.contains(moment(outside))


@pytest.mark.parametrize("text", ["", "8-22", "25:00-26:00", "24:00-08:00", "08:00-24:30", "08:00–22:00"])
def test_what_are_no_hours_is_refused(text: str) -> None:
    with pytest.raises(ScheduleFault, match="08:00-22:00"):
        ActiveHours.read(text, "UTC")
