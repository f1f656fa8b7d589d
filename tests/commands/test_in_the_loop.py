"""Commands and access as a whole bot obeys them: beside the turns, for people and not for the model."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.agent.seams import CommandAnswer, Refusal, Seams
from bot.messages import InboundMessage, Role, Sender, SessionKey
from security.access import REFUSAL
from tests.agent.rig import Gate, PlayedBackend, Rig
from tests.commands.desk import Desk

MAIN = SessionKey("web:default:main")
GUEST = Sender(id="guest", name="Guest", role=Role.GUEST)


class Late:
    """Commands and access of a desk that is there only once the loop has opened its store."""

    desk: Desk

    def matches(self, text: str) -> bool:
        return self.desk.commands.matches(text)

    async def run(self, message: InboundMessage) -> CommandAnswer:
        return await self.desk.commands.run(message)

    async def check(self, message: InboundMessage) -> Refusal | None:
        return await self.desk.access(message)


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
async def bot(home: Path, gate: Gate) -> AsyncIterator[Rig]:
    """A loop with commands, whose answers wait at the gate."""
    late = Late()
    backend = PlayedBackend(gate.play())
    async with Rig(home, backend, seams=Seams(access=late.check, commands=late)) as running:
        late.desk = Desk(home, running.store)
        yield running


async def test_a_command_does_not_wait_for_the_answer_that_is_being_written(bot: Rig, gate: Gate) -> None:
    await bot.say("a long question")
    await gate.reached()
    await bot.say("/ping")
    ends = list(await bot.ended(1))
    gate.open()
    await bot.ended(2)

    assert [end.text for end in ends] == ["Pong."]


async def test_the_model_never_sees_commands_and_their_answers(bot: Rig, gate: Gate) -> None:
    gate.open()
    for number, text in enumerate(("/ping", "hello"), 1):
        await bot.say(text)
        await bot.ended(number)

    prompt = "\n".join(part.content for part in bot.backend.turns[0].messages)
    assert "ping" not in prompt.lower()
    assert "Pong." not in prompt
    assert [text for _, text in await bot.texts()] == ["/ping", "Pong.", "hello", "done"]


async def test_after_new_the_next_message_goes_to_the_new_session(bot: Rig, gate: Gate) -> None:
    gate.open()
    for number, text in enumerate(("old", "/new", "fresh"), 1):
        await bot.say(text)
        await bot.ended(number)
    sessions = [turn.session for turn in bot.backend.turns]

    assert sessions[0] == MAIN
    assert sessions[1].startswith(f"{MAIN}:")
    assert "old" not in "\n".join(part.content for part in bot.backend.turns[1].messages)


async def test_the_buttons_of_a_command_reach_the_channel(bot: Rig) -> None:
    await bot.say("/clear")
    (end,) = await bot.ended(1)

    assert [button.value for button in end.buttons] == ["/clear yes"]


async def test_who_is_blocked_is_refused_and_commands_of_theirs_are_passed_over(bot: Rig, gate: Gate) -> None:
    gate.open()
    await bot.say("/admin blockuser guest")
    await bot.ended(1)
    await bot.say("hello", sender=GUEST)
    await bot.say("/help", sender=GUEST)
    ends = await bot.ended(3)

    assert {(end.reason, end.text) for end in ends[1:]} == {("error", REFUSAL), ("silent", "")}
    assert bot.backend.turns == []
