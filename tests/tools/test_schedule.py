"""The agent schedules work for later, and sets itself an alarm."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bot.messages import Trigger
from bot.scheduler.planner import MAX_PER_CHAT, MAX_TEXT
from bot.scheduler.timing import At, Cron, Every
from bot.tools.base import Tool, ToolContext, ToolFault
from bot.tools.schedule import ScheduleTools
from tests.factories import inbound
from tests.scheduler.rig import NOON, Rig, TurnedClock, moment

HOUR = 3_600.0
CHAT = "telegram:default:42"


class Agent:
    """Calls the tools as the loop does: arguments go through the tool's own model."""

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        self.tools: dict[str, Tool] = {tool.name: tool for tool in ScheduleTools(rig.planner).tools()}

    async def calls(
        self,
        name: str,
        *,
        chat: str = CHAT,
        speaker: str = "Ann",
        is_admin: bool = False,
        trigger: Trigger = Trigger.MESSAGE,
        **arguments: Any,  # the model may write anything
    ) -> str:
        tool = self.tools[name]
        message = inbound(session=chat, speaker=speaker, trigger=trigger)
        given = dict(tool.arguments.model_validate(arguments))
        result = await tool.handler(context=ToolContext(message=message, is_admin=is_admin), **given)
        assert isinstance(result, str)
        return result


@pytest.fixture
async def agent(home: Path) -> AsyncIterator[Agent]:
    """An agent in Berlin, where it is 13:00 on a Saturday."""
    async with Rig(home, TurnedClock(), zone="Europe/Berlin") as rig:
        yield Agent(rig)


async def test_the_result_tells_when_it_fires_for_the_person_and_how_to_cancel_it(agent: Agent) -> None:
    told = await agent.calls("manage_schedule", action="add", when="tomorrow 9:00", text="water the plants")

    assert told == (
        "Schedule 1 is set. It fires Sun 22 Nov 2026, 09:00 (Europe/Berlin). To cancel it: /schedule delete 1"
    )


async def test_a_schedule_keeps_the_chat_the_session_and_the_person(agent: Agent) -> None:
    await agent.calls(
        "manage_schedule", action="add", when="every monday 9:00", text="report", timezone="UTC"
    )
    ((listed,)) = await agent.rig.store.listed(None, limit=9)

    assert listed.schedule.timing == Cron(expression="0 9 * * 1", zone="UTC")
    assert (listed.schedule.session, listed.schedule.sender.id) == (CHAT, "ann")


async def test_an_alarm_wakes_the_agent_and_repeats_until_it_is_deleted(agent: Agent) -> None:
    told = await agent.calls("alarm_clock", when="in 10 minutes", text="look again", repeat_minutes=1)
    for seconds in (600, 660, 720):
        await agent.rig.clock.turn(NOON + seconds)
    await agent.calls("manage_schedule", action="delete", number=1)
    await agent.rig.clock.turn(NOON + 780)

    assert "every 1 minute" in told
    assert [due for _, due in agent.rig.dues()] == [NOON + 600, NOON + 660, NOON + 720]


async def test_an_alarm_rings_once_where_nothing_else_is_said(agent: Agent) -> None:
    await agent.calls("alarm_clock", when="2026-11-21T18:00", text="look again")
    ((listed,)) = await agent.rig.store.listed(None, limit=9)

    assert listed.schedule.timing == At(at=moment("2026-11-21 18:00", "Europe/Berlin"))


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        (
            "manage_schedule",
            {"action": "add", "when": "soon", "text": "x"},
            r"in 2 hours.*Now it is Sat 21 Nov",
        ),
        ("manage_schedule", {"action": "add", "when": "in 1 hour"}, "characters what is to be done"),
        ("manage_schedule", {"action": "add", "when": "in 1 h", "text": "x" * (MAX_TEXT + 1)}, "characters"),
        ("manage_schedule", {"action": "add", "when": "every 30 seconds", "text": "x"}, "every 60 seconds"),
        (
            "manage_schedule",
            {"action": "add", "when": "9:00", "text": "x", "timezone": "Mars"},
            "no time zone",
        ),
        ("manage_schedule", {"action": "pause"}, "needs a number"),
        ("manage_schedule", {"action": "delete", "number": 7}, "no schedule 7"),
        ("manage_schedule", {"action": "delete", "number": -(2**80)}, "no schedule"),
        ("alarm_clock", {"when": "every 2 hours", "text": "x"}, "repeat_minutes"),
        ("alarm_clock", {"when": "in 1 hour", "text": "x", "repeat_minutes": 0}, "1 or more"),
        ("alarm_clock", {"when": "in 1 hour", "text": "x", "repeat_minutes": 10**9}, "366 days"),
        ("alarm_clock", {"when": "in 1 hour", "text": " \n"}, "characters what is to be done"),
    ],
)
async def test_what_can_not_be_is_told_with_the_way_out(
    agent: Agent, name: str, arguments: dict[str, Any], words: str
) -> None:
    with pytest.raises(ToolFault, match=words):
        await agent.calls(name, **arguments)


