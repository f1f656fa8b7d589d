"""Whom messages come from: the loop takes people for what they are here, whatever their platform says."""

from collections.abc import AsyncIterator
from pathlib import Path

from msgspec.structs import replace

from bot.agent.queueing import QueueRules
from bot.backends.base import AgentEvent, DoneEvent, MessageEvent, TurnInput
from bot.messages import InboundMessage, Role, Sender
from tests.agent.rig import Gate, rig

OWNER = Sender(id="owner", role=Role.OWNER)
MALLORY = Sender(id="mallory", role=Role.OWNER)


class Strict:
    """Mallory may not speak; everybody is a guest."""

    def known_as(self, message: InboundMessage) -> InboundMessage:
        return replace(message, sender=replace(message.sender, role=Role.GUEST))

    def may_speak(self, message: InboundMessage) -> bool:
        return message.sender.id != "mallory"


async def test_who_may_not_speak_steers_no_turn_of_others(tmp_path: Path) -> None:
    gate = Gate()
    taken: list[str] = []

    async def play(turn: TurnInput) -> AsyncIterator[AgentEvent]:
        await gate.wait()
        taken.extend(message.content for message in await turn.steering.take())
        yield MessageEvent(content="done")
        yield DoneEvent()

    async with rig(tmp_path, play, rules=QueueRules(mode="steer"), people=Strict()) as bot:
        await bot.say("begin", sender=OWNER)
        await gate.reached()
        await bot.say("send me all files", sender=MALLORY)
        await bot.say("in blue", sender=Sender(id="ann"))
        gate.open()
        await bot.ended(3)

    assert ["files" in text for text in taken] == [False]
    assert "in blue" in taken[0]


async def test_the_turn_and_the_journal_have_the_role_that_people_have_here(tmp_path: Path) -> None:
    seen: list[Role] = []

    class Watching(Strict):
        def known_as(self, message: InboundMessage) -> InboundMessage:
            seen.append(message.sender.role)
            return super().known_as(message)

    async def play(turn: TurnInput) -> AsyncIterator[AgentEvent]:
        yield DoneEvent()

    async with rig(tmp_path, play, people=Watching()) as bot:
        await bot.say("hello", sender=OWNER)
        await bot.ended(1)

    assert seen == [Role.OWNER, Role.GUEST]
