"""`/kill` is obeyed at once, by the right turn, and nothing of that turn is shown afterwards."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.agent.control import ADMINS_ONLY, CANCELLED, NOTHING_RUNS
from bot.agent.run import INTERRUPTED
from bot.backends.base import AgentEvent, DoneEvent, MessageEvent, TurnInput
from bot.bus import Receipt
from bot.messages import Chunk, End, Killed, Role, Sender
from tests.agent.rig import Gate, Rig, inbound, rig


def audit_lines(home: Path) -> list[dict[str, object]]:
    """What stands in the audit log."""
    return [
        json.loads(line)
        for file in sorted((home / "audit").iterdir())
        for line in file.read_text().splitlines()
    ]


async def test_kill_cancels_the_running_turn_and_keeps_what_was_shown(tmp_path: Path) -> None:
    gate = Gate()
    async with rig(tmp_path, gate.play("Once upon")) as bot:
        await bot.say("tell me a story")
        await gate.reached()
        await bot.say("/kill")
        killed, confirmed = await bot.ended(2)
        await bot.until(lambda: any(isinstance(event, Killed) for event in bot.events))

        assert (killed.reason, killed.text) == ("killed", f"Once upon\n\n{INTERRUPTED}")
        assert confirmed.text == CANCELLED
        assert (await bot.texts())[:2] == [("user", "tell me a story"), ("assistant", killed.text)]


@pytest.mark.parametrize(
    "text",
    [
        "/kill",
        "!kill",
        "/stop",
        "/KILL",
        "  /kill  ",
        "/kill@switchboard_bot",
        "/stop it please",
        "!Stop now",
    ],
)
async def test_kill_is_understood_in_all_its_forms(tmp_path: Path, text: str) -> None:
    gate = Gate()
    async with rig(tmp_path, gate.play("a")) as bot:
        await bot.say("go")
        await gate.reached()
        await bot.say(text)
        killed, confirmed = await bot.ended(2)

        assert (killed.reason, confirmed.text) == ("killed", CANCELLED)


@pytest.mark.parametrize("text", ["/killer", "kill", "/ kill", "please /kill", "/stopwatch", "//kill"])
async def test_what_only_resembles_kill_is_a_message(tmp_path: Path, text: str) -> None:
    async with rig(tmp_path) as bot:
        await bot.say(text)
        (end,) = await bot.ended(1)

        assert end.text == f"echo: {text} "


async def test_kill_with_nothing_running_says_so(tmp_path: Path) -> None:
    async with rig(tmp_path) as bot:
        await bot.say("/kill")
        (end,) = await bot.ended(1)

        assert end.text == NOTHING_RUNS


async def test_kill_with_one_waiting_cancels_the_running_one_and_not_the_waiting_one(tmp_path: Path) -> None:
    gate = Gate()
    async with rig(tmp_path, gate.play("first ")) as bot:
        await bot.say("A")
        await gate.reached()
        await bot.say("B")
        bot.backend.play = _plain
        await bot.say("/kill")
        await bot.ended(3)

        by_run = {end.run: end for end in bot.ends}
        reasons = [by_run[turn.run].reason for turn in bot.backend.turns]
        assert [turn.messages[-1].content for turn in bot.backend.turns] == ["A", "B"]
        assert reasons == ["killed", "done"]


async def _plain(turn: TurnInput) -> AsyncIterator[AgentEvent]:
    yield MessageEvent(content="ok")
    yield DoneEvent()


async def test_a_second_kill_finds_the_second_turn(tmp_path: Path) -> None:
    """The end of a killed turn must not make the one that follows it invisible."""
    async with rig(tmp_path, Gate().play("x")) as bot:
        await bot.say("A")
        await bot.say("B")
        await bot.until(lambda: len(bot.chunks) == 1)
        await bot.say("/kill")
        await bot.until(lambda: len(bot.chunks) == 2)
        await bot.say("/kill")
        ends = await bot.ended(4)

        assert [end.text for end in ends if end.reason == "done"] == [CANCELLED, CANCELLED]


async def test_kill_all_drops_the_waiting_messages_too_and_keeps_them_in_the_history(tmp_path: Path) -> None:
    gate = Gate()
    async with rig(tmp_path, gate.play("a")) as bot:
        await bot.say("A")
        await gate.reached()
        await bot.say("B")
        await bot.say("C")
        await bot.say("/kill all")
        ends = await bot.ended(4)
        waiting = await bot.store.journal.unfinished()

        assert ends[-1].text == f"{CANCELLED} 2 waiting messages dropped."
        assert sorted(end.reason for end in ends) == ["done", "killed", "killed", "killed"]
        assert [text for role, text in await bot.texts() if role == "user"] == [
            "B",
            "C",
            "A",
            "/kill all",
        ] or {text for role, text in await bot.texts() if role == "user"} == {"A", "B", "C", "/kill all"}
        assert waiting == []
        assert len(bot.backend.turns) == 1


async def test_kill_stops_a_message_that_waits_for_a_slot(tmp_path: Path) -> None:
    gate = Gate()
    async with rig(tmp_path, gate.play("a"), max_concurrent_turns=1) as bot:
        await bot.say("takes the slot", "one")
        await gate.reached()
        await bot.say("waits", "two")
        await bot.say("/kill", "two")
        await bot.until(lambda: any(end.text == CANCELLED for end in bot.ends))
        gate.open()
        await bot.ended(3)

        assert [turn.messages[-1].content for turn in bot.backend.turns] == ["takes the slot"]


async def test_kill_touches_no_other_session(tmp_path: Path) -> None:
    gate = Gate()
    async with rig(tmp_path, gate.play("a")) as bot:
        await bot.say("mine", "one")
        await bot.say("theirs", "two")
        await bot.until(lambda: len(bot.chunks) == 2)
        await bot.say("/kill", "one")
        await bot.ended(2)
        gate.open()
        ends = await bot.ended(3)

        assert {end.session: end.reason for end in ends if end.text not in (CANCELLED,)} == {
            "web:default:one": "killed",
            "web:default:two": "done",
        }


async def test_an_admin_stops_another_session_by_its_name(tmp_path: Path) -> None:
    gate = Gate()
    async with rig(tmp_path, gate.play("a")) as bot:
        await bot.say("long", "far")
        await gate.reached()
        await bot.say("/kill web:default:far", "near")
        killed, confirmed = await bot.ended(2)

        assert (killed.session, killed.reason) == ("web:default:far", "killed")
        assert (confirmed.session, confirmed.text) == ("web:default:near", CANCELLED)


async def test_a_member_may_not_stop_another_session(tmp_path: Path) -> None:
    gate = Gate()
    member = Sender(id="eve", role=Role.MEMBER)
    async with rig(tmp_path, gate.play("a")) as bot:
        await bot.say("long", "far")
        await gate.reached()
        await bot.say("/kill web:default:far", "near", sender=member)
        (refusal,) = await bot.ended(1)
        gate.open()
        await bot.ended(2)

        assert refusal.text == ADMINS_ONLY
        assert bot.ends[1].reason == "done"
        assert audit_lines(tmp_path)[0]["status"] == "denied"


async def test_every_kill_is_audited(tmp_path: Path) -> None:
    gate = Gate()
    async with rig(tmp_path, gate.play("a")) as bot:
        await bot.say("go")
        await gate.reached()
        await bot.say("/kill")
        await bot.say("/kill")
        await bot.ended(3)

    lines = audit_lines(tmp_path)
    assert [line["status"] for line in lines] == ["cancelled", "no_active_run"]
    assert {(line["severity"], line["action"], line["actor"]) for line in lines} == {
        ("warning", "kill_session", "web:ann")
    }


async def test_a_redelivered_kill_does_not_stop_a_later_turn(tmp_path: Path) -> None:
    gate = Gate()
    kill = inbound("/kill")
    async with rig(tmp_path, gate.play("a")) as bot:
        await bot.bus.publish(kill)
        await bot.say("later")
        await gate.reached()
        receipt = await bot.bus.publish(kill)
        gate.open()
        ends = await bot.ended(2)

        assert receipt is Receipt.DUPLICATE
        assert ends[1].reason == "done"


async def test_no_chunk_of_a_killed_turn_comes_after_its_end(tmp_path: Path) -> None:
    async def chatter(turn: TurnInput) -> AsyncIterator[AgentEvent]:
        while True:
            try:
                await asyncio.sleep(0.005)  # the model's pace
            except asyncio.CancelledError:
                yield MessageEvent(content="not dead yet")
                raise
            yield MessageEvent(content="more ")

    async with rig(tmp_path, chatter) as bot:
        for chat in range(20):
            await bot.say("talk", f"c{chat}")
        await bot.until(lambda: len({chunk.session for chunk in bot.chunks}) == 20)
        for chat in range(20):
            await bot.say("/kill", f"c{chat}")
        await bot.ended(40)

        assert_streams_are_closed(bot)


def assert_streams_are_closed(bot: Rig) -> None:
    """Each run has one end, and nothing behind it."""
    over: set[str] = set()
    for message in bot.sent:
        assert message.run not in over
        if isinstance(message, End):
            over.add(message.run)
        else:
            assert isinstance(message, Chunk)


async def test_kill_works_when_the_store_does_not(tmp_path: Path) -> None:
    """The brake is not a passenger of the store."""
    gate = Gate()
    async with rig(tmp_path, gate.play("a")) as bot:
        await bot.say("go")
        await gate.reached()
        await bot.store.__aexit__(None, None, None)
        await bot.say("/kill")
        await bot.until(lambda: any(end.text == CANCELLED for end in bot.ends))

        assert bot.backend.running == 0