async def test_a_chat_has_so_many_schedules_and_no_more(agent: Agent) -> None:
    for _ in range(MAX_PER_CHAT):
        await agent.calls("alarm_clock", when="in 1 hour", text="x")
    with pytest.raises(ToolFault, match="delete some first"):
        await agent.calls("alarm_clock", when="in 1 hour", text="x")

    assert "Schedule 1 is set" in await agent.calls("alarm_clock", chat="web:a:b", when="in 1 hour", text="x")


async def test_a_turn_that_nobody_began_does_not_wake_itself_at_once(agent: Agent) -> None:
    with pytest.raises(ToolFault, match="a minute from now"):
        await agent.calls("alarm_clock", trigger=Trigger.SCHEDULE, when="in 1 second", text="again")


async def test_pausing_and_resuming(agent: Agent) -> None:
    await agent.calls("manage_schedule", action="add", when="every 2 hours", text="check the mail")
    paused = await agent.calls("manage_schedule", action="pause", number=1)
    listed = await agent.calls("manage_schedule", action="list")
    resumed = await agent.calls("manage_schedule", action="resume", number=1)

    assert paused == "Schedule 1 is paused."
    assert listed == "1: every 2 hours; next paused; check the mail"
    assert resumed == "Schedule 1 goes on. Next: Sat 21 Nov 2026, 15:00 (Europe/Berlin)."


async def test_a_single_time_that_passed_while_paused_is_told(agent: Agent) -> None:
    await agent.calls("alarm_clock", when="in 1 hour", text="x")
    await agent.calls("manage_schedule", action="pause", number=1)
    await agent.rig.clock.turn(NOON + 2 * HOUR)
    with pytest.raises(ToolFault, match="passed while it was paused"):
        await agent.calls("manage_schedule", action="resume", number=1)

    assert agent.rig.fired == []


async def test_what_is_over_can_not_be_paused(agent: Agent) -> None:
    await agent.calls("alarm_clock", when="in 1 hour", text="x")
    await agent.rig.clock.turn(NOON + HOUR)
    with pytest.raises(ToolFault, match="is over"):
        await agent.calls("manage_schedule", action="pause", number=1)

    assert "next over" in await agent.calls("manage_schedule", action="list")


@pytest.mark.parametrize("action", ["pause", "resume", "delete"])
async def test_nobody_reaches_a_schedule_of_another_chat_or_person(agent: Agent, action: str) -> None:
    await agent.calls("alarm_clock", when="in 1 hour", text="secret")
    with pytest.raises(ToolFault, match="no schedule 1"):
        await agent.calls(
            "manage_schedule", chat="telegram:default:43", action=action, number=1, is_admin=True
        )
    with pytest.raises(ToolFault, match="somebody else's"):
        await agent.calls("manage_schedule", speaker="Mallory", action=action, number=1)
    elsewhere = await agent.calls("manage_schedule", chat="telegram:default:43", action="list")
    allowed = await agent.calls("manage_schedule", speaker="Boss", action=action, number=1, is_admin=True)

    assert elsewhere == "There are no schedules in this chat."
    assert allowed.startswith("Schedule 1")


async def test_the_repetition_of_an_alarm_begins_with_its_first_time(agent: Agent) -> None:
    await agent.calls("alarm_clock", when="tomorrow 9:00", text="x", repeat_minutes=30)
    ((listed,)) = await agent.rig.store.listed(None, limit=9)
    first = moment("2026-11-22 09:00", "Europe/Berlin")

    assert listed.schedule.timing == Every(seconds=1_800, start=first)
    assert listed.schedule.next_at == first


async def test_what_the_model_sees_of_the_tools_is_short(agent: Agent) -> None:
    sizes = [
        len(tool.schema.description) + len(json.dumps(json.loads(tool.schema.parameters)))
        for tool in agent.tools.values()
    ]

    assert sum(sizes) < 1_600
