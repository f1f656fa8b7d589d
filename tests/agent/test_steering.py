"""What is said while a turn runs: taken up between two steps, answered once, and by whom it may be said."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.agent.queueing import QueueRules
from bot.agent.steering import ADDED
from bot.backends.base import AgentEvent, DoneEvent, MessageEvent, TurnInput
from bot.messages import Address, Attachment, Role, Sender
from tests.agent.rig import Gate, Rig, rig

STEER = QueueRules(mode="steer")


class TwoSteps:
    """An agent that waits at a gate between two steps, and says what it was told there."""

    def __init__(self) -> None:
        self.gate = Gate()
        self.is_waiting: list[bool] = []

    async def play(self, turn: TurnInput) -> AsyncIterator[AgentEvent]:
        if turn.messages[-1].content.startswith("quick"):
            yield MessageEvent(content=f"answer to {turn.messages[-1].content}")
            yield DoneEvent()
            return
        yield MessageEvent(content="working")
        await self.gate.wait()
        self.is_waiting.append(turn.steering.is_waiting)
        for message in await turn.steering.take():
            yield MessageEvent(content=f" | {message.content}")
        yield DoneEvent()


async def steer(bot: Rig, agent: TwoSteps, *texts: str, **changes: object) -> None:
    """Begin a turn, and say something while it runs."""
    await bot.say("begin")
    await agent.gate.reached()
    for text in texts:
        await bot.say(text, "main", **changes)
    agent.gate.open()


async def test_a_remark_joins_the_running_turn_and_gets_no_answer_of_its_own(tmp_path: Path) -> None:
    agent = TwoSteps()
    async with rig(tmp_path, agent.play, rules=STEER) as bot:
        await steer(bot, agent, "also in blue", "and big")
        ends = await bot.ended(3)
        lines = await bot.texts()

    assert [(end.reason, end.text) for end in ends] == [
        ("done", f"working | {ADDED}\nalso in blue | {ADDED}\nand big"),
        ("silent", ""),
        ("silent", ""),
    ]
    assert [text for role, text in lines if role == "user"] == ["begin", "also in blue", "and big"]
    assert lines[-1][0] == "assistant"
    assert agent.is_waiting == [True]


async def test_what_was_taken_up_does_not_run_again_after_a_restart(tmp_path: Path) -> None:
    agent = TwoSteps()
    async with rig(tmp_path, agent.play, rules=STEER) as bot:
        await steer(bot, agent, "also")
        await bot.ended(2)
    async with rig(tmp_path, agent.play, rules=STEER) as bot:
        await bot.say("quick one")
        await bot.ended(1)

        assert [turn.messages[-1].content for turn in bot.backend.turns] == ["quick one"]


async def test_what_was_taken_up_by_an_attempt_that_was_given_back_is_not_lost(tmp_path: Path) -> None:
    agent = TwoSteps()

    async def take_and_hang(turn: TurnInput) -> AsyncIterator[AgentEvent]:
        yield MessageEvent(content="working")
        await agent.gate.wait()
        await turn.steering.take()
        yield MessageEvent(content=" on")
        await Gate().wait()

    async with rig(tmp_path, take_and_hang, rules=STEER, shutdown_grace=0.0) as bot:
        await steer(bot, agent, "quick remark")
        await bot.until(lambda: any(chunk.text == " on" for chunk in bot.chunks))
    async with rig(tmp_path, TwoSteps().play, rules=STEER) as bot:
        bot.backend.play = quick
        await bot.ended(2)
        lines = await bot.texts()

    assert [text for role, text in lines if role == "user"] == ["begin", "quick remark"]


async def quick(turn: TurnInput) -> AsyncIterator[AgentEvent]:
    yield MessageEvent(content="ok")
    yield DoneEvent()


async def test_a_remark_after_the_last_step_gets_a_turn_of_its_own(tmp_path: Path) -> None:
    gate = Gate()
    async with rig(tmp_path, gate.play("first"), rules=STEER) as bot:
        await bot.say("begin")
        await gate.reached()
        await bot.say("too late")
        gate.open()
        ends = await bot.ended(2)

    assert [end.reason for end in ends] == ["done", "done"]


@pytest.mark.parametrize(
    ("turn_role", "role", "joins"),
    [
        (Role.MEMBER, Role.MEMBER, True),
        (Role.MEMBER, Role.GUEST, False),
        (Role.OWNER, Role.MEMBER, False),
        (Role.MEMBER, Role.OWNER, True),
    ],
)
async def test_only_who_may_do_what_the_turn_may_can_steer_it(
    tmp_path: Path, turn_role: Role, role: Role, joins: bool
) -> None:
    agent = TwoSteps()
    async with rig(tmp_path, agent.play, rules=STEER) as bot:
        await bot.say("begin", sender=Sender(id="ann", name="Ann", role=turn_role))
        await agent.gate.reached()
        await bot.say("quick remark", sender=Sender(id="bob", name="Bob", role=role))
        agent.gate.open()
        ends = await bot.ended(2)

    assert ("Bob: quick remark" in ends[0].text) is joins
    assert ends[1].reason == ("silent" if joins else "done")


async def test_commands_and_other_threads_do_not_steer(tmp_path: Path) -> None:
    agent = TwoSteps()
    async with rig(tmp_path, agent.play, rules=STEER) as bot:
        elsewhere = Address(channel="web", chat="main", thread="other")
        await steer(bot, agent, "quick", address=elsewhere)
        ends = await bot.ended(2)

    assert ends[0].text == "working"


async def test_files_come_along(tmp_path: Path) -> None:
    agent = TwoSteps()
    async with rig(tmp_path, agent.play, rules=STEER) as bot:
        await steer(bot, agent, "look", attachments=(Attachment(kind="image", name="cat.png"),))
        ends = await bot.ended(2)

    assert "look\n[Attached image: cat.png" in ends[0].text


async def test_steer_backlog_answers_a_remark_again_afterwards(tmp_path: Path) -> None:
    agent = TwoSteps()
    async with rig(tmp_path, agent.play, rules=QueueRules(mode="steer-backlog")) as bot:
        await steer(bot, agent, "quick remark")
        ends = await bot.ended(2)

    assert ends[0].text == f"working | {ADDED}\nquick remark"
    assert ends[1].text == "answer to quick remark"
